"""What a shell completes: names in the bank that the command line names so far."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from attnbank.cli.options import bank_path
from attnbank.sql.errors import AttnbankError

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def names(kind: str) -> Completer:
    """The names of a kind (run, corpus, relation, table) in the bank."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from attnbank.queries.completions import suggestions

        try:
            path = bank_path(ctx)
        except AttnbankError:  # it names no file; the analyses are known all the same
            path = Path()
        return beginning(suggestions(path, kind), incomplete)

    return complete


def models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The model that comes as a package, and folders."""
    return [*beginning(["minilm"], incomplete), CompletionItem(incomplete, type="dir")]


def beginning(known: list[str], incomplete: str) -> list[CompletionItem]:
    """The names that begin with what is typed so far."""
    return [CompletionItem(name) for name in known if name.startswith(incomplete)]
