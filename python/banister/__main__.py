"""`python -m banister`: the command line."""

from __future__ import annotations

import signal
import sys

from ._native import command_line


def main() -> int:
    """Runs the command line with the arguments of this process."""
    # The native program does not return to Python until it is done: let Ctrl-C end it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command_line(["banister", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
