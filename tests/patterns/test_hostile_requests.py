"""Hostile requests end in a clear error or in time, and the bank is as it was."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import time
from pathlib import Path

import pytest

from attnbank.cli.app import run_command_line
from attnbank.queries import open_bank
from attnbank.queries.patterns import compile_request
from attnbank.sql.errors import AttnbankError

SECONDS = 2.0
SLACK = 25.0
"""Processor seconds beside the time that a request is given: planning, which counts."""

WORDS = "|".join(f"w{number}" for number in range(20_000))
HOSTILE = {
    "50 nodes": f"pattern {{ {'; '.join(f'N{number} []' for number in range(50))} }}",
    "61 nodes": f"pattern {{ {'; '.join(f'N{number} []' for number in range(61))} }}",
    "a chain of 59 edges": "pattern { "
    + "; ".join(f"N{number} -> N{number + 1}" for number in range(59)) + " }",
    "a chain of orders": "pattern { "
    + "; ".join(f"N{number} []; N{number} << N{number + 1}" for number in range(9)) + "; N9 [] }",
    "40 withouts": "pattern { V [upos=VERB] }" + " without { V -> X; X [upos=NOUN] }" * 40,
    "a huge alternation": f"pattern {{ A [lemma={WORDS}] }}",
    "a huge expression": f"pattern {{ A [lemma=/{WORDS[:60_000]}/] }}",
    "many features": f"pattern {{ A [{', '.join(f'F{number}=x' for number in range(300))}] }}",
    "many alternatives": f"pattern {{ A {'|'.join('[upos=NOUN, Case]' for _ in range(500))} }}",
    "many tests": f"pattern {{ A [{', '.join('upos<>VERB' for _ in range(3000))}] }}",
    "brackets": "pattern { A " + "[" * 1000,
    "braces": "pattern " + "{" * 1000,
    "blocks": "pattern { A [] }" * 3000,
    "a long name": f"pattern {{ {'A' * 50_000} [upos=NOUN] }}",
    "a huge number": "pattern { A -> B; delta(A, B) > " + "9" * 5000 + " }",
    "a huge head": f"pattern {{ A =[{'9' * 5000}-1]=> B }}",
    "a huge threshold": f"pattern {{ A =[1-1 > {'9' * 5000}]=> B }}",
    "every pair": "pattern { A []; B []; C []; D []; E [] }",
    "attention of every head": "pattern { A =[*]=> B; B =[*]=> C; C =[*]=> D }",
    "half a surrogate": "pattern { A [lemma=\"\ud800\"] }",
    "control characters": "pattern { A [lemma=\"\x1b[2J\x07\"] }",
}  # fmt: skip


@pytest.mark.usual("50 nodes", "control*")
@pytest.mark.few(3)
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.filterwarnings("ignore:No word has")
def test_it_ends_and_the_bank_is_as_it_was(name: str, sample_bank: Path) -> None:
    before = hashlib.sha256(sample_bank.read_bytes()).hexdigest()
    began = time.process_time()
    with open_bank(sample_bank) as bank:
        try:
            hits = bank.find(HOSTILE[name], limit=1000, timeout=SECONDS, context=False)
            assert hits.height <= 1000
        except AttnbankError as error:
            assert len(str(error)) < 2000 and len(str(error).splitlines()) <= 2
        assert time.process_time() - began < (SECONDS + SLACK) * (os.cpu_count() or 1)
        assert bank.find("pattern { V -[obj]-> O }").height > 50
    assert hashlib.sha256(sample_bank.read_bytes()).hexdigest() == before


def test_noise_is_read_or_refused() -> None:
    """Whatever is typed is an error of ours, and never one of lark's or Python's."""
    rng = random.Random(1)
    pieces = [
        "pattern", "without", "{", "}", "[", "]", "A", "B", "->", "-[", "]->", "obj", "|", "=",
        "<>", "<<", ";", ",", "!", "^", "*", "1", "re\"a\\(\"", "/a(/", '"x"', ".", "~",
        "=[3-1]=>", "$", "delta(", ")", ":", "%", "\n", "é", "\\", "'", "-", ">", "upos", "0.5",
    ]  # fmt: skip
    start = 'pattern { A [upos=NOUN]; e: A -[1=obj]-> B; e.label = "x"; A << B } without { B ~ A }'
    for _ in range(500):
        if rng.random() < 0.5:
            text = " ".join(rng.choices(pieces, k=rng.randrange(1, 30)))
        else:
            at, end = sorted(rng.choices(range(len(start)), k=2))
            text = start[:at] + rng.choice(pieces) + start[end if rng.random() < 0.3 else at :]
        with contextlib.suppress(AttnbankError):
            compile_request(text)


@pytest.mark.slow
def test_a_moment_is_told_as_no_time(sample_bank: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Choosing the run and opening the bank take longer: that is no word against the bank."""
    for request in ("pattern { A =[*]=> B; B =[*]=> C }", "pattern { A [upos=VERB] }"):
        for command in ("find", "count"):
            for seconds in ("0.001", "0.002", "0.004"):
                args = ["-b", str(sample_bank), command, request, "--timeout", seconds]
                status = run_command_line(args)
                out, err = capfd.readouterr()
                assert status == 0 or f"longer than {seconds} seconds" in err, (args, out, err)
