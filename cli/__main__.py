"""`python -m attnbank.cli` is `attnbank`."""

from attnbank.cli import main

main()
