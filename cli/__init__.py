"""The command line. Nothing else in the package imports click."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run `attnbank` with the arguments of the process, and exit with its status."""
    try:
        from attnbank.cli.app import main as run
    except KeyboardInterrupt:
        sys.exit(1)
    run()
