"""Sentences: the hits of a request, or their counts, and one sentence with its attention."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import markupsafe
import polars as pl

from attnbank.cli.explorer.request import RequestContext, hit_of, link
from attnbank.queries.patterns import HitOptions, compile_request, head_keys, request_for_count_row
from attnbank.queries.patterns.concordance import add_context, node_columns
from attnbank.queries.pictures.sentence import Panel
from attnbank.queries.requests import run_hits, run_of_request
from attnbank.queries.sentences.choosing import (
    SentenceNotReadError,
    choose_run_over_corpus,
    find_sentence,
    sentences_of_run,
)
from attnbank.queries.sentences.showing import MOST_PANELS
from attnbank.queries.table_formats import columns_as_text, crosstab, fits_crosstab
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.names import DIRECTIONS

# The most hits on pages; the command line shows all.
MOST_HITS = 10_000
# Words left and right of a hit.
_CONTEXT = 10


def request_view(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show the form for a request, and its hits or counts."""
    request, by = context.text_parameter("pattern").strip(), context.text_parameter("by").strip()
    limit = context.number("limit", 50, 1, 500)

    def corpora() -> list[str]:
        rows = context.bank.connection.execute("select name from corpus order by id").fetchall()
        return [name for (name,) in rows]

    variables |= {
        "pattern": request,
        "corpora": context.handle.compute_once("corpora", corpora),
        "limit": limit,
        "sample": context.flag("sample"),
        "example": "pattern { V -[obj]-> O }",
    }
    if not request:
        return
    heads = "" if by else context.text_parameter("head").strip()
    keys = by or _attention_keys(request, heads)
    run = run_of_request(context.bank.backend, request, context.run_name, "sentence", keys)
    choice = HitOptions(context.text_parameter("corpus") or None, run=run)
    if by:
        variables |= _counts(context, request, choice, by)
    else:
        variables |= _hits(context, request, choice, keys, limit)
        variables["is_of_heads"] = bool(keys)
    variables["answered"] = run and run.name
    variables["command"] = context.command(
        f"{'count' if by else 'find'} {shlex.quote(request)}", by=by, head=heads if keys else "",
        run=variables["answered"], corpus=choice.corpus, limit=variables.pop("most", None),
        sample=limit if context.flag("sample") and not by else None,
    )  # fmt: skip


def _attention_keys(request: str, heads: str) -> str:
    """Columns with what heads attend to in the hits; none if the request has no edge."""
    if not heads:
        return ""
    try:
        return head_keys(request, heads, None, None)
    except CallError:  # the pages of the sentences still show the heads
        return ""


def _hits(
    context: RequestContext, request: str, choice: HitOptions, keys: str, limit: int
) -> dict[str, Any]:
    """One page of the hits, which are cached for the other pages; or a random sample."""
    most_hits, sample = (None, limit) if context.flag("sample") else (MOST_HITS + 1, None)
    choice = replace(choice, limit=most_hits, sample=sample, keys=True)
    matches = context.handle.cached_rows(
        ("hits", request, keys, choice),
        lambda: run_hits(
            context.bank.backend,
            compile_request(request, columns=keys, choice=choice),
            context.cache.seconds,
            context.cache.memory,
        ),
    ).frame
    all_rows = matches.drop("sentence").head(MOST_HITS)
    is_cut = matches.height > MOST_HITS
    total = min(matches.height, MOST_HITS)
    paging = context.paging(total, size=limit, has_more=is_cut)
    matches = paging.slice(matches)
    lines = add_context(context.bank.backend, matches.drop("run", strict=False), _CONTEXT)
    more = columns_as_text(lines.drop("sent_id", "left", "hit", "right"))
    nodes = node_columns(matches)
    default, unread = _unread_sentences(context, matches["sentence"].to_list())
    hits = []
    for at, (line, row) in enumerate(zip(lines.to_dicts(), matches.to_dicts(), strict=True)):
        href = link(
            "/sentence",
            sentence=row["sentence"],
            hit=hit_of(row, nodes),
            pattern=request,
            run=context.run_name,
            head=context.text_parameter("head"),
        )
        cells = [column.cells[at] for column in more]
        is_unread = row["sentence"] in unread
        hits.append({**line, "href": href, "is_unread": is_unread, "more": cells})
    count = sum(hit["is_unread"] for hit in hits)
    return {
        "hits": hits, "part": paging, "default": default, "unread": count, "rows": all_rows,
        "most": MOST_HITS if is_cut else None, "more": more,
    }  # fmt: skip


def _unread_sentences(context: RequestContext, sentences: list[int]) -> tuple[str | None, set[int]]:
    """The run that shows sentences, and which of them (by sentence.id) it has not read."""
    bank = context.bank
    try:
        run = choose_run_over_corpus(bank.backend, context.run_name, None, None)
    except AttnbankError:  # no suitable run; the page of the sentence says why
        return None, set()
    rows = bank.connection.execute(
        "select sentence.id from sentence inner join document on document.id = sentence.document"
        " where document.corpus = $corpus and sentence.id in (select unnest($sentences))",
        {"corpus": run.corpus, "sentences": sentences},
    ).fetchall()
    return run.name, {number for (number,) in rows} - sentences_of_run(bank.backend, run, sentences)


def _counts(context: RequestContext, request: str, choice: HitOptions, by: str) -> dict[str, Any]:
    counts = context.handle.cached_rows(
        ("counts", request, by, choice),
        lambda: run_hits(
            context.bank.backend,
            compile_request(request, columns=by, choice=choice, counts=True),
            context.cache.seconds,
            context.cache.memory,
        ),
    ).frame
    keys = [name for name in counts.columns if name not in ("n", "share", "run")]
    if fits_crosstab(counts, keys):
        return {"table": context.table(crosstab(counts, *keys)), "rows": counts}

    def link_to_hits(row: Mapping[str, Any]) -> str | None:
        """The address of the hits that a count is made of."""
        with suppress(AttnbankError):
            narrowed = request_for_count_row(request, by, [row[key] for key in keys])
            return link("/sentences", pattern=narrowed, run=context.run_name,
                        corpus=context.text_parameter("corpus"))  # fmt: skip
        return None

    links = {"n": link_to_hits} if context.is_live else {}
    return {"table": context.table(counts, links), "rows": counts}


# Smallest weights of the classes of lines in a small map.
_BINS = ((0.05, 1), (0.15, 2), (0.4, 3), (0.7, 4))
_WIDE, _STEP, _HIGHEST = 84.0, 5.0, 150.0


def small_map(panel: Panel, measure: str) -> dict[str, Any]:
    """A panel as a small map: its height, and a path for the lines of each class of weights."""
    places = {position: at for at, position in enumerate(panel.words["position"])}
    step = min(_STEP, _HIGHEST / max(1, len(places)))
    paths: dict[int, list[str]] = {}
    largest = panel.largest(measure)
    for start, end, weight in panel.weights.rows():
        share = (weight or 0.0) / largest
        kinds = [kind for least, kind in _BINS if share >= least]
        if kinds and start in places and end in places:
            y1, y2 = ((places[position] + 0.5) * step for position in (start, end))
            paths.setdefault(kinds[-1], []).append(f"M2 {y1:.1f}L{_WIDE - 2:.0f} {y2:.1f}")
    lines = [("".join(parts), f"w{kind}") for kind, parts in sorted(paths.items())]
    return {"name": panel.heads_label, "wide": _WIDE, "high": len(places) * step, "lines": lines}


def model_view(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show all heads on one sentence as small maps that link to their heads."""
    name = context.text_parameter("sentence").strip()
    variables |= {"sentence": name}
    if not name:
        return
    with context.bank.backend.answering():
        chosen = find_sentence(context.bank.backend, name, None)
        run = choose_run_over_corpus(
            context.bank.backend, context.run_name, None, (chosen.corpus, chosen.corpus_name)
        )
    heads = [f"{layer}-{head}" for layer in run.numbers for head in range(1, run.heads + 1)]
    views = [
        context.bank.show(
            name, heads[at : at + MOST_PANELS], run=run.name, timeout=context.cache.seconds
        )
        for at in range(0, len(heads), MOST_PANELS)
    ]
    maps = {
        panel.heads_label: small_map(panel, view.facts.measure)
        for view in views
        for panel in view.panels
    }
    variables |= {
        "answered": run.name,
        "title": f"All heads on {name[:60]}",
        "layers": [
            (layer, [maps[f"{layer}-{head}"] for head in range(1, run.heads + 1)])
            for layer in run.numbers
        ],
        "to_head": lambda head: link("/sentence", sentence=name, head=head, run=run.name),
        "words": _marked_words(context, chosen.id, []),
        "around": _neighbour_links(context, chosen.id),
        "rows": pl.concat(view.rows for view in views),
        # One command cannot show more heads than that.
        "command": len(views) == 1
        and context.command(f"show {shlex.quote(name)}", head=",".join(heads), run=run.name),
    }


_MOST_PANELS = 16


def sentence_view(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show the sentence in the address, or the form for one."""
    name, heads = context.text_parameter("sentence").strip(), context.text_parameter("head").strip()
    relation = context.text_parameter("relation") or None
    options: dict[str, Any] = {
        "mean": context.flag("mean"),
        "direction": context.choice_parameter("direction", DIRECTIONS),
        "coreference": context.flag("coreference"),
        "tree": context.flag("tree"),
        "decoded": context.text_parameter("decoded") or None,
        "special": not context.flag("plain"),
        "before": context.number("before", 0, 0, 20),
    }
    variables |= {"sentence": name, "heads": heads, "relation": relation, **options}
    if not name:
        return
    variables |= {"title": f"Sentence {name[:60]}"}
    variables["heads"] = heads = heads or _default_head(context, relation)
    try:
        view = context.bank.show(
            name,
            heads.split(",")[:_MOST_PANELS],
            run=context.run_name,
            corpus=context.text_parameter("corpus") or None,
            relation=relation,
            matched=_words_to_mark(name, context.text_parameter("hit")),
            timeout=context.cache.seconds,
            **options,
        )
    except (
        SentenceNotReadError
    ) as error:  # the run has no attention for it, but its words can be shown
        number = error.sentence
        marked: Collection[int] = _words_to_mark(str(number), context.text_parameter("hit"))
        variables["unread"] = error
    else:
        number, marked = next(iter(view.marked.items()))
        rows = {
            "head": ",".join(heads.split(",")[:_MOST_PANELS]),
            "run": view.run.name, "corpus": context.text_parameter("corpus"), "relation": relation,
            "direction": options["direction"] if relation else None,
            "mean": options["mean"], "no_special": not options["special"],
        }  # fmt: skip
        variables |= {
            # The picture escapes every word itself, since it is also written to files. The browser
            # ignores inline styles in its tree; the style sheet of the pages has them.
            "drawn": markupsafe.Markup(view.draw("light")),
            "table": context.table(view.rows, {"sent_id": lambda row: None}),
            "answered": view.run.name,
            "rows": view.rows,
            "figure": view.as_bytes,
            "command": context.command(f"show {shlex.quote(name)}", **rows),
            "plot_command": context.command(
                f"show {shlex.quote(name)}", **rows,
                coreference=options["coreference"], tree=options["tree"],
                decoded=options["decoded"], before=options["before"], output="sentence.svg",
            ),
        }  # fmt: skip
    variables |= {
        "words": _marked_words(context, number, marked),
        "around": _neighbour_links(context, number),
    }


def _words_to_mark(name: str, hit: str) -> list[int]:
    """Parse the words to mark, SENTENCE:WORDS (12:3,5), if they are of the sentence `name`.

    SENTENCE is its id; words count from 1. Raises CallError for anything else.
    """
    number, _, words = hit.partition(":")
    indexes = words.split(",")
    if not hit:
        return []
    if not all(
        number_text.isascii() and number_text.isdecimal() for number_text in (number, *indexes)
    ):
        raise CallError(f"hit cannot be {hit[:40]}.", "A hit is SENTENCE:WORDS, as in 12:3,5.")
    return [int(number_text[:9]) for number_text in indexes] if number == name else []


def _marked_words(
    context: RequestContext, number: int, marked: Collection[int]
) -> list[tuple[str, bool]]:
    """The text of a sentence in parts, each with whether it is marked."""
    words = context.bank.backend.internal("sentences/words", sentence=number)
    parts: list[tuple[str, bool]] = []
    for form, index, space_after in words.iter_rows():
        parts.append((form, index in marked))
        if space_after:
            parts.append((" ", False))
    return parts


def _default_head(context: RequestContext, relation: str | None) -> str:
    """The default head: the best for the relation, else 1-1."""
    try:
        best_heads = context.query("best_head", run=context.run_name).frame  # may be cached
        rows = best_heads.filter(pl.col("relation") == (relation or "all"))
        if relation and not rows.height:
            rows = context.query(
                "best_head", relation=relation, min_count=1, run=context.run_name
            ).frame
    except AttnbankError:
        return "1-1"
    return f"{rows['layer'][0]}-{rows['head'][0]}" if rows.height else "1-1"


def _neighbour_links(context: RequestContext, number: int) -> list[str | None]:
    """The addresses of the sentences before and after this one; they keep the other parameters."""
    neighbours = context.bank.connection.execute(
        "select max(sentence.id) filter (where sentence.id < $id),"
        " min(sentence.id) filter (where sentence.id > $id) from sentence",
        {"id": number},
    ).fetchall()[0]
    parameters = {
        name: value
        for name, value in context.parameters.items()
        if name not in ("sentence", "page")
    }
    return [
        None if neighbour is None else link("/sentence", sentence=neighbour, **parameters)
        for neighbour in neighbours
    ]
