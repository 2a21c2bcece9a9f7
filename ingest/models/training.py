"""The checkpoints of a training: which there are, and at which step.

A checkpoint is a folder of a folder, or a branch of a model of the hub. Its step, and sometimes how
many tokens the model had seen, are in its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from attnbank.ingest.inputs.plan import SharedPlans
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
_MOST = 2**63 - 1
"""The largest step or number of tokens: the columns are BIGINT."""


@dataclass(frozen=True)
class Checkpoint:
    """A model at a step of its training: what it is loaded by, and what its name says."""

    name: str
    step: int
    tokens_seen: int | None
    revision: str | None = None


def step_of(name: str) -> tuple[int, int | None] | None:
    """The step that a name tells, and the tokens seen if it tells them; None without a step.

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


def checkpoints(model: str, pattern: str) -> list[Checkpoint]:
    """The checkpoints of a model whose names fit a pattern, by step.

    Raises CallError where none fits, one has no step in its name, or two have the same one.
    """
    is_folder = Path(model).is_dir()
    names = _folders(Path(model)) if is_folder else _branches(model)
    fitting = sorted(name for name in names if fnmatchcase(name, pattern))
    what = "folder" if is_folder else "branch"
    if not fitting:
        has = ", ".join(sorted(names)[:5]) or "none"
        raise CallError(
            f"No {what} of {model} with a model fits {pattern!r}; there is: {has}.",
            "Give another pattern (--series 'step*'), or another --model.",
        )
    by_step: dict[int, Checkpoint] = {}
    for name in fitting:
        step_and_tokens = step_of(name)
        if step_and_tokens is None:
            raise CallError(
                f"The name of the {what} {name} tells no step.",
                "Give a pattern that leaves it out, or call it step1000 or checkpoint-1000.",
            )
        if step_and_tokens[0] in by_step:
            earlier = by_step[step_and_tokens[0]]
            raise CallError(
                f"{earlier.revision or Path(earlier.name).name} and {name} are of the same step.",
                "Give a pattern that only one of them fits.",
            )
        place = (str(Path(model, name)), None) if is_folder else (model, name)
        by_step[step_and_tokens[0]] = Checkpoint(place[0], *step_and_tokens, revision=place[1])
    return [by_step[step] for step in sorted(by_step)]


def _folders(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if (path / "config.json").is_file()]


def _branches(model: str) -> list[str]:
    from huggingface_hub import HfApi

    with translate_loading_errors(model):
        refs = HfApi().list_repo_refs(model)
    return [ref.name for ref in (*refs.branches, *refs.tags)]


@dataclass
class Series:
    """What the runs of a series share: the plan of the batches, and who is told their size first.

    `left` counts the checkpoints from this one on. `tell` is given the bytes of their runs, and of
    their peaks and sums alone, before the first that is made.
    """

    name: str
    left: int
    on_estimate: Callable[[int, int], None]
    checkpoint: Checkpoint | None = None
    plans: SharedPlans = field(default_factory=dict)
    has_estimate: bool = False
