#!/usr/bin/env python3
"""Entry point: ``python facefusion.py COMMAND [options]``."""

from facefusion.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
