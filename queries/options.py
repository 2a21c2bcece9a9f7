"""The options of requests, `show` and head cards: keywords of methods, and of commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from attnbank.sql.errors import CallError
from attnbank.sql.names import DIRECTIONS, TO_HEAD
from attnbank.sql.option_fields import option

# The default memory limit of a statement, in bytes; its result may take as much again.
MEMORY = 2_000_000_000

# The attention that a tree is decoded from: each head shown, its layer, all heads, or an ensemble
# of the best heads of each relation.
SOURCES = ("head", "layer", "all", "ensemble")

# Words left and right of a hit; the default of `attnbank find`, too, where no terminal limits it.
CONTEXT = 10

# The most sentences of a request that are shown.
_MAX_HITS = 50

_RUN_OF_HITS = (
    "Run whose attention or surprisal is read, by name or id. Default: the bank's default run."
)


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """What `find`, `count` and `score` have in common. Raises CallError for invalid values."""

    request: str = field(kw_only=False)
    corpus: str | None = option(None, "Search only this corpus, by name.")
    within: str = option(
        "sentence",
        "Where to look for nodes that only attention or coreference connects: in the same"
        " sentence, or in the same document.",
        choices=("sentence", "document"),
    )
    timeout: float = option(30.0, "Time limit in seconds.", is_seconds=True)
    memory: int = MEMORY

    def __post_init__(self) -> None:
        if self.within not in ("sentence", "document"):
            raise CallError(f"within cannot be {self.within}.", "Use sentence or document.")

    @property
    def in_documents(self) -> bool:
        """Whether nodes may be in different sentences of a document."""
        return self.within == "document"


@dataclass(frozen=True, kw_only=True)
class FindOptions(SearchOptions):
    """The options of `Requests.find`, documented there."""

    columns: str = option(
        "",
        "Additional columns: V.lemma,O.upos,e.label,delta(V,O),document.genre.",
        metavar="KEYS",
    )
    sort: str = option("", "Sort by these keys.", metavar="KEYS")
    limit: int | None = option(None, "Show only the first N hits.", least=0, most=None, metavar="N")
    sample: int | None = option(None, "Show N random hits.", least=0, most=None, metavar="N")
    seed: int = option(0, "Seed of --sample.", metavar="S")
    context: int | bool | None = option(
        None,
        "Words left and right of a hit in a table. Default: as many as fit the terminal.",
        least=0,
        most=None,
        metavar="N",
    )
    run: str | int | None = option(None, _RUN_OF_HITS)

    @property
    def keys(self) -> str:
        """All keys that the hits are described and sorted by."""
        return f"{self.columns}, {self.sort}"


@dataclass(frozen=True, kw_only=True)
class CountOptions(SearchOptions):
    """The options of `Requests.count`, documented there."""

    by: str = field(
        default="",
        kw_only=False,
        metadata={
            "help": "Keys to count by: V.lemma,O.upos,e.label,delta(V,O),V.surprisal,"
            "document.genre,{ O =[3-1]=> V }.",
            "metavar": "KEYS",
        },
    )
    limit: int | None = option(
        None, "Show only the N most frequent rows.", least=0, most=None, metavar="N"
    )
    run: str | int | None = option(None, _RUN_OF_HITS)

    @property
    def keys(self) -> str:
        """The keys that the hits are counted by."""
        return self.by


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(SearchOptions):
    """The options of `Requests.score`, documented there. Raises CallError for invalid values."""

    dependent: str = field(
        metadata={
            "help": "The node that is the dependent (required).",
            "flag": "from",
            "metavar": "NODE",
        }
    )
    head: str = field(
        metadata={"help": "The node that is its head (required).", "flag": "to", "metavar": "NODE"}
    )
    within: str = option(
        "sentence",
        "Whether both words must be in one sentence, or only in one document (which needs a run"
        " over documents).",
        choices=("sentence", "document"),
    )
    timeout: float = option(30.0, "Time limit in seconds for finding the pairs.", is_seconds=True)
    by: str = option(
        "",
        "Also the accuracy of the best head in each group: V.lemma, delta(V, O), document.genre.",
        metavar="KEYS",
    )
    each: bool = option(
        False, "With --by: choose the best head of each group on the pairs of that group."
    )
    min_count: int = option(
        1, "With --by: skip groups with fewer pairs.", least=1, most=None, metavar="N"
    )
    apart: int = option(
        1, "Skip pairs closer than N words: 2 skips neighbours.", least=1, most=None, metavar="N"
    )
    every: bool = option(False, "Show every head, in both directions, the best first.")
    corpus: str | None = option(None, "Score only on this corpus, by name.")
    run: str | int | Sequence[str | int] | None = option(
        None,
        "Run whose heads are scored, by name or id; can be repeated (--run A --run B). Default: the"
        " bank's default run.",
        multiple=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.by and (self.each or self.min_count > 1):
            raise CallError("--each and --min-count need groups.", "Add --by KEYS (by=).")
        if self.by and self.every:
            raise CallError("--by and --every are mutually exclusive.", "Give one of them.")


@dataclass(frozen=True)
class ShowOptions:
    """The options of `Bank.show`, documented there. Raises CallError for invalid values."""

    sentence: str | int
    head: str | Sequence[str] = option(
        (),
        "The head, as in 3-1; several side by side: 3-1,5-2.",
        multiple=True,
        metavar="LAYER-HEAD",
    )
    _: KW_ONLY
    layer: int | None = option(None, "Show all heads of a layer.", type=int, metavar="N")
    mean: bool = option(False, "Show one panel with the mean of these heads.")
    run: str | int | None = option(
        None,
        "Run, by name or id. Default: the default run among those over the corpus.",
    )
    corpus: str | None = option(None, "Corpus of the sentence, by name.")
    relation: str | None = option(
        None, "Show the gold arcs of this relation (obj, all, or a saved one)."
    )
    direction: str = option(
        TO_HEAD,
        "Whether the dependent should attend to its head, the head to its dependent, or (causal"
        " models) the later of the two to the earlier.",
        choices=DIRECTIONS,
    )
    coreference: bool = option(False, "Show the mentions of each entity.")
    tree: bool = option(False, "Add the dependency tree to the picture.")
    decoded: str | None = option(
        None,
        "Add the dependency tree to the picture, and the trees that attnbank compute attention_tree"
        " decoded from each head shown, its layer, all heads, or an ensemble.",
        choices=SOURCES,
    )
    special: bool = option(
        True, "Show special tokens ([CLS], [SEP]), or leave them out.", flag="special/--no-special"
    )
    words: tuple[int, int] | None = option(None, "Show only these words: 1-20.", metavar="FROM-TO")
    before: int = option(
        0,
        "Also draw the N sentences before it in the same input (runs over documents).",
        least=0,
        most=None,
        metavar="N",
    )
    matched: Sequence[int] = ()
    hits: int = option(
        1,
        "Show the first N sentences that a request finds.",
        flag="limit",
        least=1,
        most=None,
        metavar="N",
    )
    least: float = option(0.01, "Smallest weight that is drawn.", metavar="WEIGHT")
    timeout: float = option(30.0, "Time limit of a request in seconds.", is_seconds=True)

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise CallError(
                f"Unknown direction {self.direction}.", f"Use one of: {', '.join(DIRECTIONS)}."
            )
        if self.decoded not in (None, *SOURCES):
            raise CallError(
                f"decoded cannot be {self.decoded}.", f"Use one of: {', '.join(SOURCES)}."
            )
        if not 1 <= self.hits <= _MAX_HITS:
            raise CallError(
                f"{self.hits} is not a valid number of sentences.", f"Give 1 to {_MAX_HITS}."
            )
        if not 0 <= self.least < 1:
            raise CallError(
                f"{self.least} is not a valid least weight.", "Give a number from 0 to below 1."
            )
        if self.words is not None and not 1 <= self.words[0] <= self.words[1]:
            raise CallError(
                f"{self.words[0]}-{self.words[1]} is not a range of words.",
                "Write FROM-TO, counting from 1: 1-20.",
            )

    @property
    def run_name(self) -> str | None:
        """The name or id of the requested run as text; None by default."""
        return None if self.run is None else str(self.run)


@dataclass(frozen=True)
class CardOptions:
    """What a head card shows, documented in `Bank.picture`."""

    head: str = option("", "The head (required), as in 3-1.", metavar="LAYER-HEAD")
    _: KW_ONLY
    relation: str | None = option(
        None, "The relation of the title and the examples. Default: the one that is found best."
    )
    run: str | int | None = option(
        None, "Run, by name or id. Default: the bank's default run of words with trees."
    )

    @property
    def run_name(self) -> str | None:
        """The name or id of the requested run as text; None by default."""
        return None if self.run is None else str(self.run)


def card_options(values: Mapping[str, Any]) -> CardOptions:
    """The options of a head card by name. Raises CallError for others, and without a head."""
    known = [own.name for own in fields(CardOptions)]
    if unknown := [name for name in values if name not in known]:
        raise CallError(
            f"head_card has no parameter {unknown[0]}.", f"It takes: {', '.join(known)}."
        )
    if not values.get("head"):
        raise CallError("No head is named.", "Give one: attnbank plot head_card --head 3-1")
    return CardOptions(**values)


_Fields = ParamSpec("_Fields")
_Options = TypeVar("_Options")
_Bank = TypeVar("_Bank")
_Answer = TypeVar("_Answer")


def keywords_of(
    options: Callable[_Fields, _Options],
) -> Callable[
    [Callable[[_Bank, _Options], _Answer]], Callable[Concatenate[_Bank, _Fields], _Answer]
]:
    """Decorate a method that takes a dataclass of options, to be called with its fields instead.

    The signature of the method then has their names, types and defaults.
    """

    def decorate(
        method: Callable[[_Bank, _Options], _Answer],
    ) -> Callable[Concatenate[_Bank, _Fields], _Answer]:
        @wraps(method)
        def call(bank: _Bank, /, *args: _Fields.args, **fields: _Fields.kwargs) -> _Answer:
            try:
                taken = options(*args, **fields)
            except TypeError as error:  # an unknown or missing name: of the method, for its caller
                message = str(error).partition("__init__() ")[2] or str(error)
                raise TypeError(f"{method.__qualname__}() {message}") from None
            return method(bank, taken)

        own, declared = inspect.signature(method), inspect.signature(options)
        first = next(iter(own.parameters.values()))
        call.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[first, *declared.parameters.values()]
        )
        return call

    return decorate
