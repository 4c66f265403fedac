#!/usr/bin/env python3
"""Entry point: ``python facefusion.py COMMAND [options]``."""

import signal

if __name__ == "__main__":
    # Until the command line listens to it, Ctrl-C ends the process without a word, as it does any other program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    from facefusion.cli.main import main

    raise SystemExit(main())
