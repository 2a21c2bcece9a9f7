"""Read what is shown of one sentence from a bank: rows, panels, gold arcs, trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import polars as pl

from attnbank.queries.backend import Backend
from attnbank.queries.options import ShowOptions
from attnbank.queries.pictures.sentence import ELSEWHERE, Panel
from attnbank.queries.pictures.tree import Tree
from attnbank.queries.sentences.choosing import ChosenSentence
from attnbank.sql import run_choice
from attnbank.sql.errors import BankError, CallError, QueryError
from attnbank.sql.messages import to_type
from attnbank.sql.names import TO_EARLIER, without_subtype
from attnbank.sql.run_choice import Run

# Positions shown of one sentence.
_MAX_POSITIONS = 150

_KINDS = ("word", "token")


@dataclass(frozen=True)
class ReadSentence:
    """What is shown of a sentence.

    `rows` has a row per word and head, `panels` a panel per head. `decoded` are decoded trees, by
    the end of their titles. `omissions` and `notes` are sentences for the user.
    """

    rows: pl.DataFrame
    panels: tuple[Panel, ...]
    tree: Tree | None
    decoded: dict[str, Tree]
    omissions: tuple[str, ...]
    notes: tuple[str, ...]


def required_annotation(backend: Backend, options: ShowOptions) -> str | None:
    """The annotation that the options require of a corpus: "mentions", "trees" or None."""
    if options.coreference:
        return "mentions"
    is_gold = options.relation is not None and not _is_saved_relation(backend, options.relation)
    return "trees" if options.tree or options.decoded or is_gold else None


def check_gold_relation(backend: Backend, relation: str | None, run: Run) -> None:
    """Raise CallError for a relation (nmod, nmod:poss, all) neither in the corpus nor saved."""
    if relation is None or _is_saved_relation(backend, relation):
        return
    rows = backend.internal("corpus_relations", corpus=run.corpus)
    known = [str(name) for name, *_ in rows.iter_rows()]
    if relation not in {"all", *known, *map(without_subtype, known)}:
        raise run_choice.unknown_relation(relation, run, known)


def names_of_run(backend: Backend, run: Run) -> dict[str, str]:
    """The keys run, model, corpus and measure of a run, as a title shows them."""
    facts = backend.internal("sentences/run_facts", run=run.id).row(0, named=True)
    model = facts["model"]
    if model.count("/") > 1 or "\\" in model:  # a folder: its path is private
        model = PurePath(model.replace("\\", "/")).name
    if facts["random_seed"] is not None:
        model += f" (random weights, seed {facts['random_seed']})"
    names = {"run": facts["name"], "corpus": facts["corpus"], "measure": facts["measure"]}
    return names | {"model": model}


@dataclass(frozen=True)
class SentenceRecords:
    """What all heads share of a sentence: its input (`sequence`), and the words shown.

    `positions` has a row per position of the input, `by_word` a row per word at a position (the
    columns of statement sentences/positions). `shown_positions` and `shown_words` are the parts of
    these that are shown, `words` the frame of a Panel. `before` are the sentences shown before this
    one.
    """

    sequence: int
    by_word: pl.DataFrame
    positions: pl.DataFrame
    shown_words: pl.DataFrame
    shown_positions: pl.DataFrame
    words: pl.DataFrame
    before: tuple[int, ...]
    mentions: pl.DataFrame
    tree: Tree | None
    omissions: tuple[str, ...]
    notes: tuple[str, ...]


_NO_MENTIONS = pl.DataFrame(
    schema={"entity": pl.Int64, "first": pl.Int64, "last": pl.Int64, "head": pl.Int64}
)


def sentence_records(
    backend: Backend, run: Run, chosen: ChosenSentence, options: ShowOptions
) -> SentenceRecords:
    """Read what all heads share of a sentence. Raises CallError if `options.words` has no word."""
    inputs = backend.internal("sentences/inputs", run=run.id, sentence=chosen.id)
    sequence, size, in_input, all_words = inputs.row(0)
    by_word = backend.internal("sentences/positions", sequence=sequence)
    positions = by_word.unique(["position"], keep="first", maintain_order=True)
    in_sentence = (pl.col("sentence") == chosen.id).fill_null(False)
    in_order = positions["sentence"].drop_nulls().unique(maintain_order=True).to_list()
    at = in_order.index(chosen.id)
    before = in_order[max(0, at - options.before) : at]
    shown_positions, left_out = _select_positions(positions, in_sentence, before, options)
    if len(before) < options.before:
        left_out.append(f"The input has {len(before)} sentences before {chosen.name}, not"
                        f" {options.before}.")  # fmt: skip
    if in_input < all_words:
        left_out.append(f"The input has only {in_input} of the {all_words} words of {chosen.name}.")
    is_word = pl.col("kind").is_in(_KINDS)
    notes = []
    if positions.filter(is_word).height > shown_positions.filter(is_word).height:
        notes.append(
            f"The input has {size} positions; attention to words not shown is drawn as elsewhere."
        )
    if not options.special and positions["word"].has_nulls():
        notes.append("Special tokens, and attention to them, are left out.")
    # Several words at one position each have a row.
    shown_words = by_word.join(shown_positions.select("position"), on="position", how="semi")
    is_matched = in_sentence & pl.col("index").is_in(list(chosen.matched))
    matched = shown_words.filter(is_matched)["position"]
    words = shown_positions.select(
        "position",
        "text",
        pl.col("index").cast(pl.Int64),
        is_special=pl.col("kind").is_in(_KINDS).not_(),
        is_matched=pl.col("position").is_in(matched.to_list()),
    )
    return SentenceRecords(
        sequence, by_word, positions, shown_words, shown_positions, words, tuple(before),
        _mentions_of(backend, shown_words) if options.coreference else _NO_MENTIONS,
        _tree_of(shown_words), tuple(left_out), tuple(notes),
    )  # fmt: skip


def read_sentence(
    backend: Backend,
    run: Run,
    chosen: ChosenSentence,
    heads: Sequence[tuple[int, int]],
    options: ShowOptions,
) -> ReadSentence:
    """Read the attention of heads in a sentence. Raises CallError if `options.words` has none."""
    records = sentence_records(backend, run, chosen, options)
    sequence, by_word, positions = records.sequence, records.by_word, records.positions
    shown_words, notes = records.shown_words, [*records.notes]
    in_sentence = (pl.col("sentence") == chosen.id).fill_null(False)
    names = [f"{layer}-{head}" for layer, head in heads]
    maps = backend.internal("sentences/maps", sequence=sequence, heads=names)
    _check_maps(maps, len(names), positions)
    if maps["rest"].has_nulls() or (maps["rest"] > 0).any():
        notes.append(note_on_missing_weights(run))
    peaks = backend.internal("sentences/peaks", sequence=sequence, heads=names)
    is_saved = _is_saved_relation(backend, options.relation)
    pairs = _gold_pairs(backend, by_word, [*records.before, chosen.id], options, is_saved=is_saved)
    gold_words = shown_words
    if is_saved:
        gold_words = _with_saved_relation(by_word, shown_words, pairs, options)
    top_rows, panels = [], []
    is_causal = bool(backend.internal("sentences/run_facts", run=run.id)["is_causal"][0])
    if options.mean:
        maps, peaks = _mean_maps(maps, positions)
    for layer, head in [(None, None)] if options.mean else heads:
        is_head = pl.col("layer").eq_missing(layer) & pl.col("head").eq_missing(head)
        top = _top_rows(
            by_word, gold_words.filter(in_sentence), maps.filter(is_head), peaks.filter(is_head),
            options, is_causal=is_causal,
        )  # fmt: skip
        top_rows.append(top.with_columns(
            pl.lit(layer, pl.Int16).alias("layer"), pl.lit(head, pl.Int16).alias("head")
        ))  # fmt: skip
        panels.append(
            Panel(chosen.name, layer, head, records.words,
                  _weights_between_shown(maps.filter(is_head), positions, records.shown_positions),
                  _gold_arcs(pairs, by_word, shown_words, peaks.filter(is_head), options),
                  records.mentions, mean_of=tuple(heads) if options.mean else ())
        )  # fmt: skip
    rows = pl.concat(top_rows).select(
        pl.lit(chosen.name).alias("sent_id"), "layer", "head",
        *(name for name in top_rows[0].columns if name not in ("layer", "head")),
        pl.lit(run.name).alias("run"),
    )  # fmt: skip
    tree, decoded = records.tree, {}
    if tree is not None:
        decoded = _decoded_trees(backend, run, chosen, heads, options, shown_words, tree)
    if decoded:
        notes.append("Dashed arcs of a decoded tree join words that no gold dependency joins.")
    return ReadSentence(rows, tuple(panels), tree, decoded, records.omissions, tuple(notes))


def note_on_missing_weights(run: Run) -> str:
    """The note for a run that does not keep every weight."""
    if run.largest is None:
        return (
            "The run keeps only peaks: for each word, the weight to the word that it attends to"
            " most, and from the word that attends to it most. Other weights are unknown."
        )
    return (
        f"The run keeps the {run.largest} largest weights from each word; the sum of the others"
        " is drawn as elsewhere."
    )


def _check_maps(maps: pl.DataFrame, heads: int, positions: pl.DataFrame) -> None:
    size = positions.height
    weights = maps["weights"].explode()
    is_whole = (
        positions["position"].to_list() == list(range(size))
        and maps.height == heads * size
        and (maps["weights"].list.len() == size).all()
        and weights.fill_null(0.0).is_finite().sum() == maps.height * size
        and maps.filter(pl.col("rest") == 0)["weights"].explode().null_count() == 0
        and maps.select("layer", "head", "from_position").is_unique().all()
    )
    if not is_whole:
        raise BankError(
            "The bank is damaged: the attention maps of an input are incomplete.",
            "Use an intact copy of it, or ingest again into a new file (-b FILE).",
        )


def _mean_maps(maps: pl.DataFrame, positions: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Average attention maps; returns the columns of the statements maps and peaks.

    As in table `peak`, the leftmost of equal weights is the peak, and weights of 0 have none.
    Raises QueryError if the run does not keep every weight.
    """
    import numpy as np  # late, since few commands need it

    size = positions.height
    if maps["rest"].has_nulls() or (maps["rest"] > 0).any():
        raise QueryError(
            "A mean of heads needs every weight, and the run does not keep them all.",
            "Leave --mean out, or name a run that keeps its weights (--run).",
        )
    weights = np.array(maps["weights"].to_list()).reshape(-1, size, size).mean(axis=0)
    word_positions = positions.filter(pl.col("kind").is_in(_KINDS))["position"].to_numpy()
    between_words = weights[np.ix_(word_positions, word_positions)]
    np.fill_diagonal(between_words, 0.0)  # attention to itself is no peak
    columns: dict[str, Any] = {"position": word_positions}
    for name, axis in (("most_attended", 1), ("most_attending", 0)):
        peak_weights = between_words.max(axis=axis, initial=0.0)
        peak_positions = word_positions
        if len(word_positions):  # argmax fails on an axis of length 0
            peak_positions = word_positions[between_words.argmax(axis=axis)]
        columns[name] = [
            int(position) if weight > 0 else None
            for position, weight in zip(peak_positions, peak_weights, strict=True)
        ]
        columns[f"{name}_weight"] = peak_weights
    types = {"position": pl.Int16, "most_attended": pl.Int16, "most_attending": pl.Int16}
    no_head = (pl.lit(None, pl.Int16).alias("layer"), pl.lit(None, pl.Int16).alias("head"))
    mean = maps.head(size).with_columns(
        *no_head, pl.Series("weights", weights.tolist(), pl.List(pl.Float64))
    )
    return mean, pl.DataFrame(columns, schema_overrides=types).with_columns(*no_head)


def _select_positions(
    positions: pl.DataFrame, in_sentence: pl.Expr, before: list[int], options: ShowOptions
) -> tuple[pl.DataFrame, list[str]]:
    notes = []
    requested = (
        in_sentence
        if options.words is None
        else in_sentence & pl.col("index").is_between(*options.words)
    )
    if not positions.filter(requested).height:
        indexes = positions.filter(in_sentence)["index"].drop_nulls()
        raise CallError(
            "The sentence does not have these words.",
            f"It has the words {min(indexes)} to {max(indexes)} (--words).",
        )
    words = positions.filter(requested | pl.col("sentence").is_in(before).fill_null(False))
    if words.height > _MAX_POSITIONS:
        words = words.tail(_MAX_POSITIONS) if before else words.head(_MAX_POSITIONS)
        part = "The last" if before else "The first"
        notes.append(
            f"{part} {_MAX_POSITIONS} positions are shown, up to word {words['index'][-1]};"
            " for others: --words FROM-TO."
        )
    special = positions.filter(pl.col("word").is_null()) if options.special else positions.clear()
    return pl.concat([words, special]).sort("position"), notes


def _weights_between_shown(
    maps: pl.DataFrame, positions: pl.DataFrame, shown_positions: pl.DataFrame
) -> pl.DataFrame:
    """The weights between shown positions, and the sums to the words that are not shown.

    A weight that is not kept is null, and counts to these sums, unless the run keeps only peaks.
    """
    shown = shown_positions["position"].to_list()
    words = positions.filter(pl.col("kind").is_in(_KINDS))["position"]
    hidden = sorted(set(words) - set(shown))
    map_rows = {
        position: row for position, *row in maps.select("from_position", "weights", "rest").rows()
    }
    rows = []
    for position in shown:
        weights, remainder = map_rows[position]
        rows += [(position, to, weights[to]) for to in shown]
        if remainder is not None and (hidden or remainder):
            rows.append((position, ELSEWHERE, remainder + sum(weights[to] or 0 for to in hidden)))
    schema = {"from_position": pl.Int64, "to_position": pl.Int64, "weight": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _top_rows(
    by_word: pl.DataFrame, shown_words: pl.DataFrame, maps: pl.DataFrame, peaks: pl.DataFrame,
    options: ShowOptions, *, is_causal: bool,
) -> pl.DataFrame:  # fmt: skip
    """A row per word: the word it attends to most (or the reverse), and whether that is its head.

    Pairs that no head can find are neither right nor wrong: two words at one position, a head that
    a causal model cannot attend to, and pairs with a separate first word.
    """
    backward = options.direction == "head_to_dependent"
    column = "looked_at_by" if backward else "looks_at"
    peak_column = "most_attending" if backward else "most_attended"
    targets = by_word.select(
        pl.col("position").alias(f"{column}_position"), pl.col("text").alias(column)
    ).unique([f"{column}_position"], keep="first", maintain_order=True)
    words_at_positions = set(by_word.select("position", "word").rows())
    position_of = {word: position for position, word in words_at_positions}
    separate_first = set(by_word.filter(pl.col("kind") == "first")["position"])
    special = by_word.filter(pl.col("kind").is_in(_KINDS).not_())["position"].to_list()
    special_weights = pl.DataFrame(
        [(position, _sum_or_none([weights[to] for to in special])) for position, weights in
         maps.select("from_position", "weights").rows()],
        schema={"position": pl.Int16, "special": pl.Float64}, orient="row",
    )  # fmt: skip
    top_rows = (
        shown_words.filter(pl.col("word").is_not_null())
        .join(peaks, on="position", how="left")
        .rename({peak_column: f"{column}_position", f"{peak_column}_weight": "weight"})
        .join(targets, on=f"{column}_position", how="left")
        .join(special_weights, on="position", how="left")
        .sort("position", "index")
    )

    def is_hidden(position: int, head: int) -> bool:
        head_position = position_of.get(head, position)
        unseen = is_causal and (head_position < position if backward else head_position > position)
        return (
            (position, head) in words_at_positions
            or unseen
            or not separate_first.isdisjoint((position, head_position))
        )

    correct = [
        None if head is None or is_hidden(position, head) else (peak, head) in words_at_positions
        for position, peak, head in top_rows.select(
            "position", f"{column}_position", "head_word"
        ).rows()
    ]
    return top_rows.select(
        "position", "index", pl.col("text").alias("dependent"), f"{column}_position", column,
        "weight", pl.col("head_form").alias("gold_head"), "relation",
        pl.Series("correct", correct, pl.Boolean), "special",
    )  # fmt: skip


def _sum_or_none(weights: Sequence[float | None]) -> float | None:
    """The sum of weights; None if one of them was not kept."""
    known = [weight for weight in weights if weight is not None]
    return sum(known) if len(known) == len(weights) else None


def _is_saved_relation(backend: Backend, relation: str | None) -> bool:
    rows = backend.connection.execute("select 1 from saved_relation where name = ?", [relation])
    return bool(rows.fetchall())


def _gold_pairs(
    backend: Backend,
    by_word: pl.DataFrame,
    sentences: list[int],
    options: ShowOptions,
    *,
    is_saved: bool,
) -> list[tuple[int, int]]:
    """The pairs (dependent, head), both word.id, of the requested relation."""
    if options.relation is None:
        return []
    if is_saved:
        saved = backend.internal(
            "sentences/saved_pairs", relation=options.relation, sentences=sentences
        )
        return [(word, head) for word, head in saved.rows()]
    dependents = by_word.filter(
        pl.col("sentence").is_in(sentences) & pl.col("head_word").is_not_null()
    ).unique(["word"], maintain_order=True)
    return [
        (word, head)
        for word, head, relation in dependents.select("word", "head_word", "relation").rows()
        if options.relation in ("all", relation, without_subtype(str(relation)))
    ]


def _with_saved_relation(
    by_word: pl.DataFrame,
    shown_words: pl.DataFrame,
    pairs: Sequence[tuple[int, int]],
    options: ShowOptions,
) -> pl.DataFrame:
    """Replace the tree in words by a saved relation; of several heads of a word, the first."""
    heads = dict(reversed(pairs))  # the first pair of a word is set last
    forms = dict(by_word.select("word", "form").rows())
    of_word = [heads.get(word) for word in shown_words["word"]]
    return shown_words.with_columns(
        pl.Series("head_word", of_word, pl.Int64),
        pl.Series("head_form", [forms.get(head) for head in of_word], pl.String),
        pl.Series("relation", [head and options.relation for head in of_word], pl.String),
    )


def _gold_arcs(
    pairs: Sequence[tuple[int, int]], by_word: pl.DataFrame, shown_words: pl.DataFrame,
    peaks: pl.DataFrame, options: ShowOptions,
) -> pl.DataFrame:  # fmt: skip
    """The gold arcs, in the direction of attention, between the first positions of words.

    An arc is found if, at one of the positions of the word that attends, the most attended position
    is one of the other word. In direction later_to_earlier, the later word attends.
    """
    words_at: dict[int, list[int]] = {}
    for position, word in by_word.select("position", "word").rows():
        words_at.setdefault(position, []).append(word)
    peak_of = {
        (is_backward, word, peak_word)
        for position, *targets in peaks.select("position", "most_attended", "most_attending").rows()
        for is_backward, peak in zip((False, True), targets, strict=True)
        for word in words_at[position]
        for peak_word in words_at.get(peak, [])
    }
    first: dict[int, int] = {}
    for position, word in shown_words.select("position", "word").drop_nulls().rows():
        first.setdefault(word, position)
    rows = []
    for word, head in pairs:
        if word in first and head in first and first[word] != first[head]:
            backward = options.direction == "head_to_dependent" or (
                options.direction == TO_EARLIER and first[head] > first[word]
            )
            ends = (first[head], first[word]) if backward else (first[word], first[head])
            rows.append((*ends, (backward, word, head) in peak_of))
    schema = {"from_position": pl.Int64, "to_position": pl.Int64, "is_found": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _mentions_of(backend: Backend, shown_words: pl.DataFrame) -> pl.DataFrame:
    """The mentions of entities with several mentions among the words shown, as position spans."""
    words = shown_words["word"]
    mentions = backend.internal("sentences/mentions", first=words.min(), last=words.max())
    spans: list[tuple[int, int, int, int]] = []
    positions_of: dict[int, list[int]] = {}
    for position, word in shown_words.select("position", "word").drop_nulls().rows():
        positions_of.setdefault(word, []).append(position)
    columns = ("entity", "first_word", "last_word", "head_word")
    for entity, first, last, head in mentions.select(columns).rows():
        span = [
            position for word in range(first, last + 1) for position in positions_of.get(word, [])
        ]
        if span and head in positions_of:
            spans.append((entity, min(span), max(span), positions_of[head][0]))
    counts = Counter(span[0] for span in spans)  # in the order of the text
    repeated = [entity for entity, count in counts.items() if count > 1]
    rows = [(repeated.index(span[0]), *span[1:]) for span in spans if span[0] in repeated]
    return pl.DataFrame(rows, schema=_NO_MENTIONS.schema, orient="row")


def _tree_words(shown_words: pl.DataFrame) -> pl.DataFrame:
    words = shown_words.filter(pl.col("word").is_not_null()).unique(["word"], maintain_order=True)
    return words.sort("position", "index")


def _tree_of(shown_words: pl.DataFrame) -> Tree | None:
    words = _tree_words(shown_words)
    if words["head_index"].null_count() == words.height:
        return None
    index_of = {word: at for at, word in enumerate(words["word"])}
    return Tree(
        words=tuple(words["form"]),
        tags=tuple(upos or "" for upos in words["upos"]),
        heads=tuple(index_of.get(head) for head in words["head_word"]),
        relations=tuple(words["relation"]),
        positions=tuple(words["position"]),
    )


def _decoded_trees(
    backend: Backend, run: Run, chosen: ChosenSentence, heads: Sequence[tuple[int, int]],
    options: ShowOptions, shown_words: pl.DataFrame, gold: Tree,
) -> dict[str, Tree]:  # fmt: skip
    """The decoded trees of `options.decoded`, over the words of the gold tree, by description.

    Raises QueryError if the run has none.
    """
    if options.decoded is None:
        return {}
    if not backend.connection.execute(
        "select 1 from main.attention_tree where run = ? and sentence = ? and source = ? limit 1",
        [run.id, chosen.id, options.decoded],
    ).fetchall():
        raise QueryError(
            f"The run {run.name} has no decoded trees of this kind.",
            to_type(backend.path, f"compute attention_tree --run {run.id}"),
        )
    sources = {"head": heads, "layer": [(layer, None) for layer, _ in heads]}
    trees = {}
    for layer, head in dict.fromkeys(sources.get(options.decoded, [(None, None)])):
        rows = backend.internal(
            "sentences/decoded_tree", run=str(run.id), sentence=chosen.id, source=options.decoded,
            layer=layer, head=head,
        )  # fmt: skip
        words = _tree_words(shown_words)
        arcs = words.join(
            rows, left_on="word", right_on="dependent", how="left", maintain_order="left"
        )
        index_at: dict[int, int] = {}
        for at, position in enumerate(words["position"]):
            index_at.setdefault(position, at)  # of several words at one position, the first
        is_gold = arcs["is_found"].fill_null(False).to_list()
        gold_arcs, all_arcs = sum(is_gold), int(arcs["is_found"].is_not_null().sum())
        name = {"head": f"head {layer}-{head}", "layer": f"layer {layer}", "all": "all heads"}
        description = (
            f"{name.get(options.decoded, 'the ensemble')}, {rows['direction'][0].replace('_', ' ')}"
        )
        tree_heads = tuple(index_at.get(position) for position in arcs["found_position"])
        edges = {(at, head) for at, head in enumerate(gold.heads) if head is not None}
        trees[f"by {description}: {gold_arcs} of {all_arcs} gold dependencies"] = Tree(
            words=gold.words,
            tags=gold.tags,
            heads=tree_heads,
            relations=tuple(_relation_of(at, head, gold) for at, head in enumerate(tree_heads)),
            wrong=frozenset(
                at
                for at, head in enumerate(tree_heads)
                if head is not None and not edges & {(at, head), (head, at)}
            ),
            positions=gold.positions,
        )
    return trees


def _relation_of(dependent: int, head: int | None, gold: Tree) -> str | None:
    """The gold relation between two words in either direction; None if there is none."""
    if head is None:
        return None
    if gold.heads[dependent] == head:
        return gold.relations[dependent]
    return gold.relations[head] if gold.heads[head] == dependent else None
