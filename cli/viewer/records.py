"""The records that pages draw: a bank, the rows of its analyses, its sentences, as JSON values.

`explore` answers with them under these addresses, relative to the bank; `publish` writes the files
of those that need no question:

    bank.json, analyses.json, contents.json  runs, corpora, defaults; parameters, measures; tables
    answers/RUN/ANALYSIS.json                the rows of an analysis, by column (.csv, .svg, ...)
    profiles/RUN.json, nearest/RUN.json      what each head finds, and the heads most like it
    behaviours/RUN.json                      where the attention of each head goes
    rules/RUN/pronoun.json                   what finds antecedents without a head
    effects/RUN.json                         what the model loses without a head, or without edges
    maps/RUN.json                            the heads in a plane
    examples/RUN/HEAD.json                   dependents that a head finds and misses
    strongest/RUN/HEAD.json?measure=cls      sentences in which a head attends most to [CLS]
    antecedents/RUN/HEAD.json                mentions whose antecedent a head finds and misses
    changes/RUN/RUN.json?head_a=3-1&...      those that a head of only one of two runs finds
    sentences/RUN/HEAD.json?sentences=1,2    words, and the maps and peaks of a head
    shown.json?sentence=...&head=3-1         one sentence as it is drawn; model.json, typed.json
    hits.json, concordance.json, counts.json hits of a request, in context, counted
    scores/RUN.json?request=...              every head on the pairs of words of a request
    scores/RUN/best.json?request=...         the best one, held out, and those of random weights
    statement.json?statement=...             the rows of a SQL statement
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from typing import Any

import polars as pl

from attnbank.cli.viewer import colours
from attnbank.queries import Bank, analyses
from attnbank.queries.answers import EVERY_RELATION
from attnbank.queries.contents import OF_RUNS
from attnbank.queries.options import ShowOptions
from attnbank.queries.patterns import reads_run, run_request
from attnbank.queries.patterns.scoring import CIRCULAR, SELECTED
from attnbank.queries.pictures import sentence as pictures
from attnbank.queries.pictures.encodings import Encoding, category_label
from attnbank.queries.pictures.sentence import ELSEWHERE
from attnbank.queries.pictures.tree import Tree
from attnbank.queries.sentences.attention import (
    WORD_KINDS,
    SentenceRecords,
    names_of_run,
    note_on_missing_weights,
    sentence_records,
)
from attnbank.queries.sentences.behaviours import BEHAVIOURS, ENTROPY, behaviours_of_heads
from attnbank.queries.sentences.choosing import (
    ChosenSentence,
    choose_run_over_corpus,
    find_sentence,
    sentences_of_run,
)
from attnbank.queries.sentences.showing import Shown
from attnbank.queries.table_formats import format_cell
from attnbank.sql import provenance, run_choice
from attnbank.sql.errors import AttnbankError, CallError, QueryError
from attnbank.sql.header import Parameter
from attnbank.sql.names import DIRECTIONS
from attnbank.sql.registry import analyses_by_section
from attnbank.sql.run_choice import Run

# Requests that a page begins with.
EXAMPLES = (
    "pattern { V -[obj]-> O }",
    "pattern { V -[nsubj]-> S; V -[obj]-> O; O << V }",
    "pattern { N -[det]-> D } without { N -[amod]-> A }",
)


def bank_record(bank: Bank, name: str, runs: Iterable[Run], address: str) -> dict[str, Any]:
    """What pages know of a bank before anything is asked of it; `address` is how it is called."""
    defaults, unanswered = _default_runs(bank, address)
    rows = {row["id"]: row for row in bank.runs().to_dicts()}
    with bank.backend.answering():
        corpora = bank.backend.internal("contents/corpora")
        models = bank.backend.internal("contents/models")
        # Each relation with all its dependents, and below it its subtypes.
        relations = bank.backend.fetch(
            "select name, count(*) as n from word,"
            " unnest(list_distinct([without_subtype(word.deprel), word.deprel])) as relation (name)"
            " where word.head_index > 0 and name <> '' group by name"
            " order by without_subtype(name), name",
            {},
        ).to_dicts()
        upos = bank.backend.fetch(
            "select upos as name, count(*) as n from word where upos <> '' group by upos"
            " order by upos",
            {},
        ).to_dicts()
        circular = bank.backend.fetch("select name from saved_relation where is_circular", {})[
            "name"
        ]
        controls = {run: control for run, control, _ in _controls(bank)}
        each = dict(bank.backend.internal("contents/ablations_of_each").rows())
    saved = bank.saved().to_dicts()
    shown = None
    with suppress(AttnbankError):
        shown = choose_run_over_corpus(bank.backend, None, None, None).id
    return {
        "name": name,
        "runs": [
            _run_record(bank, run, rows[run.id], controls, unanswered)
            | {"ablation": each.get(run.id)}
            for run in runs
        ],
        "choices": bank.choices().to_dicts(),
        "corpora": corpora.select(
            "name", "language", "licence", "citation", "sentences", "words", "annotation"
        ).to_dicts(),
        "models": models.select("name", "layers", "heads").to_dicts(),
        "defaults": defaults,
        "unanswered": unanswered,
        "address": address,
        "shown": shown,
        "directions": DIRECTIONS,
        "usual": {
            subject: _default_run_of_requests(bank, subject)
            for subject in ("attention", "weights", "surprisal")
        },
        "relations": [
            {"name": "all", "n": None},
            *relations,
            *({"name": row["name"], "n": None} for row in saved),
        ],
        "upos": upos,
        "examples": EXAMPLES,
        "saved": [_saved_record(row, circular=row["name"] in circular) for row in saved],
    }


def _controls(bank: Bank) -> list[tuple[int, int, str]]:
    """Each run that has controls, with the one of the lowest seed, and its name.

    Those of a run of random weights are other seeds.
    """
    return bank.connection.execute(
        "select control.run, arg_min(run.id, control.seed), arg_min(run.name, control.seed)"
        " from control_run() as control inner join run on run.id = control.control"
        " where control.control <> control.run group by control.run"
    ).fetchall()


def _control_of(bank: Bank, run: Run) -> str | None:
    """The name of the control that stands beside a run."""
    with bank.backend.answering():
        return {own: name for own, _, name in _controls(bank)}.get(run.id)


def _run_record(
    bank: Bank,
    run: Run,
    row: Mapping[str, Any],
    controls: Mapping[int, int],
    unanswered: Mapping[str, Any],
) -> dict[str, Any]:
    """The facts of a run, the directions and measures of its heads, and the notes on sentences."""
    run_fields = {field.name: getattr(run, field.name) for field in fields(run)}
    names = names_of_run(bank.backend, run)
    facts = pictures.SentenceFacts(names["run"], names["model"], names["corpus"], names["measure"])
    with bank.backend.answering():
        steps = bank.backend.internal("contents/checkpoints", run=run.name).rows()
        ((causal, seed, *digests),) = bank.connection.execute(
            "select coalesce(model.causal, false), model.random_seed, left(model.sha256, 12),"
            " left(corpus.sha256, 12) from run inner join model on model.id = run.model"
            " inner join corpus on corpus.id = run.corpus where run.id = $run",
            {"run": run.id},
        ).fetchall()
    program = f"attnbank {provenance.version()}"
    notes = [*pictures.note_lines([], facts, in_columns=False)]
    of_arcs = replace(facts, relation="all")
    with_arcs = [*pictures.note_lines([], of_arcs, in_columns=False)]
    return run_fields | {
        "size": run.size, "keep": row["keep"], "measure": facts.measure, "model": facts.model,
        "context": row["context"], "unit": row["unit"], "is_causal": causal, "notes": notes,
        "sentences": row["sentences"], "words": row["words"], "seed": seed,
        # Heads of an encoder see both sides.
        "directions": [name for name in DIRECTIONS if causal or name != "later_to_earlier"],
        "measures": [
            key
            for key, measure in measures().items()
            if measure.only in (None, "decoder" if causal else "encoder")
            and run.name in unanswered.get(measure.analysis, {}).get("runs", [run.name])
        ],
        "control": controls.get(run.id), "layer_numbers": [*run.numbers],
        "source": f"{run.name}: model {facts.model}, corpus {run.corpus_name}; {program}",
        "citation": (
            f"Run {run.name}: model {facts.model} (SHA-256 {digests[0]}), corpus {run.corpus_name}"
            f" (SHA-256 {digests[1]}); {program}."
        ),
        "steps": steps, "note_of_rest": note_on_missing_weights(run),
        "notes_of_arcs": next(note for note in with_arcs if note not in notes),
        "notes_of_mentions": (
            "Bars of one colour and letter are mentions of one entity. Lines from a mention to one"
            " before it have its colour, and are dotted, whatever their weight is."
        ),
    }  # fmt: skip


def _default_runs(bank: Bank, address: str) -> tuple[dict[str, int | None], dict[str, Any]]:
    """The default run of each analysis, None without one; why some have none, and runs to name."""
    runs: dict[str, int | None] = dict.fromkeys(analyses())
    unanswered = {}
    with bank.backend.answering():
        chosen = run_choice.default_runs(bank.connection, bank.path, analyses().values())
    for name, (run, able) in chosen.items():
        if isinstance(run, Run):
            runs[name] = run.id
        else:
            unanswered[name] = {**fault_record(run, bank, address), "runs": able}
    return runs, unanswered


def fault_record(error: AttnbankError, bank: Bank, address: str) -> dict[str, str]:
    """What went wrong, and what to type; `address` stands where the path of the bank would.

    A published bank has another path, and that of the machine that published it is private.
    """
    path = str(bank.path)
    return {
        "fact": error.fact.replace(path, address),
        "remedy": error.remedy.replace(path, address),
    }


def _default_run_of_requests(bank: Bank, about: str) -> int | None:
    """The default run for requests about attention, weights or surprisal; None if there is none."""
    with suppress(AttnbankError), bank.backend.answering():
        return run_request.choose_run_of_request(
            bank.backend, in_documents=False, weights=about == "weights",
            attention=about != "surprisal", surprisal=about == "surprisal",
        ).id  # fmt: skip
    return None


def _saved_record(row: Mapping[str, Any], *, circular: bool) -> dict[str, Any]:
    selected = not circular and reads_run(row["request"])
    return {
        "name": row["name"], "request": row["request"], "is_circular": circular,
        "warning": CIRCULAR if circular else SELECTED if selected else None,
    }  # fmt: skip


def catalogue() -> dict[str, Any]:
    """The analyses with their parameters, and what heads are coloured by."""
    listed = {
        analysis.name: {
            "name": analysis.name, "title": analysis.title, "paper": analysis.paper,
            "section": section, "schema": "paper" if analysis.section == "paper" else "main",
            "run": analysis.run is not None, "empty": analysis.empty,
            "notes": [note for note in analysis.notes if "is a word of SQL" not in note],
            "plot": analysis.plot is not None,
            "parameters": [*map(_parameter_record, analysis.parameters)],
        }
        for section, section_analyses in analyses_by_section().items()
        for analysis in section_analyses
        if not analysis.is_own
    }  # fmt: skip
    grids = [
        asdict(measure) | {"key": key, "is_share": measure.is_share, "group": measure.group}
        for key, measure in measures().items()
    ]
    return {
        "analyses": listed, "measures": grids,
        "small_grids": [dict(zip(("key", "title"), grid, strict=True)) for grid in _SMALL],
        "strongest": STRONGEST,
    }  # fmt: skip


def _parameter_record(parameter: Parameter) -> dict[str, Any]:
    """What a form asks for: `usual` is the default in words, empty for null."""
    truths = ("true", "false") if parameter.type == "boolean" else ()
    words = {"false": "no", "true": "yes", "null": ""}
    return {
        "name": parameter.name, "type": parameter.type, "help": parameter.help,
        "names_run": parameter.names_run, "choices": parameter.choices or truths,
        "usual": words.get(parameter.default, parameter.default.strip("'")),
    }  # fmt: skip


# The groups of measures in a menu, by the section of the analysis.
_GROUPS = {
    **dict.fromkeys(("syntax", "languages", "trees", "probes"), "Relations"),
    "coreference": "Coreference",
    "ablation": "Effect of ablation",
}
_ELSE = "Where attention goes"


@dataclass(frozen=True)
class HeadMeasure:
    """What a grid can be coloured by: mostly a column of an analysis that is plotted as one.

    The scale is that of the plot: its fixed `domain`, or the range of its `columns`. Values
    from 0 to 1 are shares. `has_relation` and `has_direction` say whether the analysis takes a
    relation and has a row for each direction; `only` is the kind of model that alone has values.
    """

    title: str
    analysis: str
    column: str
    only: str | None = None
    columns: tuple[str, ...] = ()
    domain: tuple[float, float] | None = None
    has_relation: bool = False
    has_direction: bool = False

    @property
    def is_share(self) -> bool:
        """Whether values are written as per cent."""
        return self.domain == (0.0, 1.0)

    @property
    def group(self) -> str:
        """The group of the measure in a menu."""
        return _GROUPS.get(analyses()[self.analysis].section, _ELSE)


# The measures by their names in an address, in the order of the menu.
MEASURES = {
    "relation": HeadMeasure("Accuracy for a relation", "head_accuracy", "accuracy"),
    "head_score.gain": HeadMeasure("Gain for a relation over a fixed offset", "head_score", "gain"),
    "universal_head.accuracy": HeadMeasure(
        "Accuracy for a relation, mean over corpora", "universal_head", "accuracy"
    ),
    "tree_accuracy.uuas": HeadMeasure("Trees of the head: UUAS", "tree_accuracy", "uuas"),
    "constituent_accuracy.f1": HeadMeasure(
        "Constituents of the head: F1", "constituent_accuracy", "f1"
    ),
    "probe": HeadMeasure("Contribution to a probe in nats", "probe_heads", "contribution"),
    "previous": HeadMeasure("Attention to the previous token", "relative_position", "previous"),
    "self": HeadMeasure("Attention to the token itself", "relative_position", "self"),
    "next": HeadMeasure("Attention to the next token", "relative_position", "next", "encoder"),
    "cls": HeadMeasure("Attention to [CLS]", "special_tokens", "cls", "encoder"),
    "sep": HeadMeasure("Attention to [SEP]", "special_tokens", "sep", "encoder"),
    "special_tokens.first": HeadMeasure(
        "Attention to the first token", "special_tokens", "first", "decoder"
    ),
    "punctuation": HeadMeasure(
        "Attention to punctuation (. and ,)", "special_tokens", "punctuation"
    ),
    "entropy": HeadMeasure("Entropy in nats", "entropy", "entropy"),
    "entropy.entropy_from_cls": HeadMeasure(
        "Entropy from [CLS] in nats", "entropy", "entropy_from_cls", "encoder"
    ),
    "sink_head.sink": HeadMeasure(
        "Inputs in which the first token is a sink", "sink_head", "sink", "decoder"
    ),
    "induction_head.weight": HeadMeasure(
        "Attention to the successor of the same token (induction)", "induction_head", "weight",
        "decoder",
    ),
    "duplicate_token_head.weight": HeadMeasure(
        "Attention to the same token before", "duplicate_token_head", "weight", "decoder"
    ),
    "special_tokens.other": HeadMeasure(
        "Attention to all other tokens", "special_tokens", "other"
    ),
    "special_tokens_by_measure.norm_on_cls": HeadMeasure(
        "Share of all norms that [CLS] has", "special_tokens_by_measure", "norm_on_cls", "encoder"
    ),
    "special_tokens_by_measure.norm_on_sep": HeadMeasure(
        "Share of all norms that [SEP] has", "special_tokens_by_measure", "norm_on_sep", "encoder"
    ),
    "missing_attention.missing": HeadMeasure(
        "Attention to no position", "missing_attention", "missing"
    ),
    "head_function.confidence": HeadMeasure(
        "Largest weight of a position, mean", "head_function", "confidence"
    ),
    "head_function.positional": HeadMeasure(
        "Maxima at the commonest offset", "head_function", "positional"
    ),
    "head_function.rare_word": HeadMeasure(
        "Inputs whose commonest maximum is the rarest word", "head_function", "rare_word"
    ),
    "coreference": HeadMeasure("Accuracy for coreference", "coreference_accuracy", "accuracy"),
    "ablation": HeadMeasure("Effect of ablation in nats a word", "ablation_effect", "difference"),
}  # fmt: skip

# Those of which the atlas shows the sentences in which a head does most of it, by the names of the
# statement examples/strongest.
STRONGEST = {
    "previous": "previous", "self": "self", "next": "next", "cls": "cls", "sep": "sep",
    "punctuation": "punctuation", "special_tokens.first": "first", "sink_head.sink": "first",
}  # fmt: skip

# The small grids of the atlas: the key of a measure (or gain, the best relation), and a title.
_SMALL = (
    ("previous", "Previous token"), ("next", "Next token"), ("self", "Itself"), ("cls", "[CLS]"),
    ("sep", "[SEP]"), ("special_tokens.first", "First token"), ("punctuation", "Punctuation"),
    ("entropy", "Entropy"), ("gain", "Best relation"), ("coreference", "Coreference"),
    ("induction_head.weight", "Induction"), ("duplicate_token_head.weight", "Duplicate token"),
    ("ablation", "Ablation"),
)  # fmt: skip


@cache
def measures() -> dict[str, HeadMeasure]:
    """The measures, with the scale of the plot of each."""
    return {name: _with_scale(measure) for name, measure in MEASURES.items()}


def _with_scale(measure: HeadMeasure) -> HeadMeasure:
    analysis = analyses()[measure.analysis]
    plot = analysis.plot
    assert plot is not None, "a measure is one that is drawn"
    if plot.kind != "grid":  # its rows are of sets of heads
        return measure
    return replace(
        measure,
        columns=plot.color,
        domain=plot.domain,
        has_relation=any(parameter.name == "relation" for parameter in analysis.parameters),
        has_direction=any(column.name == "direction" for column in analysis.columns),
    )


def frame_record(frame: pl.DataFrame) -> dict[str, Any]:
    """Convert a frame by column: numbers in full precision, other values as text."""
    columns, values = [], []
    for series in frame:
        kind = "text"
        if series.dtype.is_float():
            kind = "float"
        elif series.dtype.is_integer():
            kind = "integer"
        elif series.dtype == pl.Boolean:
            kind = "boolean"
        if series.dtype == pl.Float32:  # 0.1, and not the double next to it
            series = series.cast(pl.String).cast(pl.Float64)
        columns.append({"name": series.name, "kind": kind})
        values.append([_json_value(value, kind) for value in series.to_list()])
    return {"columns": columns, "values": values}


def _json_value(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "float":
        return value if math.isfinite(value) else str(value)  # JSON has neither NaN nor infinity
    return value if kind in ("integer", "boolean") else format_cell(value)


# Dependents that a test needs, and that a relation needs to be one that a head is best at.
_LEAST_TESTED, _FREQUENT = 10, 100


def profile_record(bank: Bank, run: Run) -> dict[str, Any]:
    """What each head finds above the best fixed offset, and which head gains most on each relation.

    The rows are those of best_relation with a gain, of at least 10 dependents, and of each head the
    first with 100 or more, or, of a text without such a relation, the first: `of_heads`, with
    `min_count` where it is not 100. `relations` has a row for each relation and direction: that of
    the head with the largest gain, and how many heads are `significant`; `unfound` has the frequent
    ones that no head finds. `first` is what pages begin with.
    """
    every = bank.query("best_relation", run=run.name, **EVERY_RELATION)
    least = _FREQUENT if (every["n"] >= _FREQUENT).any() else _LEAST_TESTED
    frequent = pl.col("rank").filter(pl.col("n") >= least).min().over("layer", "head")
    is_gain = (pl.col("gain") > 0) & (pl.col("n") >= _LEAST_TESTED)
    rows = every.filter(is_gain | (pl.col("rank") == frequent))
    of_relations = every.with_columns(
        significant=((pl.col("p_corrected") < 0.05) & (pl.col("gain") > 0))
        .sum().over("relation", "direction")
    ).sort(
        "relation", "direction", "gain", "layer", "head",
        descending=[False, False, True, False, False], nulls_last=True,
    ).unique(["relation", "direction"], keep="first", maintain_order=True)  # fmt: skip
    significant = of_relations.filter(pl.col("significant") > 0).sort(
        pl.col("n") < _FREQUENT, "gain", descending=[False, True], maintain_order=True
    )
    unfound = (
        of_relations.filter(
            (pl.col("n") >= _FREQUENT) & (pl.col("significant").sum().over("relation") == 0)
        )
        .sort("relation", "gain", descending=[False, True])
        .unique("relation", keep="first", maintain_order=True)
    )
    without = ("rank", "p_value", "findable", "run")
    return frame_record(rows.drop(without)) | {
        "relations": frame_record(of_relations.drop(without)),
        "unfound": frame_record(unfound.drop(without)),
        "of_heads": frame_record(rows.filter(pl.col("rank") == frequent).drop(without)),
        "min_count": None if least == _FREQUENT else least,
        "first": next(significant.select("relation", "direction").iter_rows(named=True), None),
    }


def behaviours_record(bank: Bank, run: Run) -> dict[str, Any]:
    """Where the attention of each head goes, beside uniform attention and random weights.

    The rows are those of behaviours_of_heads; `notes` says what is left out.
    """
    with bank.backend.answering():
        facts = bank.backend.internal("sentences/run_facts", run=run.id)
    frame, notes = behaviours_of_heads(
        lambda analysis, run_name: bank.query(analysis, run=run_name),
        (*BEHAVIOURS, ENTROPY), run.name, _control_of(bank, run), is_causal=facts["is_causal"][0],
    )  # fmt: skip
    return frame_record(frame) | {"notes": notes}


def nearest_record(bank: Bank, run: Run) -> dict[str, Any]:
    """The five heads with the most similar attention to each head (section 6)."""
    frame = bank.query("head_distance", run=run.name)
    # head_distance has each pair of heads once, so a head may be on either side.
    sides = [
        frame.select(
            pl.col(f"layer_{this}").alias("of_layer"),
            pl.col(f"head_{this}").alias("of_head"),
            pl.col(f"layer_{that}").alias("layer"),
            pl.col(f"head_{that}").alias("head"),
            (pl.col("js_divergence") / pl.col("n_tokens")).alias("nats_a_token"),
            "run",
        )
        for this, that in (("a", "b"), ("b", "a"))
    ]
    ranked = pl.concat(sides).sort("of_layer", "of_head", "nats_a_token", "layer", "head")
    return frame_record(ranked.group_by("of_layer", "of_head", maintain_order=True).head(5))


def rules_record(bank: Bank, run: Run, kind: str) -> dict[str, str]:
    """What finds the antecedents of some mentions without a head, and the test of the best head.

    Raises CallError and QueryError for a run without coreference.
    """
    rules = bank.query("coreference_baseline", kind=kind, run=run.name)
    parts = [
        f"{rule.replace('_', ' ')} {percent(accuracy)}"
        for rule, accuracy in rules.select("baseline", "accuracy").iter_rows()
    ]
    control = _control_of(bank, run)
    if control is not None:
        with suppress(CallError, QueryError):
            of_heads = bank.query("coreference_accuracy", kind=kind, run=control)
            best = max(of_heads["accuracy"].drop_nulls(), default=None)
            parts.append(f"best head of random weights {percent(best)}")
    text = f"without a head: {', '.join(parts)}"
    # The best head and the best rule of one half of the documents, on the other half.
    with suppress(CallError, QueryError):
        tests = bank.query("best_coreference_head_held_out", kind=kind, run=run.name)
        for test in tests.iter_rows(named=True):
            p = test["p_value"]
            better = f"{'' if p is not None and p < 0.05 else 'not '}significantly better"
            text += (
                f"; held out (n {test['n']:,}): head {test['layer']}-{test['head']}"
                f" {percent(test['accuracy'])}, {test['rule'].replace('_', ' ')}"
                f" {percent(test['rule_accuracy'])},"
                f" {'not tested' if p is None else f'{better} (p {p:.2g})'}"
            )
    return {"text": text}


def percent(share: float | None) -> str:
    """Write a share as per cent; nothing for none."""
    return "" if share is None else f"{100 * share:.0f} %"


def effects_record(bank: Bank, run: Run) -> dict[str, Any]:
    """What the model loses without each head, and without the edges of relations.

    The rows are those of ablation_effect on surprisal: of each head alone, in the `ablation` of
    the run in `bank_record`; of each set of edges, for all words and for those that lost one.
    """
    with bank.backend.answering():
        ablations = dict(bank.backend.internal("contents/ablations_of_each").rows())
    frame = bank.query("ablation_effect", classification="cut", run=run.name)
    is_head = pl.col("edges").is_null() & pl.col("heads").str.contains(r"^\d+-\d+$")
    is_of_head = (
        is_head & (pl.col("class") == "all") & (pl.col("ablation") == ablations.get(run.id, ""))
    )
    is_of_edges = pl.col("edges").is_not_null() & pl.col("class").is_in(["all", "cut"])
    return frame_record(frame.filter(outcome="surprisal").filter(is_of_head | is_of_edges))


# The size of the map, and its margin, in pixels.
_WIDE, _HIGH, _EDGE = 960.0, 600.0, 30.0


# What heads do, in four colours: a behaviour that is none of these is a relation.
_KINDS = ("a relation", "previous or next token", "special tokens, punctuation", "broadly")
_KIND_OF = {
    "previous": 1, "next": 1, "cls": 2, "sep": 2, "punctuation": 2, "first": 2, "broad": 3,
    "other": None,
}  # fmt: skip


def map_record(frame: pl.DataFrame) -> dict[str, Any]:
    """The rows of figure_6 as marks.

    `points` are (name, behaviour, x, y in pixels, CSS class, shape), `kinds` (CSS class, shape,
    what they are). A head that does nothing in particular is grey, and has no behaviour.
    """
    rows = frame.to_dicts()
    xs, ys = [row["x"] for row in rows], [row["y"] for row in rows]
    wide, high = max(xs) - min(xs) or 1.0, max(ys) - min(ys) or 1.0
    scale = min((_WIDE - 2 * _EDGE) / wide, (_HIGH - 2 * _EDGE) / high)
    left, top = (_WIDE - wide * scale) / 2, (_HIGH - high * scale) / 2
    points, slots = [], set[int]()
    for row in rows:
        slot = _KIND_OF.get(row["behaviour"], 0)
        if slot is not None:
            slots.add(slot)
        label = "" if slot is None else category_label(row["behaviour"])
        name = f"{row['layer']}-{row['head']}"
        mark = colours.kind(Encoding(slot)), Encoding(None if slot is None else slot + 1).shape
        x, y = left + (row["x"] - min(xs)) * scale, top + (max(ys) - row["y"]) * scale
        points.append((name, label, round(x, 1), round(y, 1), *mark))
    kinds = [
        (colours.kind(Encoding(at)), Encoding(at + 1).shape, _KINDS[at]) for at in sorted(slots)
    ]
    return {"points": points, "kinds": kinds}


def contents_record(bank: Bank) -> dict[str, Any]:
    """The contents of the bank, as `attnbank info` prints them."""
    info = bank.info()
    tables = (
        ("Default run", "choices", bank.choices().rename({"unasked": "default"})),
        ("Corpora", "corpora", info.corpora),
        ("Models", "models", info.models),
        ("Skipped", "left_out", info.skipped),
        ("Tables", "tables", info.filled),
    )
    return {
        "size": f"{info.bytes / 1e6:,.1f} MB",
        "format": info.format,
        "runs": _legible(info.runs.select(OF_RUNS)),
        "tables": [
            {"caption": caption, "name": name, "frame": _legible(frame)}
            for caption, name, frame in tables
            if frame.height
        ],
    }


def _legible(frame: pl.DataFrame) -> dict[str, Any]:
    """A frame with separators in counts, with short digests, and without empty columns."""
    record = frame_record(frame)
    filled = [
        (column, values)
        for column, values in zip(record["columns"], record["values"], strict=True)
        if any(value not in (None, "") for value in values)
    ]
    for column, values in filled:
        if column["kind"] == "integer" and column["name"] != "id" and column["name"][-4:] != "seed":
            values[:] = [None if value is None else f"{value:,}" for value in values]
        if column["kind"] == "text":
            values[:] = [value and _DIGEST.sub(r"\1…", value) for value in values]
    return {
        "columns": [column for column, _ in filled], "values": [values for _, values in filled],
    }  # fmt: skip


_DIGEST = re.compile(r"^([0-9a-f]{12})[0-9a-f]{52}$")


def examples_record(
    bank: Bank, run: Run, head: tuple[int, int], relation: str, direction: str, most: int
) -> list[dict[str, Any]]:
    """Dependents that a head finds and misses, up to `most` of each, spread over the text.

    Further rows count its errors by what it finds instead, and how often it is right by what the
    dependent is. The rows are those of the statement examples/head_examples.
    """
    with bank.backend.answering():
        return bank.backend.internal(
            "examples/head_examples", run=run.name, relation=relation, layer=head[0], head=head[1],
            direction=direction, most=most,
        ).to_dicts()  # fmt: skip


def strongest_record(
    bank: Bank, run: Run, head: tuple[int, int], measure: str, most: int
) -> list[dict[str, Any]]:
    """Sentences of 5 to 14 words in whose inputs a head attends most as a measure says."""
    with bank.backend.answering():
        return bank.backend.internal(
            "examples/strongest", run=run.name, layer=head[0], head=head[1],
            target=STRONGEST[measure], most=most,
        ).to_dicts()  # fmt: skip


# Those of coreference_accuracy.
KINDS_OF_MENTIONS = ("all", "pronoun", "proper", "nominal")


def antecedents_record(
    bank: Bank, run: Run, head: tuple[int, int], kind: str, most: int
) -> list[dict[str, Any]]:
    """Mentions whose antecedent a head finds, and that it misses, up to `most` of each.

    The rows are those of the statement examples/coreference_examples.
    """
    with bank.backend.answering():
        return bank.backend.internal(
            "examples/coreference_examples",
            run=run.name, layer=head[0], head=head[1], kind=kind, most=most,
        ).to_dicts()  # fmt: skip


@dataclass(frozen=True)
class JudgedHead:
    """A head of a run, which predicts the heads of words in one direction."""

    run: Run
    layer: int
    head: int
    direction: str


def changes_record(
    bank: Bank, relation: str, first: JudgedHead, second: JudgedHead, most: int
) -> list[dict[str, Any]]:
    """Dependents that one head finds and another misses, with up to `most` examples of each.

    The rows are those of the statement examples/changed_words. Raises CallError if the runs are
    not over one corpus.
    """
    if first.run.corpus != second.run.corpus:
        raise CallError(
            f"{first.run.name} and {second.run.name} have different corpora, and share no words.",
            "Choose two runs over one corpus.",
        )
    values: dict[str, Any] = {}
    for side, judged in (("a", first), ("b", second)):
        values |= {
            f"run_{side}": judged.run.name, f"layer_{side}": judged.layer,
            f"head_{side}": judged.head, f"direction_{side}": judged.direction,
        }  # fmt: skip
    with bank.backend.answering():
        return bank.backend.internal(
            "examples/changed_words", relation=relation, most=most, **values
        ).to_dicts()


def sheets(bank: Bank, run: Run, sentences: Sequence[int]) -> list[dict[str, Any]]:
    """Sentences in the inputs of a run: see `words_record`.

    Raises CallError if the run has not read one of them.
    """
    with bank.backend.answering():
        names = sentences_of_run(bank.backend, run, sentences)
        for sentence in sentences:
            if sentence not in names:
                missing = find_sentence(bank.backend, str(sentence), run.corpus_name)
                raise CallError(
                    f"The run {run.name} has not read the sentence {missing.name}.",
                    "Choose another sentence, or another run.",
                )
        chosen = [
            ChosenSentence(sentence, names[sentence], run.corpus, run.corpus_name)
            for sentence in sentences
        ]
        records = sentence_records(bank.backend, run, chosen, ShowOptions(0))
        words = words_of_sentences(bank, sentences)
    return [
        words_record(own, sentence, words[sentence.id])
        for own, sentence in zip(records, chosen, strict=True)
    ]


def words_of_sentences(bank: Bank, sentences: Sequence[int]) -> dict[int, list[tuple[Any, ...]]]:
    """The words of sentences: form, index, and whether white space follows."""
    words: dict[int, list[tuple[Any, ...]]] = {sentence: [] for sentence in sentences}
    for sentence, *word in bank.backend.internal("sentences/words", sentences=[*words]).rows():
        words[sentence].append(tuple(word))
    return words


def attention_records(
    bank: Bank, sheets: Sequence[Mapping[str, Any]], head: str
) -> list[dict[str, Any]]:
    """Sentences (`sheets`) with the maps and peaks of a head from their positions."""
    values = {"sequences": sorted({sheet["sequence"] for sheet in sheets}), "heads": [head]}
    with bank.backend.answering():
        maps = bank.backend.internal("sentences/maps", **values)
        peaks = bank.backend.internal("sentences/peaks", **values)
    sentences = []
    for sheet in sheets:
        own = pl.col("sequence") == sheet["sequence"]
        (places, *_) = sheet["positions"]["values"]
        sentences.append({
            **sheet,
            "maps": maps.filter(own & pl.col("from_position").is_in(places)).to_dicts(),
            "peaks": peaks.filter(own & pl.col("position").is_in(places)).to_dicts(),
        })  # fmt: skip
    return sentences


def words_record(
    records: SentenceRecords, chosen: ChosenSentence, words: Sequence[tuple[Any, ...]]
) -> dict[str, Any]:
    """What all heads share of a sentence, for pages to draw: see `SentenceRecords`.

    `positions` has a row per word of the sentence, and per other position that is shown, of
    which `is_shown` are the first at each; `written` has its words as they stand in the text.
    """
    is_shown = pl.col("position").is_in(records.words["position"].to_list())
    is_own = (pl.col("sentence") == chosen.id).fill_null(False)
    positions = records.by_word.filter(is_shown | is_own).select(
        "position", "text", "sentence", "index",
        ~pl.col("kind").is_in(WORD_KINDS).alias("is_special"), "surprisal",
    ).with_columns(is_shown=is_shown & pl.col("position").is_first_distinct())  # fmt: skip
    return {
        "name": chosen.name,
        "sequence": records.sequence,
        "positions": frame_record(positions),
        "written": list(words),
        "notes": [*records.omissions, *records.notes],
    }


def shown_record(bank: Bank, view: Shown, *, wants_tree: bool) -> dict[str, Any]:
    """One sentence as `Bank.show` shows it, for pages to draw.

    `words` have position, text, index, is_special, is_matched and surprisal, `mentions` are those
    of `mention_rows`. A panel has `weights` (from, to, weight; to is null
    for all that is not shown) and `gold` arcs (from, to, is_found). The gold tree is there even if
    it is not wanted: a line of words has it above.
    """
    first = view.panels[0]
    sentence, marked = next(iter(view.marked.items()))
    trees = [tree_record(title, tree) for title, tree in view.facts.trees.items()]
    if not trees:
        with suppress(AttnbankError):  # the corpus has no trees
            name = f"{view.run.heads and view.run.numbers[0]}-1"
            treed = bank.show(str(sentence), name, run=view.run.name, tree=True)
            trees = [tree_record(title, tree) for title, tree in treed.facts.trees.items()]
    return written_record(bank, sentence, marked) | {
        "run": view.run.name,
        "name": first.sentence,
        "facts": [*pictures.note_lines(view.panels, view.facts, in_columns=False)],
        "norms": view.facts.measure.endswith("norms"),
        "words": first.words.to_dicts(),
        "mentions": mention_rows(first.mentions),
        "trees": [
            tree | {"isGold": at == 0, "isWanted": wants_tree or bool(view.facts.trees)}
            for at, tree in enumerate(trees)
        ],
        "panels": [
            {
                "name": panel.full_name, "layer": panel.layer, "head": panel.head,
                "weights": panel.weights.with_columns(
                    pl.col("to_position").replace(ELSEWHERE, None)
                ).rows(),
                "gold": panel.gold.rows(),
            }
            for panel in view.panels
        ],
        "rows": frame_record(view.rows),
    }  # fmt: skip


def mention_rows(mentions: pl.DataFrame) -> list[tuple[int, ...]]:
    """Mentions as (entity, first, last, head, lane of its bar), in positions."""
    lanes = pictures.mention_lanes(mentions)
    return [(*row, lane) for row, lane in zip(mentions.rows(), lanes, strict=True)]


def tree_record(title: str, tree: Tree) -> dict[str, Any]:
    """A tree over words at positions; its arcs are (head, dependent, relation, is_wrong)."""
    at = tree.positions
    words = zip(at, tree.words, strict=True)
    return {
        "title": title,
        "words": [{"position": position, "text": text} for position, text in words],
        "arcs": [(at[arc.head], at[arc.dependent], arc.label, arc.is_wrong) for arc in tree.arcs],
    }


def written_record(bank: Bank, sentence: int, marked: Collection[int]) -> dict[str, Any]:
    """The words of a sentence (form, index, whether white space follows), those that are marked,
    and the sentences before and after it.
    """
    words = words_of_sentences(bank, [sentence])[sentence]
    around = bank.connection.execute(
        "select max(sentence.id) filter (where sentence.id < $id),"
        " min(sentence.id) filter (where sentence.id > $id) from sentence",
        {"id": sentence},
    ).fetchall()[0]
    return {
        "id": sentence, "written": words, "marked": sorted(marked), "around": around,
    }  # fmt: skip


# The smallest weights of the classes of lines in a small map.
_BINS = (0.05, 0.15, 0.4, 0.7)


def small_maps(views: Iterable[Shown]) -> dict[str, list[list[tuple[int, int]]]]:
    """The lines of each head in a sentence: pairs of places, by class."""
    maps = {}
    for view in views:
        for panel in view.panels:
            places = {position: at for at, position in enumerate(panel.words["position"])}
            largest = panel.largest(view.facts.measure)
            classes: list[list[tuple[int, int]]] = [[] for _ in _BINS]
            for start, end, weight in panel.weights.rows():
                kind = sum((weight or 0.0) / largest >= least for least in _BINS)
                if kind and start in places and end in places:
                    classes[kind - 1].append((places[start], places[end]))
            maps[panel.heads_label] = classes
    return maps


def json_text(value: Any) -> str:
    """Format a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
