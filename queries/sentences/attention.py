"""Read what is shown of one sentence from a bank: rows, panels, gold arcs, trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

import polars as pl

from attnbank.queries.backend import Backend
from attnbank.queries.options import ShowOptions
from attnbank.queries.pictures.sentence import ELSEWHERE, Panel
from attnbank.queries.pictures.tree import Tree
from attnbank.queries.sentences.choosing import ChosenSentence
from attnbank.sql import run_choice
from attnbank.sql.errors import BankError, CallError, QueryError
from attnbank.sql.messages import to_type
from attnbank.sql.names import without_subtype
from attnbank.sql.run_choice import Run

# Positions shown of one sentence.
_MAX_POSITIONS = 150

# Positions of words; others are special tokens, or a first word that is set apart.
WORD_KINDS = ("word", "token")


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

    `by_word` has a row per word at a position of the input (the columns of statement
    sentences/positions), `shown_words` those that are shown. `words` is the frame of a Panel.
    """

    sequence: int
    by_word: pl.DataFrame
    shown_words: pl.DataFrame
    words: pl.DataFrame
    mentions: pl.DataFrame
    tree: Tree | None
    omissions: tuple[str, ...]
    notes: tuple[str, ...]


_NO_MENTIONS = pl.DataFrame(
    schema={"entity": pl.Int64, "first": pl.Int64, "last": pl.Int64, "head": pl.Int64}
)


def sentence_records(
    backend: Backend, run: Run, chosen: Sequence[ChosenSentence], options: ShowOptions
) -> list[SentenceRecords]:
    """Read what all heads share of sentences that the run has read.

    Raises CallError if `options.words` has no word.
    """
    inputs = backend.internal(
        "sentences/inputs", run=run.id, sentences=[sentence.id for sentence in chosen]
    ).unique("sentence", keep="first", maintain_order=True)
    of_sentence = {sentence: row for sentence, *row in inputs.rows()}
    positions = backend.internal("sentences/positions", sequences=inputs["sequence"].to_list())
    of_sequence = positions.partition_by("sequence", as_dict=True, include_key=False)
    return [
        _records_of(backend, sentence, options, of_sequence[row[0],], *row)
        for sentence in chosen
        for row in [of_sentence[sentence.id]]
    ]


def _records_of(
    backend: Backend, chosen: ChosenSentence, options: ShowOptions, by_word: pl.DataFrame,
    sequence: int, size: int, in_input: int, all_words: int,
) -> SentenceRecords:  # fmt: skip
    """A sentence in its input, of `size` positions, which has `in_input` of all its words."""
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
    is_word = pl.col("kind").is_in(WORD_KINDS)
    notes = []
    if positions.filter(is_word).height > shown_positions.filter(is_word).height:
        notes.append(
            f"The input has {size} positions; attention to words not shown is drawn as elsewhere."
        )
    if not options.special and positions["word"].has_nulls():
        notes.append("Special tokens, and attention to them, are left out.")
    # Several words at one position each have a row.
    shown_words = by_word.filter(pl.col("position").is_in(shown_positions["position"].to_list()))
    is_matched = in_sentence & pl.col("index").is_in(list(chosen.matched))
    matched = shown_words.filter(is_matched)["position"]
    words = shown_positions.select(
        "position",
        "text",
        pl.col("index").cast(pl.Int64),
        is_special=pl.col("kind").is_in(WORD_KINDS).not_(),
        is_matched=pl.col("position").is_in(matched.to_list()),
        surprisal=pl.col("surprisal"),
    )
    return SentenceRecords(
        sequence, by_word, shown_words, words,
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
    (records,) = sentence_records(backend, run, [chosen], options)
    notes = [*records.notes]
    is_saved = _is_saved_relation(backend, options.relation)
    shown = records.words["position"].to_list()
    values = {
        "sequence": records.sequence,
        "heads": [f"{layer}-{head}" for layer, head in heads],
        "mean": options.mean,
        "shown": shown,
    }
    of_gold = values | {
        "saved": options.relation if is_saved else None,
        "direction": options.direction,
    }
    weights = backend.internal("sentences/weights", **values)
    panel_heads = [(None, None)] if options.mean else heads
    _check_weights(weights, len(panel_heads), len(shown))
    if not weights["is_whole"].all():
        if options.mean:
            raise QueryError(
                "A mean of heads needs every weight, and the run does not keep them all.",
                "Leave --mean out, or name a run that keeps its weights (--run).",
            )
        notes.append(note_on_missing_weights(run))
    predictions = backend.internal("sentences/predictions", sentence=chosen.id, **of_gold)
    gold = backend.internal("sentences/gold_arcs", relation=options.relation, **of_gold)
    top_rows, panels = [], []
    for layer, head in panel_heads:
        is_head = pl.col("layer").eq_missing(layer) & pl.col("head").eq_missing(head)
        top_rows.append(predictions.filter(is_head))
        panels.append(
            Panel(chosen.name, layer, head, records.words,
                  weights.filter(is_head).select(
                      pl.col("from_position").cast(pl.Int64),
                      pl.col("to_position").cast(pl.Int64).fill_null(ELSEWHERE), "weight"),
                  gold.filter(is_head).select(
                      pl.col("from_position", "to_position").cast(pl.Int64), "is_found"),
                  records.mentions, mean_of=tuple(heads) if options.mean else ())
        )  # fmt: skip
    looks = "looked_at_by" if options.direction == "head_to_dependent" else "looks_at"
    rows = pl.concat(top_rows).select(
        pl.lit(chosen.name).alias("sent_id"),
        pl.all().name.replace("^found", looks),
        pl.lit(run.name).alias("run"),
    )
    if not options.mean:  # weights are kept as 32-bit floats; their mean is not rounded to one
        rows = rows.with_columns(pl.col("weight").cast(pl.Float32))
    tree, decoded = records.tree, {}
    if tree is not None:
        decoded = _decoded_trees(backend, run, chosen, heads, options, records.shown_words, tree)
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


def _check_weights(weights: pl.DataFrame, heads: int, shown: int) -> None:
    """Raise BankError unless there is a weight between any two shown positions, for each head."""
    between = weights.filter(pl.col("to_position").is_not_null())
    is_whole = (
        between.height == heads * shown**2
        and between.select("layer", "head", "from_position", "to_position").is_unique().all()
        and weights["weight"].fill_null(0.0).is_finite().all()
        and weights.filter("is_whole")["weight"].null_count() == 0
    )
    if not is_whole:
        raise BankError(
            "The bank is damaged: the attention maps of an input are incomplete.",
            "Use an intact copy of it, or ingest again into a new file (-b FILE).",
        )


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


def _is_saved_relation(backend: Backend, relation: str | None) -> bool:
    rows = backend.connection.execute("select 1 from saved_relation where name = ?", [relation])
    return bool(rows.fetchall())


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
