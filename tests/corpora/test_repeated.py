"""A made corpus of random tokens that come twice: the model reads what was drawn, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers
from bank_rows import query_bank
from click.testing import CliRunner
from crashes import ingest_part
from fixture_types import Models

from attnbank.cli.app import app
from attnbank.ingest import IngestOptions, estimate, ingest
from attnbank.ingest.merge.merging import merge_banks
from attnbank.queries import open_bank
from attnbank.sql.errors import CallError, QueryError

TINY: dict[str, Any] = {"repeat": 6, "limit": 4, "seed": 0}


def _options(bank: Path, model: Path, **more: Any) -> IngestOptions:
    return IngestOptions((), bank, str(model), **(TINY | more))


@pytest.mark.usual("gpt2-word", "bert-token")
@pytest.mark.parametrize("unit", ["token", "word"])
@pytest.mark.parametrize("kind", ["bert", "gpt2", "roberta", "xlm-roberta", "mistral", "gemma"])
def test_the_model_reads_what_was_drawn(
    tmp_path: Path, tiny_model: Models, kind: str, unit: str
) -> None:
    bank, model = tmp_path / "bank.duckdb", tiny_model(kind)
    report = ingest(_options(bank, model, unit=unit))
    assert report.corpus == "repeat-6"
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    rows = query_bank(
        bank,
        "select document.name, document.metadata['tokens'], sequence.tokens,"
        " list(position.pieces order by position.position)"
        "  filter (where position.kind in ('word', 'token', 'first'))"
        " from sequence inner join position on position.sequence = sequence.id"
        " inner join document on document.id = sequence.document"
        " group by all order by document.name",
    )
    assert [row[0] for row in rows] == [f"repeat-6-{number}" for number in range(1, 5)]
    special = set(tokenizer.all_special_ids)
    for _, kept_ids, tokens, pieces in rows:
        drawn = [int(id) for id in kept_ids.split()]
        read = tokenizer.convert_tokens_to_ids([piece for (piece,) in pieces])
        assert read == drawn * 2
        assert len(set(drawn)) == 6 and not special & set(drawn)
        assert tokens == 12 + tokenizer.num_special_tokens_to_add()
    assert len({row[1] for row in rows}) == 4


@pytest.mark.slow
def test_a_larger_corpus_begins_with_a_smaller_and_a_seed_draws_another(
    tmp_path: Path, tiny_model: Models
) -> None:
    drawn = {}
    for limit, seed in ((4, 0), (6, 0), (4, 1)):
        bank = tmp_path / f"{limit}-{seed}.duckdb"
        report = ingest(_options(bank, tiny_model("gpt2"), limit=limit, seed=seed))
        assert report.corpus == ("repeat-6-seed1" if seed else "repeat-6")
        text = "select metadata['tokens'] from document order by index"
        drawn[limit, seed] = query_bank(bank, text)
    assert drawn[4, 0] == drawn[6, 0][:4]
    assert not set(drawn[4, 0]) & set(drawn[4, 1])


@pytest.mark.slow
def test_it_is_a_run_like_others(tmp_path: Path, tiny_model: Models) -> None:
    """Counted before, resumed, kept, a control beside it; and it answers where it is named."""
    bank, model = tmp_path / "bank.duckdb", tiny_model("gpt2")
    options = _options(bank, model, batch_tokens=32)
    counted = estimate(options)
    ingest_part(options)
    report = ingest(options)
    assert report.state == "resumed"
    assert (report.inputs, report.words, report.weights) == (4, 48, counted.weights)
    assert (counted.inputs, counted.words, counted.notes) == (4, 48, report.notes[:1])
    assert "24 tokens drawn" in report.notes[0]
    assert ingest(options).state == "unchanged"
    control = ingest(_options(bank, model, random_weights=1))
    assert (control.corpus, control.state) == ("repeat-6", "new")
    whole = tmp_path / "whole.duckdb"
    ingest(_options(whole, model, batch_tokens=32))
    of_first = "where sequence <= 4"
    for table in ("word", "document", f"position {of_first}", f"attention {of_first}"):
        rows = f"from {table} order by all"
        assert query_bank(bank, rows) == query_bank(whole, rows)
    with open_bank(bank) as opened:
        with pytest.raises(QueryError, match="by default") as error:
            opened.query("induction_head")
        assert "its text is made of random tokens" in error.value.remedy
        assert len(opened.query("induction_head", run=report.run)) == 12


@pytest.mark.slow
def test_shards_are_parts_of_the_whole(tmp_path: Path, tiny_model: Models) -> None:
    model, parts = tiny_model("gpt2"), []
    for shard in ("1/2", "2/2"):
        parts.append(tmp_path / f"{shard[0]}.duckdb")
        ingest(_options(parts[-1], model, shard=shard))
    merge_banks(tmp_path / "merged.duckdb", parts)
    ingest(_options(tmp_path / "whole.duckdb", model))
    texts = (
        "select document.index, document.metadata, list(word.form order by word.index) from word"
        " inner join sentence on sentence.id = word.sentence"
        " inner join document on document.id = sentence.document group by all order by 1"
    )
    for statement in (texts, "select sha256, shard from corpus where shard is null"):
        merged, whole = (
            query_bank(tmp_path / f"{name}.duckdb", statement) for name in ("merged", "whole")
        )
        assert merged == whole and whole


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"corpora": ("x.conllu",)}, "--repeat makes a corpus, but x.conllu reads one"),
        ({"format": "lines"}, "--repeat makes a corpus, but --format reads one"),
        ({"edges": "share"}, "--edges share tokenizes the text"),
        ({"model": "none"}, "--repeat draws from the vocabulary of a model"),
        ({"repeat": 10_000, "limit": 2_000}, "make more than 10,000,000 tokens"),
        ({"repeat": 15_001}, "--repeat is out of range"),
        ({"repeat": 10_000}, "tokenize back to themselves; --repeat is 10,000"),
    ],
)
def test_what_does_not_go_together(
    tmp_path: Path, tiny_model: Models, more: dict[str, Any], message: str
) -> None:
    bank = tmp_path / "bank.duckdb"
    own: dict[str, Any] = {"corpora": (), "bank": bank, "model": str(tiny_model("gpt2"))}
    with pytest.raises(CallError, match=message):
        ingest(IngestOptions(**(own | TINY | more)))
    assert not bank.exists() or "vocabulary" in message or "gives back" in message


@pytest.mark.slow
def test_from_the_command_line(tmp_path: Path, tiny_model: Models) -> None:
    bank, model = str(tmp_path / "bank.duckdb"), str(tiny_model("gpt2"))
    call = ["-b", bank, "ingest", "--repeat", "6", "--limit", "4", "-m", model, "--unit", "token"]
    dry = CliRunner().invoke(app, [*call, "--dry-run"])
    assert (dry.exit_code, Path(bank).exists()) == (0, False)
    assert "24 tokens drawn; skipped" in dry.output
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0
    assert "24 tokens drawn; skipped" in result.output
    assert "query induction_head --run repeat-6/" in result.output
    again = CliRunner().invoke(app, [*call[:5], "--limit", "5", *call[7:]])
    assert "The bank has another corpus called repeat-6" in str(again.exception)
