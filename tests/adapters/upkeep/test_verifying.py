"""Damage is found: what a store holds is checked against what it committed to."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.store import backend_of
from onrecord.adapters.upkeep.verified import Verified
from onrecord.domain.content import Blob, Document, ToolCall
from onrecord.domain.events import MessageRecorded, RequestSent, ResponseCompleted, ToolCallRecorded
from onrecord.domain.header import header_bytes, parse_header
from onrecord.domain.new_events import blobs_of
from onrecord.domain.request_template import EncodedSpan, Template
from tests.adapters.cli.command import Command, in_process, url_of
from tests.adapters.recorded_calls import known
from tests.factories import BECAUSE, prompt
from tests.sqlite_by_hand import ByHand, Unruled

KEY = "support/4711"
THE_LONG = "(SELECT conversation_id FROM conversation_head WHERE version = 6)"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store of two conversations; closed, so that all of it is in its file."""
    place = url_of(tmp_path)
    with onrecord.connect(place) as store:
        speak(store)
    return place


@pytest.fixture
def file(tmp_path: Path, url: str) -> Path:
    return tmp_path / "talks.db"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def speak(store: onrecord.Store) -> None:
    chat = store.conversation(KEY)
    chat.user("Where is parcel NW-20931?", documents=[b"%PDF the waybill"])
    call = ToolCall(id="toolu_1", name="track", arguments={})
    chat.log.append(ToolCallRecorded(call_id="toolu_1", name="track", content=call))
    chat.log.append(ResponseCompleted(response=chat.conversation_id, api="x", envelope={}))
    store.conversation("support/4712").user("Where is parcel NW-20932?")
    chat.tool_result("toolu_1", "depot North")
    chat.user("Thank you.")


def repeating(store: onrecord.Store) -> Blob:
    """A document, a fork of a fork, and a request there that repeats the document."""
    origin = store.conversation(KEY)
    origin.user("Read this.", documents=[b"%PDF the waybill"])
    (blob,) = blobs_of(known(origin.events(after=1)[0]))
    fork = origin.fork("twice").fork("again")
    spans = (EncodedSpan(blob=blob),)
    fork.log.append(
        RequestSent(api="x", endpoint="/", template=Template(spans=spans, sha256="", size=0))
    )
    return blob


def verified(url: str, which: str | None = None) -> Verified:
    with onrecord.connect(url) as store:
        return store.verify(which)


def counts(found: Verified) -> tuple[int, int, int]:
    """How much was checked of what holds: events, those that are erased, conversations."""
    assert (found.faults, found.unchecked) == ((), ())
    return found.events, found.erased, found.conversations


def whys(url: str) -> list[str]:
    return [fault.why for fault in verified(url).faults]


@pytest.fixture
def by_hand(file: Path) -> Iterator[ByHand]:
    """The file; what is run by hand is not held up by the rules that keep its events as they are."""
    connection = Unruled.open(file)
    yield connection
    connection.close()


def test_what_was_not_touched_holds(url: str) -> None:
    assert counts(verified(url)) == (8, 0, 2)
    assert counts(verified(url, KEY)) == (6, 0, 1)


def test_a_fork_holds(url: str) -> None:
    with onrecord.connect(url) as store:
        store.conversation(KEY).fork("support/4711/again", at=4).user("And now?")
    assert verified(url).faults == ()


def test_a_fork_whose_request_repeats_a_document_of_its_origin_holds(tmp_path: Path) -> None:
    with onrecord.connect(url_of(tmp_path)) as store:
        repeating(store)
        assert store.verify().faults == store.verify("again").faults == ()


def test_a_fork_whose_origin_was_forgotten_holds(tmp_path: Path) -> None:
    with onrecord.connect(url_of(tmp_path)) as store:
        repeating(store)
        store.forget("twice", **BECAUSE)
        assert store.verify("again").faults == ()
        store.forget(KEY, **BECAUSE)
        assert store.verify().faults == store.verify("again").faults == ()


def test_a_document_of_a_fork_is_missed_though_its_origin_was_forgotten(tmp_path: Path) -> None:
    with onrecord.connect(url_of(tmp_path)) as store:
        blob = repeating(store)
        fork = store.get("again")
        fork.log.append(
            MessageRecorded(role="user", content=(Document(media_type="x", blob=blob),))
        )
        store.forget(KEY, **BECAUSE)
        by_hand = ByHand.open(tmp_path / "talks.db")
        for table in ("blob_piece", "blob"):
            by_hand.run(f"DELETE FROM {table}")
        by_hand.close()
        (fault,) = store.verify("again").faults
        assert (fault.version, fault.why) == (4, f"the blob {blob.sha256} is missing or damaged")


def test_a_document_of_an_origin_is_missed_in_its_forks_too(tmp_path: Path) -> None:
    with onrecord.connect(url_of(tmp_path)) as store:
        repeating(store)
        by_hand = ByHand.open(tmp_path / "talks.db")
        by_hand.run("DELETE FROM blob_piece")
        by_hand.run("DELETE FROM blob")
        by_hand.close()
        assert [fault.version for fault in store.verify().faults] == [2, 3]
        assert [fault.version for fault in store.verify("again").faults] == [3]


def test_what_was_forgotten_still_holds(url: str) -> None:
    with onrecord.connect(url) as store:
        store.forget(KEY, **BECAUSE)
    assert counts(verified(url)) == (10, 6, 2)


def test_events_of_a_newer_release_hold(url: str) -> None:
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)
        known = stream_of(chat).draft(prompt())
        header = parse_header(known.header)._replace(type="message.superseded")
        newer = known._replace(type=header.type, header=header_bytes(header))
        stream_of(chat).append_drafted((newer,))
        chat.user("Go on.")
        assert store.verify(KEY).faults == store.verify().faults == ()


def test_a_flipped_byte_of_a_text_is_found(url: str, file: Path) -> None:
    copy = file.with_name("copy.db")
    shutil.copy(file, copy)
    data = copy.read_bytes()
    assert data.count(b"NW-20931") == 1
    copy.write_bytes(data.replace(b"NW-20931", b"NW-20930"))
    (fault,) = verified(f"sqlite:///{copy}").faults
    assert (fault.version, fault.why) == (2, "its digest is not that of its salt and body")


def test_a_flipped_byte_of_a_document_is_found(url: str, file: Path) -> None:
    data = file.read_bytes()
    assert data.count(b"the waybill") == 1
    file.write_bytes(data.replace(b"the waybill", b"the waybull"))
    (why,) = whys(url)
    assert why.endswith("is missing or damaged")


@pytest.mark.parametrize("byte", range(0, 200, 13))
def test_a_flipped_byte_of_a_header_is_found(url: str, file: Path, byte: int) -> None:
    data = bytearray(file.read_bytes())
    start = data.find(b'{"codec":"json"')
    data[start + byte] ^= 1
    file.write_bytes(data)
    assert "its leaf is not that of its header, place and digest" in whys(url)


@pytest.mark.parametrize("columns", ["salt, body", "digest, salt, body", "header", "leaf"])
def test_swapped_rows_are_found(url: str, by_hand: ByHand, columns: str) -> None:
    for position, other in ((2, 8), (8, 2)):
        by_hand.run(f"CREATE TEMP TABLE t{position} AS SELECT * FROM event WHERE position={other}")
    for position in (2, 8):
        by_hand.run(
            f"UPDATE event SET ({columns}) = (SELECT {columns} FROM t{position}) "
            f"WHERE position={position}"
        )
    found = {fault.version for fault in verified(url).faults if fault.conversation_id is not None}
    assert found == {2, 6}


def test_swapped_versions_are_found(url: str, by_hand: ByHand) -> None:
    by_hand.run("UPDATE event SET version = 100 WHERE position = 4")
    by_hand.run("UPDATE event SET version = 4 WHERE position = 7")
    by_hand.run("UPDATE event SET version = 5 WHERE position = 4")
    assert verified(url).faults != ()
    assert verified(url, KEY).faults != ()


def test_an_event_that_was_taken_out_is_found(url: str, by_hand: ByHand) -> None:
    by_hand.run("DELETE FROM event WHERE position = 3")
    assert any("position 4, the one before it at 2" in why for why in whys(url))
    assert "version 3 should stand here" in [fault.why for fault in verified(url, KEY).faults]


def test_a_last_event_that_was_taken_out_is_found(url: str, by_hand: ByHand) -> None:
    by_hand.run("DELETE FROM event WHERE position = 8")
    named = "version, exchange, position, recorded_at"
    head, mark = whys(url)
    assert head == f"its head is not what its events come to: {named}"
    assert mark.startswith("the file was set back, cut or replaced: it went to position 8 once")


@pytest.mark.parametrize(
    ("column", "value", "name"),
    [
        ("version", 99, "version"),
        ("exchange", 1, "exchange"),
        ("open_calls", '{"toolu_9":3}', "open_calls"),
        ("closed", 1, "closed"),
        ("input_tokens", 7, "input_tokens"),
        ("tools", 2, "tools"),
    ],
)
def test_a_head_that_is_not_what_the_events_come_to_is_found(
    url: str, by_hand: ByHand, column: str, value: int | str, name: str
) -> None:
    by_hand.run(f"UPDATE conversation_head SET {column} = ? WHERE version = 6", value)
    assert whys(url) == [f"its head is not what its events come to: {name}"]


def test_a_forgotten_conversation_that_awaits_a_result_is_found(url: str, by_hand: ByHand) -> None:
    with onrecord.connect(url) as store:
        store.forget(KEY, **BECAUSE)
    by_hand.run("UPDATE conversation_head SET open_calls = '{\"toolu_9\":3}' WHERE version = 6")
    assert whys(url) == ["its head is not what its events come to: open_calls"]


def test_a_conversation_without_its_key_is_found(url: str, by_hand: ByHand) -> None:
    by_hand.run(f"DELETE FROM conversation_key WHERE conversation_id = {THE_LONG}")
    assert whys(url) == ["the catalogue does not have the key that it began with"]


def test_another_key_than_that_of_the_beginning_is_found(url: str, by_hand: ByHand) -> None:
    other = f"SET digest = zeroblob(length(digest)) WHERE conversation_id = {THE_LONG}"
    by_hand.run(f"UPDATE conversation_key {other}")
    assert whys(url) == ["the catalogue has it under another key than it began with"]


def test_a_key_of_a_forgotten_conversation_is_found(url: str, by_hand: ByHand) -> None:
    columns = "tenant, digest, conversation_id"
    (key,) = by_hand.run(
        f"SELECT {columns} FROM conversation_key WHERE conversation_id = {THE_LONG}"
    )
    with onrecord.connect(url) as store:
        store.forget(KEY, **BECAUSE)
    by_hand.run(f"INSERT INTO conversation_key ({columns}) VALUES (?, ?, ?)", *key)
    assert whys(url) == ["it was forgotten, and the catalogue has a key of it"]


def test_a_conversation_of_which_no_event_is_left_is_found(url: str, by_hand: ByHand) -> None:
    by_hand.run("DELETE FROM event WHERE position > 0 AND version < 99")
    assert sum(why.startswith("its head says that it has begun") for why in whys(url)) == 2


def test_an_exchange_that_is_another_is_found(url: str, by_hand: ByHand) -> None:
    by_hand.run("UPDATE event SET exchange = 2 WHERE position = 3")
    assert "it is in exchange 2, not 1" in whys(url)


def test_half_an_erasure_is_found(url: str, by_hand: ByHand) -> None:
    by_hand.run("UPDATE event SET body = NULL WHERE position = 2")
    assert whys(url) == [
        "its body and its salt are not erased together",
        "1 of its events are erased, and it is not forgotten",
    ]


def test_the_command_says_that_all_holds(url: str, command: Command) -> None:
    done = command("verify", "--url", url)
    assert (done.code, done.out) == (0, "8 events of 2 conversations: all of it holds.\n")
    told = command("verify", KEY, "--url", url, "--json").document
    found = {name: told[name] for name in ("events", "erased", "conversations", "faults", "whole")}
    assert found == {"events": 6, "erased": 0, "conversations": 1, "faults": [], "whole": True}


def test_erasures_are_counted_apart_from_conversations(url: str, command: Command) -> None:
    with onrecord.connect(url) as store:
        store.forget(KEY, **BECAUSE)
    done = command("verify", "--url", url)
    said = (
        "10 events of 2 conversations and 1 recorded erasure, 6 of them erased: all of it holds.\n"
    )
    assert (done.code, done.out) == (0, said)
    assert "checked: 3 heads and 1 key: as the events say" in done.err
    told = command("verify", "--url", url, "--json").document
    assert (told["conversations"], told["recorded_erasures"]) == (2, 1)


def test_the_command_tells_what_it_checked_and_a_root_to_write_down(
    url: str, file: Path, command: Command
) -> None:
    done = command("verify", "--url", url)
    *told, root = done.err.splitlines()
    assert told[0].startswith("checked: 8 events: leaf, digest, header, place")
    assert root.startswith("root: 0:8:")
    written = root.removeprefix("root: ")
    assert command("verify", "--url", url, "--json").document["roots"] == [written]
    with onrecord.connect(url) as store:
        store.conversation(KEY).user("And then?")
    assert command("verify", "--root", written, "--url", url).code == 0
    assert command("verify", "--root", written[:-1] + "g", "--url", url).code == 1


def test_a_log_that_is_shorter_than_its_root_was_cut(url: str, command: Command) -> None:
    with onrecord.connect(url) as store:
        (root,) = store.verify().roots
    done = command("verify", "--root", str(root._replace(size=9)), "--url", url)
    assert done.code == 1
    assert done.columns[0][2] == "shard 0 was cut: it had 9 events, it has 8"


def test_a_file_that_is_set_back_is_noticed_by_the_mark_beside_it(url: str, file: Path) -> None:
    before = file.read_bytes()
    with onrecord.connect(url) as store:
        store.conversation(KEY).user("And then?")
    file.write_bytes(before)
    for _ in range(2):  # Opening it anew does not make it forget.
        (why,) = whys(url)
        assert why.startswith("the file was set back, cut or replaced: it went to position 9 once")
    with onrecord.connect(url) as store:
        store.conversation(KEY).user("And now?")
        store.conversation(KEY).user("And again?")
    assert len(whys(url)) == 1
    file.with_name(f"{file.name}-lock").unlink()
    found = verified(url)
    assert found.faults == ()
    assert any("where the mark beside it began" in told for told in found.unchecked)


def test_a_tail_that_is_cut_while_the_file_is_open_is_noticed(url: str, by_hand: ByHand) -> None:
    with onrecord.connect(url) as store:
        before = backend_of(store).incarnation()
        store.conversation("support/4713").user("Is anybody there?")
        for table, column in (("event", "position"), ("conversation_head", "position")):
            by_hand.run(f"DELETE FROM {table} WHERE {column} > 8")
        by_hand.run(
            "DELETE FROM conversation_key WHERE conversation_id NOT IN "
            "(SELECT conversation_id FROM conversation_head)"
        )
        assert len(store.verify().faults) == 1
        store.conversation(KEY).user("And then?")
        store.conversation(KEY).user("And now?")
        assert backend_of(store).incarnation() != before
        (fault,) = store.verify().faults
    assert "it went to position 10 once" in fault.why


def test_a_copy_without_its_mark_holds_and_says_what_was_not_seen(url: str, file: Path) -> None:
    copy = file.with_name("copy.db")
    shutil.copy(file, copy)
    found = verified(f"sqlite:///{copy}")
    assert found.faults == ()
    (told,) = found.unchecked
    assert told.startswith("whether the file was cut before position 8")


def test_the_command_fails_where_something_does_not_hold(
    url: str, by_hand: ByHand, command: Command
) -> None:
    by_hand.run("UPDATE conversation_head SET closed = 1 WHERE version = 6")
    done = command("verify", "--url", url)
    assert done.code == 1
    ((_, version, why),) = done.columns
    assert (version, why) == ("", "its head is not what its events come to: closed")
    assert done.err.startswith("onrecord: 8 events of 2 conversations: 1 fault\n")
    told = command("verify", KEY, "--url", url, "--json")
    assert (told.code, told.document["whole"]) == (1, False)
