"""A hub of models that does not answer is known soon, and one that answers is asked once."""

from __future__ import annotations

import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hostile
import pytest
from hostile import Refused

from attnbank.ingest.models.files import why_unreachable

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.usual("closed", "nowhere")
@pytest.mark.parametrize("hub", ["closed", "silent", "nowhere"])
def test_that_a_hub_does_not_answer_is_known_soon(
    hub: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        if hub == "silent":  # connects, and says nothing
            listening.listen()
        place = f"http://127.0.0.1:{listening.getsockname()[1]}"
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        place = "http://nowhere.invalid" if hub == "nowhere" else place
        monkeypatch.setattr(constants, "ENDPOINT", place)
        began = time.monotonic()
        assert why_unreachable()
        assert time.monotonic() - began < 15


@pytest.mark.parametrize("dry", [[], ["--dry-run"]], ids=["ingest", "dry run"])
def test_a_name_without_a_network_ends_in_two_lines(
    corpus: Path,
    dry: list[str],
    refused: Refused,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(corpus.parent / "none"))
    began = time.monotonic()
    with hostile.nothing_made(corpus.parent):
        error = refused("ingest", corpus, "-m", "no-such-owner/none", *dry, status=2)
    assert "not on this machine" in error and "minilm" in error
    assert time.monotonic() - began < 15


@pytest.fixture
def hub(folder: Path) -> Iterator[str]:
    """The address of a hub with one model, `owner/tiny`, which is the folder."""
    commit = "0123456789abcdef0123456789abcdef01234567"

    class Hub(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(with_body=False)

        def do_GET(self) -> None:
            self.answer(with_body=True)

        def answer(self, *, with_body: bool) -> None:
            *_, name = self.path.partition("?")[0].split("/")
            path = folder / name
            is_file = "/owner/tiny/resolve/" in self.path and path.is_file()
            if is_file:
                body = path.read_bytes()
            elif self.path.startswith("/api/models/owner/tiny") and "/tree/" not in self.path:
                listed = [{"rfilename": path.name} for path in folder.iterdir()]
                body = json.dumps({"id": "owner/tiny", "sha": commit, "siblings": listed}).encode()
            else:
                self.send_response(200 if self.path == "/" else 404)
                self.send_header("X-Error-Code", "EntryNotFound")
                self.send_header("X-Repo-Commit", commit)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("ETag", f'"{name}-{len(body)}"')
            self.send_header("X-Repo-Commit", commit)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *parts: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_a_hub_that_answers_is_asked_and_what_was_fetched_is_kept(corpus: Path, hub: str) -> None:
    command = ["ingest", "rain.conllu", "-m", "owner/tiny", "-q"]
    env = {"HF_ENDPOINT": hub, "HF_HUB_OFFLINE": "0"}
    first = hostile.measured(command, corpus.parent, env=env)
    assert first.status == 0, first.err
    (corpus.parent / "attnbank.duckdb").unlink()
    again = hostile.measured(command, corpus.parent)
    assert again.status == 0, again.err
    gone = hostile.measured([*command[:-2], "owner/none", "-q"], corpus.parent, env=env)
    assert gone.status == 2
    hostile.check_lines(gone.err.strip().splitlines())


def test_whether_the_hub_answers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert why_unreachable() == "HF_HUB_OFFLINE is set"
