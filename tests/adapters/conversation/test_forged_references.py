"""Whatever versions an event names, every read ends: what does not lie before an event is no reference."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.domain.errors import InvalidContent, InvalidExport, OnrecordError
from onrecord.domain.events import (
    ContentRedacted,
    ConversationForked,
    Event,
    HistoryCompacted,
    LineAdopted,
    RequestSent,
)
from onrecord.domain.header import body_digest, leaf, recorded_header
from onrecord.domain.request_template import Template
from tests.adapters.transfer.exports import KEY, rewritten, taken_in, written
from tests.awaited import awaited
from tests.search import examples

API = "anthropic-messages"
SIDES = (UUID(int=1), UUID(int=2))
FORGED = [
    {"after": 3},
    {"after": 4},
    {"after": 3, "as_of": 3},
    {"after": 2, "as_of": 99},
    {"after": 99, "as_of": 5},
    {"after": -1},
    {"after": 10**30},
    {"after": 2, "begun": 2},
]


def texts(chat: onrecord.Conversation) -> str:
    return str(chat.history())


def everything(chat: onrecord.Conversation) -> None:
    """Read a conversation in every way."""
    chat.history()
    chat.request(API)
    chat.documents()
    chat.open_calls()
    chat.tools.in_force()
    chat.tools.server_calls()


def put(chat: onrecord.Conversation, *said: Event) -> None:
    """Append as another program may that does not look."""
    stream_of(chat).append(*said)


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[onrecord.Conversation]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'a.db'}") as store:
        chat = store.conversation(KEY)
        chat.user("first")
        chat.user("second")
        yield chat


@pytest.mark.parametrize("told", [*FORGED[1:2], {"after": 4, "as_of": 4}, *FORGED[3:]])
def test_an_adoption_that_names_no_past_is_refused(
    chat: onrecord.Conversation, told: dict[str, Any]
) -> None:
    with pytest.raises(InvalidContent):
        chat.log.append(LineAdopted(**told))
    assert chat.head().version == 3


async def test_it_is_refused_of_coroutines_too(chat: onrecord.Conversation) -> None:
    with pytest.raises(InvalidContent):
        await awaited(chat).log.append(LineAdopted(after=4))


@pytest.mark.parametrize(
    "event", [ContentRedacted(version=4), HistoryCompacted(summary="s", until=4)]
)
def test_what_amends_what_is_to_come_is_refused(chat: onrecord.Conversation, event: Event) -> None:
    with pytest.raises(InvalidContent):
        chat.log.append(event)


@pytest.mark.parametrize("told", FORGED)
def test_an_adoption_that_names_no_past_changes_nothing(
    tmp_path: Path, chat: onrecord.Conversation, told: dict[str, Any]
) -> None:
    chat.user("third")
    path = forged(chat, tmp_path, told)
    with onrecord.connect(f"sqlite:///{tmp_path / 'b.db'}") as store:
        taken_in(store, path)
        read = store.conversation(KEY)
        everything(read)
        assert "first" in texts(read) and "third" in texts(read)


def forged(chat: onrecord.Conversation, folder: Path, told: dict[str, Any]) -> Path:
    """An export with an adoption in the place of version 3 of 4."""
    with onrecord.connect(f"sqlite:///{folder / 'a.db'}") as store:
        path = written(store, chat.conversation_id, folder / "a.export")
    return rewritten(path, 3, lambda line: as_adoption(line, told))


@pytest.mark.parametrize("name", ["erasure.intended", "erasure.completed", "conversation.started"])
def test_what_no_conversation_holds_is_not_taken_in(
    tmp_path: Path, chat: onrecord.Conversation, name: str
) -> None:
    with onrecord.connect(f"sqlite:///{tmp_path / 'a.db'}") as store:
        path = written(store, chat.conversation_id, tmp_path / "a.export")
    rewritten(path, 3, lambda line: as_adoption(line, {"key": "x"}, name))
    with (
        onrecord.connect(f"sqlite:///{tmp_path / 'b.db'}") as store,
        pytest.raises(InvalidExport, match="line 4"),
    ):
        taken_in(store, path)


def as_adoption(
    line: dict[str, Any], told: dict[str, Any], name: str = "line.adopted"
) -> dict[str, Any]:
    """The event as another one, its digest and leaf made anew."""
    header = line["header"].replace("message.recorded", name).encode()
    body = json.dumps(told, separators=(",", ":")).encode()
    digest = body_digest(bytes.fromhex(line["salt"]), body)
    stamped = recorded_header(header, line["version"], line["position"], line["recorded_at"])
    return {
        **{name: held for name, held in line.items() if name != "body_base64"},
        "header": header.decode(),
        "body": body.decode(),
        "digest": digest.hex(),
        "leaf": leaf(stamped, digest).hex(),
    }


def test_forks_of_each_other_are_read_to_their_end() -> None:
    with onrecord.connect("memory://") as store:
        one, other = store.conversation("one"), store.conversation("other")
        put(one, ConversationForked(origin=other.conversation_id, version=9))
        put(other, ConversationForked(origin=one.conversation_id, version=9))
        one.user("first")
        other.user("second")
        everything(one)
        assert "second" in texts(one) and "first" in texts(other)


def test_a_fork_of_itself_is_none() -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("one")
        put(chat, ConversationForked(origin=chat.conversation_id, version=2))
        chat.user("first")
        everything(chat)
        assert texts(chat).count("first") == 1


def test_forks_of_forks_may_be_many() -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("0")
        chat.user("first")
        for number in range(1, 200):
            fork = store.conversation(str(number))
            version = chat.head().version
            put(fork, ConversationForked(origin=chat.conversation_id, version=version))
            chat = fork
        assert "first" in texts(chat)


VERSIONS = st.sampled_from([-(10**20), -1, *range(9), 99, 2**63, 10**30])
MAYBE = st.none() | VERSIONS
LINES = st.sampled_from([None, *SIDES])
TEMPLATE = Template(spans=(), sha256="00" * 32, size=0)
REFERENCES: dict[str, st.SearchStrategy[Event]] = {
    "adopted": st.builds(LineAdopted, adopted=LINES, begun=MAYBE, after=VERSIONS, as_of=MAYBE),
    "compacted": st.builds(HistoryCompacted, summary=st.just("so far"), until=VERSIONS, line=LINES),
    "redacted": st.builds(ContentRedacted, version=VERSIONS),
    "sent": st.builds(
        RequestSent,
        api=st.just(API),
        endpoint=st.just("/v1/messages"),
        template=st.just(TEMPLATE),
        after=MAYBE,
        as_of=MAYBE,
        begun=MAYBE,
        seen=MAYBE,
        line=LINES,
    ),
    "forked": st.builds(ConversationForked, origin=st.just(uuid4()), version=VERSIONS),
}


@examples(60)
@given(st.lists(st.one_of(*REFERENCES.values()), min_size=1, max_size=6))
def test_no_reference_keeps_a_read_from_its_end(said: list[Event]) -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("a")
        chat.user("first")
        for event in said:
            # Whoever writes to the log by hand cannot make a fork of what has begun either.
            with suppress(InvalidContent):
                put(chat, event)
            chat.user("next")
        with suppress(OnrecordError):
            everything(chat)
