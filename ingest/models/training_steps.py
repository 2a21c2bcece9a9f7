"""Finds the checkpoints of a training, and their steps.

A checkpoint is a subfolder, or a branch of a model of the hub. Its name has the step, and sometimes
the number of tokens that the model had seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from attnbank.ingest.inputs.planning import SharedPlans
from attnbank.ingest.models.files import translate_loading_errors
from attnbank.sql.errors import CallError

_TIMES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_STEP = re.compile(
    r"(?:^|[^a-z])(?:step|checkpoint|ckpt|iter(?:ation)?)[-_]?(\d+(?:\.\d+)?)([km]?)(?![\da-z.])",
    re.IGNORECASE,
)
_TOKENS = re.compile(
    r"(?:^|[^a-z])(?:tokens?[-_]?(\d+(?:\.\d+)?)([kmbt]?)|(\d+(?:\.\d+)?)([kmbt]?)[-_]?tokens?)"
    r"(?![\da-z.])",
    re.IGNORECASE,
)
_MOST = 2**63 - 1  # the largest step or number of tokens: the columns are BIGINT


@dataclass(frozen=True)
class Checkpoint:
    """A model at a step of its training: its name to load, and the step and tokens in it."""

    name: str
    step: int
    tokens_seen: int | None
    revision: str | None = None


def step_of(name: str) -> tuple[int, int | None] | None:
    """Return the step in a name, and the tokens seen if it has them; None without a step.

    Names are those of transformers (checkpoint-2000), Pythia (step143000), MultiBERTs
    (seed_0-step_20k) and OLMo (stage1-step10000-tokens21B).
    """
    match = _STEP.search(name)
    if match is None or (step := _number(match[1], match[2])) > _MOST:
        return None
    seen = _TOKENS.search(name)
    if seen is None:
        return step, None
    tokens = _number(seen[1] or seen[3], seen[2] or seen[4] or "")
    return step, tokens if tokens <= _MOST else None


def _number(digits: str, unit: str) -> int:
    return round(float(digits) * _TIMES[unit.lower()]) if "." in digits or unit else int(digits)


def find_checkpoints(model: str, pattern: str) -> list[Checkpoint]:
    """Return the checkpoints of a model whose names match a pattern, by step.

    Raises CallError if none matches, if one has no step in its name, or two have the same step.
    """
    is_folder = Path(model).is_dir()
    if is_folder:
        names = [path.name for path in Path(model).iterdir() if (path / "config.json").is_file()]
    else:
        from huggingface_hub import HfApi

        with translate_loading_errors(model):
            refs = HfApi().list_repo_refs(model)
        names = [ref.name for ref in (*refs.branches, *refs.tags)]
    matching = sorted(name for name in names if fnmatchcase(name, pattern))
    what = "folder" if is_folder else "branch"
    if not matching:
        has = ", ".join(sorted(names)[:5]) or "none"
        raise CallError(
            f"No {what} of {model} that has a model matches {pattern!r}; it has: {has}.",
            "Use another pattern (--series 'step*'), or another --model.",
        )
    by_step: dict[int, Checkpoint] = {}
    for name in matching:
        step_and_tokens = step_of(name)
        if step_and_tokens is None:
            raise CallError(
                f"The name of the {what} {name} has no step number.",
                "Use a --series pattern that does not match it, or rename it to step1000.",
            )
        if step_and_tokens[0] in by_step:
            earlier = by_step[step_and_tokens[0]]
            raise CallError(
                f"{earlier.revision or Path(earlier.name).name} and {name} have the same step.",
                "Use a --series pattern that matches only one of them.",
            )
        path, revision = (str(Path(model, name)), None) if is_folder else (model, name)
        by_step[step_and_tokens[0]] = Checkpoint(path, *step_and_tokens, revision=revision)
    return [by_step[step] for step in sorted(by_step)]


@dataclass
class Series:
    """The state that the runs of a series share.

    `left` is the number of checkpoints from the current one on. Before the first new run,
    `on_estimate` is called with the bytes of all of these, and of their peaks and sums alone.
    """

    name: str
    left: int
    on_estimate: Callable[[int, int], None]
    checkpoint: Checkpoint | None = None
    plans: SharedPlans = field(default_factory=dict)
    has_estimate: bool = False
