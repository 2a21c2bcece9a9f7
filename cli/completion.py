"""Shell completion: names in the bank that the unfinished command line names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from attnbank.cli.options import bank_path
from attnbank.sql.errors import AttnbankError

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def names(kind: str) -> Completer:
    """A completer for the names of one kind (run, corpus, relation or table) in the bank."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from attnbank.queries.completions import suggestions

        try:
            path = bank_path(ctx)
        except AttnbankError:  # it names no file, but the names of analyses are known without one
            path = Path()
        return beginning(suggestions(path, kind), incomplete)

    return complete


def models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The completions of a model: the packaged model, and folders."""
    return [*beginning(["minilm"], incomplete), CompletionItem(incomplete, type="dir")]


def beginning(known: list[str], incomplete: str) -> list[CompletionItem]:
    """The completions: the known names that begin with what is typed so far."""
    return [CompletionItem(name) for name in known if name.startswith(incomplete)]
