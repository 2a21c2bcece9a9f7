"""Requests in Grew's language, compiled in a browser by the package's own compiler, text to text.

It runs where there is no DuckDB; what it must know of the runs stands in what it is given.
"""

from __future__ import annotations

import json
from typing import Any

from attnbank.queries.patterns import HitOptions, RequestError, run_request
from attnbank.queries.patterns.language import syntax
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.run_choice import Run
from attnbank.sql.suggest import unknown_name


def compiled(asked: str) -> str:
    """The statement of a request, or what is wrong with it: JSON from JSON.

    Given are `bank` (its name), `request`, `by` (keys to count by, or nothing), `corpus`, `limit`,
    `sample`, `run` (a name or an id, or nothing), `runs` (what a Run has, and `keep`) and `usual`:
    the id of the run that answers for `attention`, `weights` and `surprisal`, null where none does.
    """
    try:
        return json.dumps(_compiled(json.loads(asked)))
    except RequestError as error:
        return json.dumps({"error": {"fact": str(error), "remedy": ""}})
    except AttnbankError as error:
        return json.dumps({"error": {"fact": error.fact, "remedy": error.remedy}})


def _compiled(asked: dict[str, Any]) -> dict[str, Any]:
    request, by = asked["request"], asked.get("by") or ""
    run = _run_of_published_request(asked, request, by)
    choice = HitOptions(
        asked.get("corpus"), asked.get("limit"), asked.get("sample"), keys=not by, run=run
    )
    found = run_request.question(request, columns=by, choice=choice, counts=bool(by))
    keys = list(dict.fromkeys(map(str, found.checked.keys)))
    first = found.checked.keys[0] if found.checked.keys else None
    return {
        "statement": found.statement,
        "nodes": list(found.checked.pattern.nodes),
        "keys": keys,
        "by_interval": isinstance(first, syntax.Interval),
        "run": None if run is None else run.name,
    }


def _run_of_published_request(asked: dict[str, Any], request: str, by: str) -> Run | None:
    """The run that the request reads; None if it reads none. Raises CallError as `find` does."""
    checked = run_request.resolved(request, by)
    if not checked.reads_run():
        return None
    runs = {each["id"]: each for each in asked["runs"]}
    about = "weights" if checked.reads_weights() else "attention"
    about = about if checked.attention() else "surprisal"
    if asked.get("run"):
        named = (each for each in runs.values() if asked["run"] in (each["name"], str(each["id"])))
        facts = next(named, None)
        if facts is None:
            names = [row["name"] for row in runs.values()]
            raise unknown_name("run", asked["run"], asked["bank"], names)
    else:
        facts = runs.get(asked["usual"][about])
        if facts is None:
            raise CallError(
                f"No run of this bank answers requests about {about}.", "Choose another request."
            )
    if about == "weights" and facts["keep"] == "peaks":
        raise CallError(
            f"The run {facts['name']} has no weights here, only its peaks and sums.",
            "Ask without a threshold: A =[3-1]=> B.",
        )
    if about == "weights" and facts["largest"] is not None:
        raise CallError(
            f"The run {facts['name']} keeps the {facts['largest']} largest weights, and this page"
            " cannot tell whether they suffice.",
            "Ask attnbank find, which can.",
        )
    fields = {name: facts[name] for name in Run.__dataclass_fields__ if name in facts}
    if fields.get("numbered"):
        fields["numbered"] = tuple(fields["numbered"])
    return Run(**fields)
