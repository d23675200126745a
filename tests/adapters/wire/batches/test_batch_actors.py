"""Whose a batch is: its requests and answers are of whoever sent it, whoever reads the results."""

from collections.abc import Generator
from pathlib import Path

import anthropic
import pytest

import onrecord
from onrecord.adapters.store import backend_of
from tests.adapters.recorded_calls import KEY
from tests.adapters.wire.batches.batch_server import ANSWERED, BATCH, Batches, serving
from tests.adapters.wire.batches.test_batches import asking


@pytest.fixture
def server() -> Generator[Batches]:
    with serving(Batches(ANSWERED)) as running:
        yield running


@pytest.fixture
def plain(server: Batches) -> Generator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0) as made:
        yield made


def test_answers_are_of_whoever_sent_the_batch_in_any_process(
    tmp_path: Path, plain: anthropic.Anthropic
) -> None:
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    with onrecord.connect(url) as store:
        chat = store.conversation("talk", actor="ana", on_behalf_of="bob")
        chat.record(plain).messages.batches.create(requests=asking("a", "b"))
    with onrecord.connect(url, actor="reader") as store:
        reader = store.conversation("talk", actor="cleo").record(plain)
        assert len(list(reader.messages.batches.results(BATCH))) == 2
        digests = [backend_of(store).digest(name).hex() for name in ("ana", "bob")]
        headers = [event.client_header() for event in store.conversation("talk").events()]
        assert [each.type for each in headers].count("response.completed") == 2
        assert {(each.actor, each.on_behalf_of) for each in headers} == {tuple(digests)}
