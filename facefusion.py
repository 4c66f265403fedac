#!/usr/bin/env python3
"""Entry point: ``python facefusion.py COMMAND [options]``."""

import os
import signal
from types import FrameType

STOPPED = 4
"""Exit code of what the user stopped, as :class:`facefusion.core.errors.Stopped` has it, which is not loaded yet."""


def _stop(_number: int, _frame: FrameType | None) -> None:
    os._exit(STOPPED)  # noqa: TID251 - nothing has begun that could be left half done


if __name__ == "__main__":
    # Until the command line listens to them, Ctrl-C and requests to end end the process without a word.
    for _name in ("SIGINT", "SIGTERM", "SIGHUP"):
        _signal = getattr(signal, _name, None)
        if _signal is not None and (_signal == signal.SIGINT or signal.getsignal(_signal) != signal.SIG_IGN):
            signal.signal(_signal, _stop)

    from facefusion.cli.main import main

    raise SystemExit(main())
