"""The command line; nothing else in the package imports click."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from attnbank.sql.interrupts import ignore_interrupts


def main() -> NoReturn:
    """Run `attnbank` with the arguments of the process, and exit with its status.

    Treat SIGTERM like an interrupt. Ignore further signals while one is reported and while the
    interpreter shuts down: libraries that clean up would print a traceback.
    """
    try:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        from attnbank.cli.app import main as run

        run()
    except KeyboardInterrupt:
        ignore_interrupts()
        sys.stderr.write("Interrupted.\n")
        sys.exit(1)
    finally:
        ignore_interrupts()
        # Python remembers an interrupt of source that ran as a string, as dataclasses make it, and
        # at its end `python -m` would kill itself in place of exiting. Other source clears that.
        exec("")
