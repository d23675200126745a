"""Files that are no batch's pass as they are; batches that cannot be known are said."""

from __future__ import annotations

import io
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.wire.clients import unrecorded
from tests.adapters.recorded_calls import Recorded
from tests.adapters.wire.batches.batch_events import answers, texts
from tests.adapters.wire.batches.batch_server import serving
from tests.adapters.wire.batches.openai_batch_server import BATCH, OUTPUT, FileBatches, ended
from tests.adapters.wire.batches.openai_batches import asking, client, collect, create


@pytest.fixture(autouse=True)
def _nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrecorded, "_warned_of", set[str]())


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture
def server() -> Generator[FileBatches]:
    with serving(ended()) as running:
        yield running


def test_files_that_are_no_batchs_are_left_alone(recorded: Recorded) -> None:
    class Unread(io.BytesIO):
        """A file that can be read but once."""

        def seek(self, *at: int) -> int:
            assert not self.closed
            reads.append(at)
            return super().seek(*at)

    reads: list[tuple[int, ...]] = []
    kept = b'{"custom_id": "a", "body": null}\n'
    with serving(FileBatches(files={"file-x": kept})) as server, client(recorded, server) as own:
        own.files.create(file=("notes.jsonl", Unread(kept)), purpose="user_data")
        own.files.create(file=("none.jsonl", Unread(b" ")), purpose="batch")
        assert own.files.content("file-x").read() == kept
    assert kept in server.received[0].body
    assert not recorded.chat.head().version


def test_a_batch_of_embeddings_is_left_alone_and_said(recorded: Recorded) -> None:
    url: Any = "/v1/embeddings"
    with serving(ended(endpoint=url)) as server, client(recorded, server) as own:
        with pytest.warns(onrecord.RecordingWarning, match="a batch is not recorded"):
            create(own, asking("a", url=url), url)
        collect(own)
    assert not recorded.chat.head().version


def test_a_batch_that_nobody_recorded_has_its_answers_recorded_alone(
    recorded: Recorded, server: FileBatches
) -> None:
    with client(recorded, server) as own:
        with pytest.warns(onrecord.RecordingWarning, match="no recorded client made"):
            collect(own)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            collect(own)
    assert texts(recorded.events()) == [("assistant", "Blue."), ("assistant", "Green.")]


def test_results_of_a_batch_that_no_recorded_client_asked_for_are_said(
    recorded: Recorded, server: FileBatches
) -> None:
    with client(recorded, server) as own:
        create(own, asking("a", "b"))
    with client(recorded, server) as own:
        own.batches.cancel(BATCH)
        server.files["file-x"] = server.files[OUTPUT]
        with pytest.warns(onrecord.RecordingWarning, match="ask for the batch first"):
            assert own.files.content("file-x").read() == server.files[OUTPUT]
    assert answers(recorded.events()) == []
