"""What no bank holds is refused when it comes in, by `import` as by `merge`, in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from bank_rows import change_bank
from case_bank import make_bank

from attnbank.ingest import import_export, merge_banks
from attnbank.ingest.merge.sources import source_of
from attnbank.queries import open_bank
from attnbank.sql.bank import opening
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.errors import BankError
from attnbank.sql.export_format import export

SOUND = {
    "document": "id,corpus,index\n1,1,1\n2,1,2\n",
    "sentence": "id,document,index,words\n1,1,1,2\n2,2,1,1\n",
    "word": "id,sentence,index,form,head_index\n1,1,1,a,2\n2,1,2,b,0\n3,2,1,c,0\n",
    "mention": "id,document,entity,first_word,last_word,head_word\n1,1,1,1,2,2\n2,2,2,3,3,3\n",
    "model": "id,name,layers,heads\n1,m,1,2\n",
    "sequence": "id,run,batch,document,sentence,positions\n1,1,1,1,1,2\n2,1,1,2,2,1\n",
    "position": "sequence,position,word\n1,0,1\n1,1,2\n2,0,3\n",
    "attention": """
sequence;layer;head;from_position;weights
1;1;1;0;[0.5, 0.5]
1;1;1;1;[0.25, 0.75]
1;1;2;0;[0.5, 0.5]
1;1;2;1;[0.25, 0.75]
2;1;1;0;[1.0]
2;1;2;0;[1.0]
""",
    "attention_top": """
sequence;layer;head;from_position;to_positions;weights;rest
1;1;1;0;[1];[0.5];0.5
1;1;1;1;[1];[0.75];0.25
""",
    "gradient": "sequence;layer;head;from_position;gradients\n"
    "1;1;1;0;[0.5, -0.5]\n1;1;1;1;[0.5, -0.5]\n",
    "peak": """
sequence,layer,head,position,most_attended,most_attended_weight
1,1,1,0,1,0.5
1,1,1,1,0,0.25
1,1,2,0,1,0.5
1,1,2,1,0,0.25
2,1,1,0,,
2,1,2,0,,
""",
    "surprisal": "run,word,nats\n1,1,0.5\n",
}
NAN = "list_transform({}, lambda weight: cast('nan' as float))"
DAMAGE = {
    "update word set id = 1 where id = 2": "word has ids twice",
    "update sentence set id = 1 where id = 2": "sentence has ids twice",
    "update mention set id = 1": "mention has ids twice",
    "insert into sequence from sequence where id = 1": "sequence has ids twice",
    "update word set sentence = 9 where id = 3": "the words of sentence 2 are not the 1",
    "insert into word by name select * replace (9 as sentence, 4 as id) from word where id = 3":
        "word has rows that belong to no sentence",
    "update word set id = 3 - id where id < 3": "the ids of document 1 are not in the order",
    "update word set id = 9 where id = 2": "the ids of document 1 are not in the order",
    "update word set index = 1": "the words of sentence 1 are not the 2",
    "update word set head_index = 3 where id = 1": "the words of sentence 1 are not the 2",
    "update mention set entity = 1": "the ids of document 2 are not in the order of the text",
    "update mention set id = 3 - id": "the ids of document 2 are not in the order of the text",
    "update sentence set document = 3 - document, index = 1; update sequence set document = 3 - id;"
    " delete from mention": "the ids of document 1 are not in the order of the text",
    "update mention set head_word = 3": "a mention of document 1 has words of another document",
    "delete from position": "the input 1 does not have the 2 positions",
    "update position set position = 0": "the input 1 does not have the 2 positions",
    "update position set word = 3": "a position of the input 1 has a word of another document",
    "update position set sequence = 9 where sequence = 2": "position has rows that belong to no",
    "update sequence set run = 9": "sequence has rows that belong to no run",
    "update sequence set document = 9": "sequence has rows that belong to no document",
    "update position set word = 9 where word = 3": "position has rows that belong to no word",
    "update sequence set id = 3 where id = 2; update position set sequence = 3 where sequence = 2":
        "the id of the input 3 is not that of its place in its corpus",
    "update sequence set sentence = null where id = 2;"
    " update sequence set id = 4 where id = 2; update position set sequence = 4 where sequence = 2":
        "the id of the input 4 is not that of its place in its corpus",
    "insert into corpus by name select * replace (2 as id, 'y' as name) from corpus;"
    " update run set corpus = 2": "the input 1 is of another corpus than its run",
    "insert into position from position where sequence = 1": "does not have the 2 positions",
    "update position set word = 3 - word where sequence = 1":
        "the words of the input 1 are not in the order of the text",
    "update position set word = 1 where sequence = 1": "not in the order of the text",
    "update position set last_word = 1 where word = 2": "not in the order of the text",
    "update position set word = null, last_word = 2 where word = 2": "not in the order of the text",
    "update sentence set document = 1, index = id; update sequence set document = 1;"
    " update mention set document = 1; update position set last_word = 3 where word = 2;":
        "a position of the input 1 has words of two sentences",
    "update sentence set document = 1, index = id; update sequence set document = 1;"
    " update mention set document = 1; update position set word = 2 where word = 3":
        "the input 2 has words of another sentence than its own",
    "update corpus set shard = '1/2'": "its corpus x has document 2, but is shard 1/2",
    "update corpus set shard = '3/2'": "its corpus x has an invalid shard: '3/2'",
    "update run set shard = '2/2'":
        "its run x has document 1, but is shard 2/2",
    "update word set head_index = 0": "the words of sentence 1 do not have one root",
    "update word set head_index = 1 where id = 3": "the words of sentence 2 do not have one root",
    "update word set head_index = 3 - index where sentence = 1":
        "the words of sentence 1 do not have one root",
    "update word set head_index = 1 where id = 1; update word set head_index = null where id = 2":
        "the heads of sentence 1 form a cycle",
    "update mention set first_word = 2, last_word = 1 where id = 1":
        "a mention of document 1 ends before it begins",
    "update mention set head_word = 1, first_word = 2 where id = 1":
        "a mention of document 1 has its head outside",
    "update document set corpus = 9": "the id of document 1 is not that of its place in its corpus",
    "update document set index = 1": "two documents of a corpus have the same place",
    "insert into departure values (1, 9, '', '', '')": "departure has rows that belong to no",
    "insert into skipped values (1, 1, 1, 9, '', '', 'x', '')": "skipped has rows that belong to",
    "update sequence set id = id + 1099511627776;"
    " update position set sequence = sequence + 1099511627776": "is that of another run",
    "update document set index = index + 1": "the id of document 1 is not that of its place",
    "update mention set id = id + 1099511627776": "the ids of document 1 are those of another",
    "update surprisal set word = 9": "surprisal has rows that belong to no word",
    "update surprisal set nats = 'nan'": "surprisal has a number that is not finite (nats)",
    "update surprisal set nats = 'inf'": "surprisal has a number that is not finite (nats)",
    "update peak set most_attended_weight = 'nan'": "peak has rows that no map has",
    "update peak set most_attended = 2": "peak has rows that no map has",
    "update peak set layer = 2": "peak has rows that no map has",
    "update peak set position = 2": "peak has rows that no map has",
    "insert into peak from peak": "peak has rows twice",
    "insert into attention from attention": "attention has rows twice",
    "insert into attention_map from attention_map": "attention_map has rows twice",
    "delete from peak where position = 1": "peak lacks rows of maps",
    "delete from attention where from_position = 1": "attention lacks rows of maps",
    "delete from peak where sequence = 2": "peak lacks the maps of the input 2",
    "delete from attention_map where head = 2": "attention_map lacks the maps of the input",
    "update run set keep = 'weights'; delete from attention where sequence = 2":
        "attention lacks the maps of the input 2",
    "update run set keep = 'top:1'": "attention_top lacks the maps of the input",
    "update run set gradients = true": "gradient lacks the maps of the input",
    "update attention set from_position = 2 where sequence = 1": "attention has rows that no map",
    "update attention_top set from_position = 2": "attention_top has rows that no map has",
    "update gradient set from_position = 2": "gradient has rows that no map has",
    "update attention set head = 3": "attention has rows that no map has",
    "update attention set weights = weights[1:1]": "attention has rows that no map has",
    f"update attention set weights = {NAN.format('weights')}": "attention has rows that no map",
    f"update gradient set gradients = {NAN.format('gradients')}": "gradient has rows that no map",
    "update attention_top set to_positions = [2]": "attention_top has rows that no map has",
    "update attention_top set rest = 'inf'": "attention_top has rows that no map has",
    "update attention_map set received = []": "attention_map has rows that no map has",
    "update attention_map set entropy = 'nan'": "attention_map has rows that no map has",
}  # fmt: skip


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small bank that has rows in all tables that are checked."""
    return make_bank(tmp_path_factory.mktemp("sound") / "sound.duckdb", SOUND)


def _without_keys(path: Path, copy: Path) -> Path:
    """The same bank as somebody could forge it: without keys, which would refuse rows."""
    with duckdb.connect(str(copy)) as connection:
        connection.execute(f"attach '{path}' as sound (read_only)")
        for (table,) in connection.execute(
            "select table_name from duckdb_tables() where database_name = 'sound'"
        ).fetchall():
            connection.execute(f"create table {table} as from sound.{table}")
    return copy


def _fault(bank: Path) -> str | None:
    with duckdb.connect(str(bank), read_only=True) as connection:
        return opening.fault_of_rows(connection)


def test_a_sound_bank_has_no_fault(sound: Path, tmp_path: Path) -> None:
    for path in (sound, _without_keys(sound, tmp_path / "copy.duckdb")):
        assert _fault(path) is None


@pytest.mark.slow
def test_a_bank_of_all_has_no_fault(full_bank: Path) -> None:
    assert _fault(full_bank) is None


def test_each_fault_is_told(sound: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(_without_keys(sound, tmp_path / "forged.duckdb"))) as connection:
        for damage, error in DAMAGE.items():
            connection.execute("begin")
            connection.execute(damage)
            assert error in str(opening.fault_of_rows(connection)), damage
            connection.execute("rollback")


def test_import_and_merge_refuse_it(sound: Path, tmp_path: Path) -> None:
    forged = _without_keys(sound, tmp_path / "forged.duckdb")
    change_bank(forged, "update peak set most_attended_weight = 'nan'")
    with open_bank(forged) as bank:
        export(bank.path, tmp_path / "parquet")
    message = "damaged: its table peak has rows that no map has"
    with pytest.raises(BankError, match=message):
        import_export(tmp_path / "parquet", tmp_path / "new.duckdb")
    with pytest.raises(BankError, match=message):
        merge_banks(tmp_path / "new.duckdb", [forged])
    assert not (tmp_path / "new.duckdb").exists()


def test_a_bank_that_is_changed_after_it_was_checked_is_refused(tmp_path: Path) -> None:
    path = make_bank(tmp_path / "bank.duckdb", SOUND)
    source = source_of(1, path)
    change_bank(path, "update corpus set name = 'another'")
    with (
        duckdb.connect() as connection,
        pytest.raises(BankError, match="changed during the merge"),
        source.attached(connection),
    ):
        pass


CATALOG = {
    "update model set layers = -1": "its model m has -1 layers of 2 heads",
    "update model set heads = 0": "its model m has 1 layers of 0 heads",
    "update model set layers = 32767, heads = 32767": "has 32767 layers of 32767 heads",
    "update model set layer_numbers = [1, 2]": "1 layers of 2 heads, and the numbers of 2",
    "update model set layer_numbers = [0]": "and the numbers of 1",
    "update run set heads = -1": "its run x has -1 heads",
    "update run set model = 9": "its run x has no corpus or model",
    "update run set corpus = 9": "its run x has no corpus or model",
    "update corpus set id = 8388609; update run set corpus = 8388609": "has the number 8388609",
    "update corpus set id = 0; update run set corpus = 0": "has the number 0",
    "update run set id = 8388608": "its run x has the number 8388608",
    "update model set id = 8388608; update run set model = 8388608": "its model m has the number",
    "insert into used_id values ('run', 8388608)": "its deleted run has the number 8388608",
    "update run set name = repeat('x', 1000000)": "a name in it has 1000000 characters (xxx",
    "update word set deprel = repeat('x', 1000000)": "a relation in it has 1000000 characters",
    "update word set upos = repeat('x', 9000)": "a part of speech in it has 9000 characters",
    "update run set started = 'infinity'": "its run has a time that is not finite",
    "update run_part set finished = '-infinity'": "its run has a time that is not finite",
}


def test_a_catalog_that_nobody_can_use_is_told(sound: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(_without_keys(sound, tmp_path / "forged.duckdb"))) as connection:
        for damage, error in CATALOG.items():
            connection.execute("begin")
            connection.execute(damage)
            fault = opening.fault_of_catalog(connection)
            assert fault is not None and error in fault and len(fault) < 200, damage
            connection.execute("rollback")


@pytest.mark.parametrize("opens", [open_bank, lambda path: open_to_write(path, "test")])
def test_it_is_refused_on_opening(
    opens: Callable[[Path], Any], sound: Path, tmp_path: Path
) -> None:
    forged = _without_keys(sound, tmp_path / "forged.duckdb")
    change_bank(forged, "update model set layers = -1")
    with pytest.raises(BankError) as raised:
        opens(forged)
    assert raised.value.fact == (
        f"The bank {forged} is damaged: its model m has -1 layers of 2 heads."
    )
