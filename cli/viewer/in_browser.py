"""Compile requests in the browser, with the package's own compiler, from JSON to JSON.

There is no DuckDB here: what the compiler needs to know of the runs is in its input.
"""

from __future__ import annotations

import json
from typing import Any

from attnbank.queries.patterns import (
    CompiledRequest,
    HitOptions,
    RequestError,
    pair_to_score,
    run_request,
    syntax,
)
from attnbank.queries.patterns.select import check_ends, compile_pairs
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.messages import unknown_name
from attnbank.sql.run_choice import Run


def compiled(request_json: str) -> str:
    """Compile a request to a statement; return that, or the error, as JSON.

    The input has `bank` (its name), `request`, `by` (keys to count by, or nothing), `corpus`,
    `limit`, `sample`, `run` (a name or an id, or nothing), `runs` (the fields of Run, and
    `keep`) and `usual`: the id of the default run for `attention`, `weights` and `surprisal`,
    or null. With `dependent` and `head`, two nodes, the statement finds pairs of words.
    """
    try:
        return json.dumps(_compiled(json.loads(request_json)))
    except RequestError as error:
        return json.dumps({"error": {"fact": str(error), "remedy": ""}})
    except AttnbankError as error:
        return json.dumps({"error": {"fact": error.fact, "remedy": error.remedy}})


def _compiled(options: dict[str, Any]) -> dict[str, Any]:
    request, by = options["request"], options.get("by") or ""
    run = _run_of_published_request(options, request, by)
    choice = HitOptions(
        options.get("corpus"), options.get("limit"), options.get("sample"), keys=not by, run=run
    )
    if options.get("dependent"):
        return _compiled_pairs(options, request, choice)
    question = run_request.compile_request(request, columns=by, choice=choice, counts=bool(by))
    return compiled_record(request, question)


def compiled_record(request: str, question: CompiledRequest) -> dict[str, Any]:
    """What a page reads of a compiled request."""
    keys = list(dict.fromkeys(map(str, question.resolved.keys)))
    first = question.resolved.keys[0] if question.resolved.keys else None
    run = question.choice.run
    return {
        "statement": question.statement,
        "nodes": list(question.resolved.pattern.nodes),
        "pair": pair_to_score(request),
        "keys": keys,
        "by_interval": isinstance(first, syntax.Interval),
        "run": None if run is None else run.name,
        "is_circular": bool(question.resolved.attention()),
    }


def _compiled_pairs(options: dict[str, Any], request: str, choice: HitOptions) -> dict[str, Any]:
    ends = options["dependent"], options["head"]
    checked = run_request.resolve_with_options(request, "", "", choice)
    check_ends(checked.pattern.nodes, *ends)
    return {
        "statement": compile_pairs(checked, choice, *ends),
        "is_circular": bool(checked.attention()),
        "is_selected": checked.reads_surprisal(),
    }


def _run_of_published_request(options: dict[str, Any], request: str, by: str) -> Run | None:
    """The run that the request reads; None if it reads none. Raises CallError."""
    checked = run_request.parse_and_resolve(request, by)
    if not checked.reads_run():
        return None
    runs = {run_facts["id"]: run_facts for run_facts in options["runs"]}
    about = "weights" if checked.reads_weights() else "attention"
    about = about if checked.attention() else "surprisal"
    if options.get("run"):
        matches = (
            run_facts
            for run_facts in runs.values()
            if options["run"] in (run_facts["name"], str(run_facts["id"]))
        )
        facts = next(matches, None)
        if facts is None:
            names = [row["name"] for row in runs.values()]
            raise unknown_name("run", options["run"], options["bank"], names)
    else:
        facts = runs.get(options["usual"][about])
        if facts is None:
            raise CallError(
                f"No run of this bank is suitable for requests about {about}.",
                "Use another request.",
            )
    if about == "weights" and facts["keep"] == "peaks":
        raise CallError(
            f"The run {facts['name']} has no weights here, only its peaks and sums.",
            "Leave the threshold out: A =[3-1]=> B.",
        )
    if about == "weights" and facts["largest"] is not None:
        raise CallError(
            f"The run {facts['name']} keeps the {facts['largest']} largest weights, and this page"
            " cannot tell whether they suffice.",
            "Run this request with: attnbank find.",
        )
    fields = {name: facts[name] for name in Run.__dataclass_fields__ if name in facts}
    if fields.get("numbered"):
        fields["numbered"] = tuple(fields["numbered"])
    return Run(**fields)
