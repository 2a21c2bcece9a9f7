"""`python -m attnbank.cli` does the same as `attnbank`."""

from attnbank.cli import main

main()
