"""Whatever is named as a corpus, be it a device, a pipe or no name at all, is read or refused."""

from __future__ import annotations

import io
import os
import socket
import sys
import threading
import time
import warnings
from pathlib import Path

import hostile
import pytest
from hostile import Refused

from attnbank.ingest.corpora.corpus_files import find_sources
from attnbank.ingest.corpora.document import CorpusError, Problem
from attnbank.sql.errors import AttnbankError, AttnbankWarning, CallError


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/urandom", "/dev/tty", "/proc"])
def test_a_device_is_no_corpus(
    tmp_path: Path, device: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if device == "/proc":
        device = "/proc/self/mem"
    if not Path(device).exists():
        pytest.skip(f"there is no {device} here")
    with hostile.nothing_made(tmp_path):
        refused("ingest", device, "--model", "minilm")


def test_a_socket_is_no_corpus(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        path = tmp_path / "socket"
        made.bind(str(path))
        with pytest.raises(AttnbankError, match=r"Cannot read|is a device"):
            find_sources([str(path)])


@pytest.mark.slow
def test_a_pipe_that_nobody_writes_into_is_told(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def late() -> None:
        time.sleep(2.5)
        pipe.write_text(hostile.RAIN)

    thread = threading.Thread(target=late)
    thread.start()
    with pytest.warns(AttnbankWarning, match="Nothing has been written to the pipe"):
        (source,) = find_sources([str(pipe)])
    thread.join()
    assert source.data() == hostile.RAIN.encode()


def test_a_pipe_that_is_written_into_is_read_without_a_word(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = hostile.RAIN * 5000  # more than a pipe holds
    thread = threading.Thread(target=pipe.write_text, args=(text,))
    thread.start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (source,) = find_sources([str(pipe)])
    thread.join()
    assert source.data() == text.encode()


class _Endless(io.RawIOBase):
    """A stream without an end."""

    def __init__(self, line: bytes) -> None:
        self._part = line * (1 + (1 << 20) // len(line))
        self.given = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        found = self._part[:size]
        self.given += len(found)
        return found


def test_an_endless_stream_of_no_text_is_known_by_its_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endless = _Endless(b"\0")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(endless))  # type: ignore[type-var]
    with pytest.raises(CorpusError, match="unknown-format"):
        find_sources(["-"])
    assert endless.given < 1_000_000


@pytest.mark.slow
def test_an_endless_stream_of_text_ends_at_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = _Endless(b"y\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(endless))  # type: ignore[type-var]
    with pytest.raises(CallError, match=r"has more than .* GB") as raised:
        find_sources(["-"])
    assert "file" in raised.value.remedy
    assert endless.given < 2.3e9


def test_links_that_lead_round_are_gone_through_once(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.conllu").write_text(hostile.RAIN)
    (folder / "deep" / "up").symlink_to(folder)
    (folder / "self.conllu").symlink_to(folder / "self.conllu")
    (folder / "nowhere.conllu").symlink_to(folder / "nothing")
    (folder / "again.conllu").symlink_to(folder / "a.conllu")
    assert len(find_sources([str(folder)])) == 1
    with pytest.raises(CallError, match="does not exist"):
        find_sources([str(folder / "self.conllu")])


@pytest.mark.parametrize("name", ["x" * 300, "x" * 9000, "../" * 3000, "\udcff", "", " "])
def test_a_name_that_is_none(
    tmp_path: Path, name: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with hostile.nothing_made(tmp_path):
        refused("ingest", name, "--model", "minilm")


def test_a_file_whose_name_is_no_text(tmp_path: Path) -> None:
    try:
        (tmp_path / "\udcff.conllu").write_text(hostile.RAIN)
    except OSError:
        pytest.skip("names are text on this disk")
    with pytest.raises(CallError, match="is not valid UTF-8"):
        find_sources([str(tmp_path)])


def test_a_folder_of_many_files(tmp_path: Path) -> None:
    for at in range(300):
        (tmp_path / f"{at}.conllu").write_text(hostile.RAIN if at % 2 else "")
    bad: list[Problem] = []
    sources = find_sources([str(tmp_path)], bad=bad)
    assert (len(sources), len(bad)) == (150, 150)
