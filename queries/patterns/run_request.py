"""Compile the text of a request to the statement that a bank runs, with its run and keys."""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from attnbank.queries.patterns import syntax
from attnbank.queries.patterns.parser import parse_request, read_keys
from attnbank.queries.patterns.resolver import ResolvedRequest, Scope, resolve_request
from attnbank.queries.patterns.select import HitOptions, compile_counts, compile_hits
from attnbank.queries.patterns.syntax import RequestError, SourcePosition
from attnbank.sql.errors import AttnbankWarning, CallError, QueryError
from attnbank.sql.header import RunChoice
from attnbank.sql.messages import join_names
from attnbank.sql.run_choice import Run, choose_run

if TYPE_CHECKING:
    from attnbank.queries.backend import Backend

# The largest limit or sample size.
MOST_LIMIT = 2**31 - 1

_ALL_HITS = HitOptions()


class CompiledRequest(NamedTuple):
    """A request with its names resolved, and the SELECT of its hits, or of how many there are."""

    resolved: ResolvedRequest
    statement: str
    choice: HitOptions = _ALL_HITS
    is_count: bool = False


@lru_cache(maxsize=256)
def compile_request(
    request: str,
    *,
    columns: str = "",
    sort: str = "",
    choice: HitOptions = _ALL_HITS,
    counts: bool = False,
) -> CompiledRequest:
    """Compile a request.

    `columns` are further columns (`V.lemma, delta(V, O)`), `sort` the keys that hits are sorted by.
    With `counts`, the hits are counted by `columns`. By default, there is also a surprisal column
    for each node whose surprisal the request reads. Raises RequestError for an invalid request;
    CallError for a number of hits out of range, a sample with a sort order or a limit, and
    attention or surprisal without a run.
    """
    checked = resolve_with_options(request, columns, sort, choice)
    if counts:
        checked = with_keys_to_count_by(checked)
    else:
        surprisals = (
            syntax.Reference(syntax.Name(name, SourcePosition(1, 1)), syntax.SURPRISAL)
            for name in checked.nodes_with_surprisal(checked.pattern)
        )
        checked = replace(checked, keys=tuple(dict.fromkeys((*surprisals, *checked.keys))))
    statement = (compile_counts if counts else compile_hits)(checked, choice)
    return CompiledRequest(checked, statement, choice, counts)


def resolve_with_options(
    request: str, columns: str, sort: str, choice: HitOptions
) -> ResolvedRequest:
    """Resolve a request with its keys, and check it against the options and their run.

    Raises RequestError and CallError.
    """
    for number in (choice.limit, choice.sample):
        if number is not None and not 0 <= number <= MOST_LIMIT:
            raise CallError(
                f"{number} is not a valid number of hits.", f"Give 0 to {MOST_LIMIT:,}."
            )
    if choice.sample is not None and (sort.strip() or choice.limit is not None):
        raise CallError(
            "--sample cannot be combined with --sort or --limit.", "Leave them out, or --sample."
        )
    checked = parse_and_resolve(request, columns, sort)
    about = "attention" if checked.attention() else "surprisal"
    if choice.run is None and checked.reads_run():
        raise CallError(
            f"The request reads {about}, but no run is chosen.",
            "Give a bank with a run (attnbank -b BANK find ...).",
        )
    for use in checked.attention():
        assert choice.run is not None
        if not choice.run.has(use.head.layer, use.head.head):
            raise RequestError(
                use.position, f"the model of the run {choice.run.name} has no head {use.head}.",
                f"It has {choice.run.size}.",
            )  # fmt: skip
    return checked


def reads_attention(request: str) -> bool:
    """Whether a request reads attention. Raises RequestError."""
    return bool(parse_and_resolve(request).attention())


def reads_run(request: str, columns: str = "") -> bool:
    """Whether a request or its columns read attention or surprisal. Raises RequestError."""
    return parse_and_resolve(request, columns).reads_run()


def with_keys_to_count_by(checked: ResolvedRequest) -> ResolvedRequest:
    """The request with its keys made fit for counting (see `_keys_to_count_by`)."""
    return replace(checked, keys=_keys_to_count_by(checked.keys, checked.pattern))


def _keys_to_count_by(keys: tuple[syntax.Key, ...], pattern: Scope) -> tuple[syntax.Key, ...]:
    """Replace N.surprisal by N.surprisal[gap=1], intervals of one nat.

    Almost every word has a surprisal of its own, which would make groups of one.
    """
    grouped = (
        syntax.Interval(key, 1, None, None)
        if isinstance(key, syntax.Reference) and _is_surprisal(key) and pattern.has_node(key.owner)
        else key
        for key in keys
    )
    return tuple(dict.fromkeys(grouped))


def _is_surprisal(term: syntax.Term) -> bool:
    return isinstance(term, syntax.Reference) and term.feature == syntax.SURPRISAL


@lru_cache(maxsize=256)
def parse_and_resolve(request: str, columns: str = "", sort: str = "") -> ResolvedRequest:
    """Parse a request and its keys, and resolve every name. Raises RequestError and CallError."""
    return resolve_request(parse_request(request), _parse_keys(columns), _parse_keys(sort))


def choose_run_of_request(
    backend: Backend, requested: str | int | None = None, *,
    in_documents: bool, weights: bool = False, attention: bool = True, surprisal: bool = False,
) -> Run:  # fmt: skip
    """Choose the run that a request about attention or surprisal reads.

    For `attention` it is chosen as for an analysis of words, and of whole documents with
    `in_documents`; a request that reads `weights` prefers a run that keeps every weight to one that
    keeps the largest. For `surprisal` the run must have surprisals. Raises CallError and
    QueryError.
    """
    choice = RunChoice(needs="surprisals" if surprisal else None)
    if attention:
        context = "document" if in_documents else "sentence"
        choice = replace(choice, unit="word", contexts=("sentence", "document"), usual=context)

    def choose_by(weights: str | None) -> Run:
        criteria = replace(choice, weights=weights)
        return choose_run(backend.connection, backend.path, criteria, "a request", requested)

    if not weights:
        return choose_by(None)
    try:
        return choose_by("true")
    except (CallError, QueryError):
        return choose_by("largest")


def check_thresholds(backend: Backend, checked: ResolvedRequest, run: Run) -> None:
    """Raise RequestError for a threshold that weights which the run did not keep may pass.

    Warns with AttnbankWarning of columns of weights, which are null where they were not kept.
    """
    if run.largest is None or not checked.reads_weights():
        return
    limit = f"the run {run.name} keeps the {run.largest} largest weights from each word"
    for use in checked.attention():
        if isinstance(use, syntax.AttentionKey):
            if use.target is not None:
                message = f"{use} is empty where the weight is not kept: {limit}."
                warnings.warn(message, AttnbankWarning, stacklevel=6)
        elif use.sign is not None:
            rows = backend.internal(
                "patterns/largest_hidden", run=run.id, layer=use.head.layer, head=use.head.head
            ).rows()
            hidden = rows[0][1] if rows else None
            if hidden is None:
                continue
            assert use.threshold is not None
            # Every weight that was not kept must be on the same side of the threshold as 0.
            is_exact = hidden < use.threshold
            if not is_exact and not (hidden == use.threshold and use.sign in (">", "<=")):
                enough = f"{math.floor(hidden * 1000 + 1) / 1000:g}"
                raise RequestError(
                    use.position,
                    f"{limit}; other weights of {use.head} can be as large as {hidden:.4g}.",
                    f"Ask for {enough} or more, or make a run with every weight: attnbank"
                    f" -b {shlex.quote(str(backend.path))} ingest CORPUS --keep weights",
                )


def _parse_keys(text: str) -> tuple[syntax.Key, ...]:
    text = text.strip(" ,\n\t")
    return tuple(dict.fromkeys(read_keys(text))) if text else ()


def request_for_count_row(request: str, by: str, values: Sequence[Any]) -> str:
    """The request that matches the hits of one row of counts, with `values` of the keys `by`.

    Raises CallError for a weight or a missing number, which no request can ask for.
    """
    keys = _keys_to_count_by(_parse_keys(by), parse_and_resolve(request).pattern)
    return " ".join([request, *map(_block_of, keys, values)])


def interval_start(interval: str) -> float:
    """The lower end of an interval in a column of counts: 100 for [100, 200[."""
    begin = interval.strip("[]").split(", ")[0]
    return -math.inf if begin == "-∞" else float(begin)


def _block_of(key: syntax.Key, value: Any) -> str:
    if isinstance(key, syntax.Nested):
        clauses = key.text if key.text.startswith("{") else f"{{ {key} }}"
        return f"{'with' if value else 'without'} {clauses}"
    if isinstance(key, syntax.AttentionKey):
        return _block_of_attention(key, value)
    if isinstance(key, syntax.RelationKey):
        source, target = key.source, key.target
        if value == syntax.NO_RELATION:
            none = f"without {{ {source} -> {target} }}"
            return f"{none} without {{ {target} -> {source} }}" if key.is_mutual else none
        if value.startswith("-"):
            source, target = target, source
        tests = [f"{source} -[{_quoted(value.removeprefix('-'))}]-> {target}"]
    elif isinstance(key, syntax.Arrangement):
        tests = [f"{first} << {second}" for first, second in pairwise(value.split(" << "))]
    elif value is None and isinstance(key, syntax.Interval) and _is_surprisal(key.term):
        tests = [f"!{key.term}"]
    elif value is None and not isinstance(key, syntax.Reference):
        raise CallError(f"No request can ask for a missing {key}.", "Leave out --show.")
    elif isinstance(key, syntax.Interval):  # [0, 10[
        begin, end = value.strip("[]").split(", ")
        tests = [] if begin == "-∞" else [f"{key.term} >= {begin}"]
        tests += [] if end == "+∞" else [f"{key.term} < {end}"]
    elif value is None:
        tests = [f"!{key}"]
    else:
        written = _quoted(str(value)) if isinstance(value, str | float) else value
        tests = [f"{key} = {written}"]
    return f"with {{ {'; '.join(tests)} }}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _block_of_attention(key: syntax.AttentionKey, value: Any) -> str:
    if key.feature == "weight":
        fact = f"No request can ask for {key} of exactly {value}."
        raise CallError(fact, "Leave out --show, or that key.")
    edge = f"{key.source} =[{key.head}]=> looked_at"
    if value is None:
        return f"without {{ {edge}; looked_at.{key.feature} }}"
    if key.feature == "deprel":
        return f"with {{ {edge}; * -[{_quoted(value)}]-> looked_at }}"
    return f"with {{ {edge}; looked_at.{key.feature} = {_quoted(str(value))} }}"


def _first_pair(scope: Scope) -> tuple[syntax.Name, syntax.Name] | None:
    """The dependent and the head of the first edge, by default the ends of the first other tie."""
    edges = [(edge.target, edge.source) for edge in (*scope.edges, *scope.enhanced)]
    loose = (*scope.clauses_of_kind(syntax.AttentionEdge), *scope.clauses_of_kind(syntax.Corefers))
    pairs = [*edges, *((tie.source, tie.target) for tie in loose)]
    return next(((first, second) for first, second in pairs if first and second), None)


def check_dependent_and_head(request: str, dependent: str | None, head: str | None) -> None:
    """Raise CallError unless dependent and head are named; RequestError for an invalid request."""
    if dependent is not None and head is not None:
        return
    nodes = parse_and_resolve(request).pattern.nodes
    pair = pair_to_score(request)
    if pair is None:
        raise CallError(
            "A pair of words has two nodes, --from (the dependent) and --to (its head); the request"
            f" has {join_names(nodes) or 'none'}.",
            "Describe both words: 'pattern { V -[obj]-> O }' --from O --to V.",
        )
    first, second = pair
    first = dependent or next(node for node in (first, second) if node != head)
    second = head or next(node for node in (second, first, *nodes) if node != first)
    lacking = [name for name, node in (("--from", dependent), ("--to", head)) if node is None]
    raise CallError(
        f"{' and '.join(lacking)} {'are' if len(lacking) > 1 else 'is'} missing; the request has"
        f" the nodes {join_names(nodes)}.",
        f"Type: --from {first} --to {second} (the dependent, its head).",
    )


def pair_to_score(request: str) -> tuple[str, str] | None:
    """The dependent and the head that heads are scored on by default: the ends of the first edge,
    without one the first two nodes. None for fewer nodes; raises RequestError.
    """
    scope = parse_and_resolve(request).pattern
    if len(scope.nodes) < 2:
        return None
    pair = _first_pair(scope)
    # An end that is a special token is not a node.
    dependent, head = pair if pair and set(pair) <= set(scope.nodes) else scope.nodes[:2]
    return str(dependent), str(head)


def head_keys(request: str, heads: str, source: str | None, target: str | None) -> str:
    """The keys that say what heads, written "3-1,5-2", attend to from one node of a request.

    For each head these are the weight from `source` to `target`, the word that it attends to most
    from `source`, and the weight of that. Source and target default to the dependent and the head
    of the first edge of the tree, then to the ends of the first edge of attention, then to the
    only node. Raises RequestError, and CallError if there is no source.
    """
    scope = parse_and_resolve(request).pattern
    if source is None and target is None:
        source, target = _first_pair(scope) or (None, None)
        if source is None and len(scope.nodes) == 1:
            source = scope.nodes[0]
    if source is None:
        raise CallError(
            "The request does not say from which word the head attends.",
            f"Give --from and --to: two of {join_names(scope.nodes)}.",
        )
    keys = []
    for head in (part.strip() for part in heads.split(",")):
        if target is not None:
            keys.append(f"weight({head}, {source}, {target})")
        keys += [f"looks_at({head}, {source})", f"looks_at({head}, {source}).weight"]
    return ", ".join(keys)
