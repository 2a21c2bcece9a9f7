"""The picture of the README: a request, the head that finds it, and where that head looks.

Its numbers are those of gum-dev (UD English GUM) read by the packaged model, beside a random
control: `python docs/make.py --hero gum.duckdb` draws it for a light and a dark ground.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from attnbank.cli.viewer import records
from attnbank.queries import Bank, open_bank
from attnbank.queries.pictures.rendering import text_width
from attnbank.sql.header import RunChoice
from attnbank.sql.run_choice import chosen_run

REQUEST = "pattern { V -[obj]-> O }"
FOUND, MISSED = "GUM_textbook_governments-26", "GUM_bio_byron-8"
WIDE, HIGH = 1200, 500


class Ground(NamedTuple):
    """Colours on a light or a dark ground; `scale` is from no accuracy to all."""

    back: str
    ink: str
    faint: str
    rule: str
    gold: str
    wrong: str
    card: str
    scale: tuple[str, str]


GROUNDS = {
    "light": Ground("#ffffff", "#1b1b1b", "#5f6368", "#d7d9dc", "#0b4f8a", "#b24c00", "#1f2430",
                    ("#eef4fb", "#08306b")),
    "dark": Ground("#15171b", "#ececec", "#a9adb3", "#3a3e46", "#8fd0f5", "#ffab70", "#262b36",
                   ("#22303f", "#8fd0f5")),
}  # fmt: skip


def heroes(bank: Path) -> dict[str, str]:
    """The picture for each ground, by name of file below docs/."""
    with open_bank(bank) as opened:
        facts = facts_of(opened)
    return {f"pictures/hero.{name}.svg": drawn(facts, ground) for name, ground in GROUNDS.items()}


def facts_of(bank: Bank) -> dict[str, Any]:
    """Every number of the picture, as the commands give them."""
    run = bank.run_of("best_head")
    assert run is not None
    (control,) = (name for name in bank.runs()["name"] if name.startswith(f"{run.name}-random"))
    every = bank.score(REQUEST, dependent="O", head="V", every=True, run=run.name)
    best = bank.score(REQUEST, dependent="O", head="V", run=run.name).row(0, named=True)
    layer, head = best["layer"], best["head"]
    random = bank.score(REQUEST, dependent="O", head="V", every=True, run=control)
    same = random.filter(layer=layer, head=head, direction=best["direction"])
    is_found = f"{{ O =[{layer}-{head}]=> V }}"
    by_side = {
        (row[is_found], row["{ V << O }"]): row["n"]
        for row in bank.count(REQUEST, by=f"{is_found},{{ V << O }}", run=run.name).to_dicts()
    }
    return {
        "best": best, "random": same["accuracy"][0],
        "grid": {
            (row["layer"], row["head"]): row["accuracy"]
            for row in every.filter(direction=best["direction"]).to_dicts()
        },
        "candidates": every.height,
        "sides": {
            side: (by_side.get((True, is_after), 0), by_side.get((False, is_after), 0))
            for side, is_after in (("after", True), ("before", False))
        },
        "sentences": [_sentence(bank, run, name, layer, head) for name in (FOUND, MISSED)],
        "corpus": bank.info().corpora.row(0, named=True),
    }  # fmt: skip


def _sentence(bank: Bank, run: Any, name: str, layer: int, head: int) -> dict[str, Any]:
    """The words of a sentence with their positions, and the weights and peak of its object."""
    statement = "select id from sentence where name = $name"
    ((sentence,),) = bank.connection.execute(statement, {"name": name}).fetchall()
    record = records.sentence_record(
        bank, chosen_run(bank.connection, RunChoice(), run.name), sentence, [(layer, head)]
    )
    rows = bank.find(REQUEST, context=False)
    rows = rows.filter(sent_id=name)
    words = [
        (position, text, index)
        for position, text, own, index, *_ in record["positions"]
        if own == sentence
    ]
    at = {index: position for position, _, index in words}
    verb, dependent = at[rows["V"][0]], at[rows["O"][0]]
    weights = {line["from_position"]: line["weights"] for line in record["maps"]}
    peak = next(line["most_attended"] for line in record["peaks"] if line["position"] == dependent)
    return {"words": words, "dependent": dependent, "gold": verb, "peak": peak, "weights": weights}


def drawn(facts: dict[str, Any], ground: Ground) -> str:
    """The picture as SVG."""
    best = facts["best"]
    head = f"{best['layer']}-{best['head']}"
    corpus = facts["corpus"]
    parts = [
        f'<rect width="{WIDE}" height="{HIGH}" fill="{ground.back}"/>',
        _text(30, 44, f"Head {head} finds direct objects, and you can ask where it fails.", 23,
              ground.ink, bold=True),
        *_ask(facts, ground), *_heads(facts, ground), *_looks(facts, ground),
        _text(30, HIGH - 18, f"minilm on UD English GUM dev: {corpus['sentences']} sentences in one"
              " DuckDB file. Every number is one SQL statement.", 13, ground.faint),
    ]  # fmt: skip
    title = f"Head {head} of a small BERT finds {best['accuracy']:.0%} of direct objects"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDE}" height="{HIGH}"'
        f' viewBox="0 0 {WIDE} {HIGH}" role="img" font-family="\'Liberation Sans\', Arial,'
        f' Helvetica, sans-serif"><title>{title}</title>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _ask(facts: dict[str, Any], ground: Ground) -> list[str]:
    """A request, as one types it."""
    lines = ("$ attnbank score \\", "    'pattern { V -[obj]-> O }' \\", "    --from O --to V")
    code = [
        f'<text x="48" y="{136 + 24 * at}" font-family="\'Liberation Mono\', monospace"'
        f' font-size="14.5" fill="#f2f2f2" xml:space="preserve">{escape(line)}</text>'
        for at, line in enumerate(lines)
    ]
    after, before = facts["sides"]["after"], facts["sides"]["before"]
    rows = [("object after the verb", *after), ("object before it", *before)]
    bars = []
    for at, (label, right, wrong) in enumerate(rows):
        y, share = 372 + 50 * at, right / (right + wrong)
        bars += [
            _text(30, y, label, 14, ground.ink),
            f'<rect x="30" y="{y + 8}" width="300" height="12" rx="2" fill="{ground.rule}"/>',
            f'<rect x="30" y="{y + 8}" width="{300 * share:.1f}" height="12" rx="2"'
            f' fill="{ground.gold}"/>',
            _text(330, y, f"{right} of {right + wrong} found", 14, ground.ink, anchor="end"),
        ]
    return [
        _text(30, 92, "1  Ask", 17, ground.ink, bold=True),
        f'<rect x="30" y="108" width="320" height="92" rx="8" fill="{ground.card}"/>',
        *code,
        _text(30, 226, f"{facts['candidates']} heads and directions, {facts['best']['n']} objects",
              14, ground.faint),
        _text(30, 292, "4  Where it fails", 17, ground.ink, bold=True),
        _text(30, 318, "attnbank count ... --by '{ O =[3-1]=> V },{ V << O }'", 12.5,
              ground.faint),
        *bars,
    ]  # fmt: skip


def _heads(facts: dict[str, Any], ground: Ground) -> list[str]:
    """The grid of all heads, and the best one on a line from 0 to 100 %."""
    grid, best = facts["grid"], facts["best"]
    left, top, size = 420, 112, 25
    parts = [_text(left, 92, "2  Which head", 17, ground.ink, bold=True)]
    winner = best["layer"], best["head"]
    for (layer, head), accuracy in grid.items():
        x, y = left + (head - 1) * size, top + (layer - 1) * size
        colour = _mixed(*ground.scale, accuracy)
        edge = f' stroke="{ground.ink}" stroke-width="2"' if (layer, head) == winner else ""
        parts.append(f'<rect x="{x}" y="{y}" width="{size - 2}" height="{size - 2}" rx="2"'
                     f' fill="{colour}"{edge}/>')  # fmt: skip
    rows = max(layer for layer, _ in grid)
    parts.append(_text(left, top + rows * size + 18,
                       f"Accuracy of each head; rows are layers. Best: {winner[0]}-{winner[1]}.",
                       13, ground.faint))  # fmt: skip
    y, wide = top + rows * size + 78, 300

    def x_of(share: float) -> float:
        return left + wide * share

    marks = (
        ("random weights", facts["random"], f'r="5" fill="none" stroke="{ground.faint}"', 40),
        ("held out", best["held_out_accuracy"], f'r="4" fill="{ground.wrong}"', 40),
    )
    parts.append(f'<line x1="{left}" x2="{left + wide}" y1="{y}" y2="{y}" stroke="{ground.rule}"/>')
    parts += [_text(x_of(at), y + 20, f"{at:.0%}", 12, ground.faint, anchor="middle")
              for at in (0.0, 0.5, 1.0)]  # fmt: skip
    offset = best["offset_accuracy"]
    parts.append(f'<line x1="{x_of(offset):.1f}" x2="{x_of(offset):.1f}" y1="{y - 11}" y2="{y + 6}"'
                 f' stroke="{ground.faint}" stroke-width="3"/>')  # fmt: skip
    parts.append(_text(x_of(offset), y - 17, f"best fixed offset {offset:.0%}", 13, ground.ink,
                       anchor="middle"))  # fmt: skip
    low, high, accuracy = best["low"], best["high"], best["accuracy"]
    parts.append(f'<line x1="{x_of(low):.1f}" x2="{x_of(high):.1f}" y1="{y}" y2="{y}"'
                 f' stroke="{ground.gold}" stroke-width="4"/>')  # fmt: skip
    for label, share, look, below in marks:
        parts.append(f'<circle cx="{x_of(share):.1f}" cy="{y}" {look}/>')
        parts.append(_text(x_of(share), y + below, f"{label} {share:.0%}", 13, ground.ink,
                           anchor="middle" if label == "held out" else "start"))  # fmt: skip
    parts.append(f'<circle cx="{x_of(accuracy):.1f}" cy="{y}" r="7" fill="{ground.gold}"/>')
    parts.append(_text(x_of(accuracy), y - 35, f"head {winner[0]}-{winner[1]}: {accuracy:.0%}"
                       f" ({low:.0%} to {high:.0%})", 14, ground.gold, anchor="middle",
                       bold=True))  # fmt: skip
    return parts


def _looks(facts: dict[str, Any], ground: Ground) -> list[str]:
    """Two sentences as lines of words, one found and one missed, with the head's arcs above."""
    parts = [_text(780, 92, "3  Where it looks", 17, ground.ink, bold=True)]
    for sentence, top in zip(facts["sentences"], (100, 275), strict=True):
        parts += _arcs(sentence, 780, top, ground)
    return parts


def _arcs(sentence: dict[str, Any], left: float, top: float, ground: Ground) -> list[str]:
    dependent, gold, peak = sentence["dependent"], sentence["gold"], sentence["peak"]
    marked = [dependent, gold, peak]
    shown = [word for word in sentence["words"]
             if min(marked) - 3 <= word[0] <= max(marked) + 2]  # fmt: skip
    base, x = top + 120, left
    middles: dict[int, float] = {}
    words = []
    for position, text, _ in shown:
        wide = text_width(text, 16)
        if x + wide > WIDE - 20:
            break
        look = {peak: ground.wrong, gold: ground.gold, dependent: ground.ink}
        if position in look:
            words.append(
                f'<rect x="{x - 3:.1f}" y="{base - 17}" width="{wide + 6:.1f}" height="24" rx="3"'
                f' fill="none" stroke="{look[position]}" stroke-width="1.6"/>'
            )
        words.append(_text(x, base, text, 16, ground.ink))
        middles[position] = x + wide / 2
        x += wide + 9
    lines = []
    for start, weights in sentence["weights"].items():
        for end, weight in enumerate(weights):
            if start in middles and end in middles and start != end and (weight or 0) >= 0.1:
                lines.append(
                    _arc(middles[start], middles[end], base, ground.rule, 1.5 * weight + 0.6)
                )
    is_found = peak == gold
    weight = sentence["weights"][dependent]
    thickness = 4.0 if is_found else 1.6
    lines.append(_arc(middles[dependent], middles[gold], base, ground.gold, thickness,
                      dashed=not is_found, label=f"{weight[gold]:.3f}"))  # fmt: skip
    if not is_found:
        lines.append(_arc(middles[dependent], middles[peak], base, ground.wrong, 3.0,
                          label=f"{weight[peak]:.2f}"))  # fmt: skip
    text = "found" if is_found else "missed: it looks at another word"
    marks = {True: ground.gold, False: ground.wrong}
    return [*lines, *words,
            _text(left, base + 30, text, 14, marks[is_found])]  # fmt: skip


def _arc(
    start: float, end: float, base: float, colour: str, wide: float, *, dashed: bool = False,
    label: str = "",
) -> str:  # fmt: skip
    high = min(95.0, 22 + 0.3 * abs(end - start))
    top = base - 20
    dash = ' stroke-dasharray="3 5"' if dashed else ""
    path = (
        f'<path d="M{start:.1f} {top}C{start:.1f} {top - high:.1f} {end:.1f} {top - high:.1f}'
        f' {end:.1f} {top}" fill="none" stroke="{colour}" stroke-width="{wide:.1f}"{dash}/>'
    )
    if not label:
        return path
    return path + _text(
        (start + end) / 2, top - 0.75 * high - 5, label, 13, colour, anchor="middle"
    )


def _text(
    x: float, y: float, text: str, size: float, colour: str, *, bold: bool = False,
    anchor: str = "start",
) -> str:  # fmt: skip
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"'
        f"{weight}>{escape(text)}</text>"
    )


def _mixed(start: str, end: str, share: float) -> str:
    parts = (
        round(int(start[at : at + 2], 16) * (1 - share) + int(end[at : at + 2], 16) * share)
        for at in (1, 3, 5)
    )
    return "#{:02x}{:02x}{:02x}".format(*parts)
