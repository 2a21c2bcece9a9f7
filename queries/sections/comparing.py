"""Published figures beside those of a bank."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl

from attnbank.queries.sections.commands import query_command
from attnbank.queries.sections.kinds import Comparison
from attnbank.queries.sections.plan import published

if TYPE_CHECKING:
    from attnbank.queries.bank import Bank

ABSENT = ""
"""What stands where there is no figure, as in every table."""
UNIVERSAL = frozenset({"obj", "case", "obl", "nmod"})
STANFORD = frozenset({"dobj", "prep", "pobj"})
"""Relations that one of the two has and the other does not (but for old treebanks' dobj)."""


def compare(bank: Bank, name: str, run: dict[str, Any], control: str | None = None) -> Comparison:
    """The published figures of a name beside what the bank says; `run` is as for the section.

    Relations have those of the run `control`, of random weights, beside them. Raises as
    `Bank.query` does.
    """
    told = published()[name]
    values = {**told.get("values", {}), **run}
    frame = bank.query(told["compares"], **values)
    if "relation" in told:
        possessive = bank.query(told["compares"], **values, possessive=True)
        rows = _relations(told["relation"], frame, possessive)
        if control is not None:
            values_of_control = {**values, "run": control}
            plain = bank.query(told["compares"], **values_of_control)
            judged = bank.query(told["compares"], **values_of_control, possessive=True)
            _add_control(rows, _relations(told["relation"], plain, judged))
    elif "model" in told:
        rows = _models(told["model"], frame)
    elif "probe" in told:
        rows = _probes(told["probe"], frame)
    else:
        rows = [
            {
                "what": each["what"],
                "paper": each["published"],
                "this bank": MEASURES[each["measure"]](frame),
            }
            for each in told["claim"]
        ]
    return Comparison(
        pl.DataFrame(rows),
        told["source"],
        told["setup"],
        told["differs"],
        query_command(bank.path, told["compares"], values),
    )


def _relations(told: list[dict[str, Any]], plain: pl.DataFrame, possessive: pl.DataFrame) -> Any:
    """Rows of table 1: a relation of the paper and the one of the treebank that means the same."""
    names = set(plain["relation"])
    is_universal = bool(names & UNIVERSAL) and not names & STANFORD
    rows = []
    for each in told:
        frame = possessive if each.get("possessive") else plain
        known = {row["relation"]: row for row in frame.iter_rows(named=True)}
        ours = each["name"] if each["name"] in known else each.get("ud")
        row = known.get(ours) if ours is not None else None
        remarks = [each.get("remark"), each.get("mapping") if is_universal else None]
        if ours is None:
            shown = "no counterpart"
        elif row is None:
            shown = f"{ours}: fewer than 10 here"
        else:
            shown = ours
        rows.append(
            {
                "paper": each["name"],
                "paper: head": each["head"],
                "paper: accuracy": f"{each['accuracy']:.1f}",
                "paper: baseline": f"{each['baseline']:.1f} ({each['offset']:+d})",
                "this bank": shown,
                "head": ABSENT if row is None else f"{row['layer']}-{row['head']}",
                "accuracy": ABSENT if row is None else per_cent(row["accuracy"]),
                "baseline": ABSENT
                if row is None
                else f"{per_cent(row['offset_accuracy'])} ({row['offset']:+d})",
                "n": ABSENT if row is None else f"{row['n']}",
                "how far it is fair": " ".join(filter(None, remarks)),
            }
        )
    return rows


def _add_control(rows: list[dict[str, Any]], control: list[dict[str, Any]]) -> None:
    """Put what the best head of random weights finds before the remark of each row."""
    for row, other in zip(rows, control, strict=True):
        remark = row.pop("how far it is fair")
        row["random weights"] = other["accuracy"]
        row["how far it is fair"] = remark


def _models(told: list[dict[str, Any]], frame: pl.DataFrame) -> Any:
    """Rows of table 2: the rules and the best head, in the order that both have."""
    kinds = ("all", "pronoun", "proper", "nominal")
    return [
        {"paper": each["name"]}
        | {f"paper: {kind}": f"{each[kind]}" for kind in kinds}
        | {"this bank": row["model"]}
        | {kind: ABSENT if row[kind] is None else f"{row[kind]}" for kind in kinds}
        for each, row in zip(told, frame.iter_rows(named=True), strict=False)
    ]


def _probes(told: list[dict[str, Any]], frame: pl.DataFrame) -> Any:
    """Rows of table 3: the newest probe of each kind, on trained and on random weights."""
    rows = []
    for each in told:
        is_random = each.get("random", False)
        of_kind = frame.filter(
            (pl.col("kind") == each["kind"])
            & (pl.col("random_seed").is_not_null() == pl.lit(is_random))
        )
        found = of_kind.tail(1).to_dicts()
        rows.append(
            {
                "probe": each["name"],
                "paper: UAS": f"{each['uas']}",
                "UAS": per_cent(found[0]["uas"]) if found else ABSENT,
                "scored on": found[0]["test_run"] if found else ABSENT,
            }
        )
    return rows


def per_cent(share: float | None) -> str:
    """Return a share in [0, 1] as per cent with one decimal; ABSENT where there is none."""
    return ABSENT if share is None or not math.isfinite(share) else f"{100 * share:.1f}"


def _heads_over_half(column: str) -> Callable[[pl.DataFrame], str]:
    def measure(frame: pl.DataFrame) -> str:
        layers = frame.filter(pl.col(column) > 0.5)["layer"].sort().to_list()
        word = "layer" if len(layers) == 1 else "layers"
        where = f" ({word} {', '.join(map(str, layers))})" if layers else ""
        return f"{len(layers)} of {frame.height}{where}"

    return measure


def _in_the_middle(column: str) -> Callable[[pl.DataFrame], str]:
    """The mean over the heads of layers 6 to 10 of 12, or the same part of another model."""

    def measure(frame: pl.DataFrame) -> str:
        first, last = middle(_layers(frame))
        value = frame.filter(pl.col("layer").is_between(first, last))[column].mean()
        if not isinstance(value, float):
            return ABSENT
        return f"{per_cent(value)} % (layers {first} to {last} of {_layers(frame)})"

    return measure


def middle(layers: int) -> tuple[int, int]:
    """Return the first and the last layer of the part that layers 6 to 10 are of 12 layers."""
    first = max(1, math.ceil(layers * 6 / 12))
    return first, max(first, math.floor(layers * 10 / 12))


def _layers(frame: pl.DataFrame) -> int:
    return max(frame["layer"].drop_nulls().to_list(), default=1)


def _sep_gradient_late(frame: pl.DataFrame) -> str:
    start = max(2, math.ceil(_layers(frame) * 5 / 12))
    sep = frame.filter(pl.col("target").str.contains("SEP", literal=True))
    late = sep.filter(pl.col("layer") >= start)["gradient"].mean()
    early = sep.filter(pl.col("layer") < start)["gradient"].mean()
    if not isinstance(late, float) or not isinstance(early, float) or not early:
        return ABSENT
    return f"{late / early:.2f} (from layer {start} of {_layers(frame)})"


def _cls_entropy_last(frame: pl.DataFrame) -> str:
    value = frame.filter(pl.col("layer") == _layers(frame))["entropy_from_cls"].mean()
    return f"{value:.2f}" if isinstance(value, float) else ABSENT


def _layer_ratio(frame: pl.DataFrame) -> str:
    ratios = frame.filter(pl.col("layer").is_null())["ratio"].to_list()
    return f"{ratios[0]:.2f}" if ratios and ratios[0] is not None else ABSENT


MEASURES: dict[str, Callable[[pl.DataFrame], str]] = {
    "previous_heads": _heads_over_half("previous"),
    "next_heads": _heads_over_half("next"),
    "sep_in_the_middle": _in_the_middle("sep"),
    "sep_to_sep_in_the_middle": _in_the_middle("sep_to_sep"),
    "sep_gradient_late": _sep_gradient_late,
    "cls_entropy_last": _cls_entropy_last,
    "layer_ratio": _layer_ratio,
}
"""What can be said of the rows of an analysis beside a published claim."""
