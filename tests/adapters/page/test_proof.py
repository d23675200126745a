"""The proof of a conversation: what is sealed of it, and whether it is as it was sealed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
import urllib3

import onrecord
from onrecord.adapters.page.proof import proof, sealed_shard
from onrecord.adapters.seals.key_files import make_key_file
from onrecord.adapters.store import backend_of
from onrecord.domain.events import AnnotationAdded
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from tests.adapters.page.test_visitors import FORM, OWN
from tests.adapters.service.keys import Keys
from tests.adapters.service.served import Served, served
from tests.tampering import forging
from tests.tampering.rows import Row
from tests.tampering.sqlite_rows import SqliteRows

PATH = "/c/support%2F4711/proof"
"""Of a conversation of five events: four of them were sealed twice, at 8 and at 10 events of the log."""


@dataclass(frozen=True)
class Sealed:
    """A file that was sealed, and the folder of its seals."""

    file: Path
    seals: Path

    @property
    def url(self) -> str:
        return f"sqlite:///{self.file}"


@pytest.fixture
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sealed:
    made = Sealed(tmp_path / "talks.db", tmp_path / "seals")
    with onrecord.connect(made.url) as store:
        name = key_name_of(log_id_of(backend_of(store).digest))
        key = make_key_file(tmp_path / "seal.key", name)
        forging.record(store)
        forging.seal(store, key, made.seals)
        forging.go_on(store)
        forging.seal(store, key, made.seals)
    monkeypatch.setenv("ONRECORD_SEALS", str(made.seals))
    monkeypatch.setenv("ONRECORD_SEAL_VKEY", str(key.public))
    return made


@pytest.fixture
def page(sealed: Sealed) -> Iterator[Served]:
    with served(sealed.url) as answering:
        yield answering


def verified(page: Served, seal: str = "", path: str = PATH) -> urllib3.BaseHTTPResponse:
    body = urlencode({"seal": seal}).encode()
    return page.ask("POST", path, body=body, headers=FORM | OWN)


def words(answer: urllib3.BaseHTTPResponse) -> str:
    """What a page says, without its markup."""
    assert answer.status == 200, answer.data
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.data.decode())).split())


def test_the_page_lists_the_seals_and_how_much_they_cover(page: Served) -> None:
    text = words(page.ask("GET", PATH))
    assert "All 5 events of this conversation are sealed since" in text
    assert text.index("5 of 5 events · 10 of the shard") < text.index(
        "4 of 5 events · 8 of the shard"
    )
    assert "onrecord.log/" in text
    older = words(page.ask("GET", f"{PATH}?before=10"))
    assert "· 8 of the shard" in older
    assert "· 10 of the shard" not in older
    assert "Nothing was sealed by then." in words(page.ask("GET", f"{PATH}?day=2001-01-01"))
    assert "· 8 of the shard" in words(page.ask("GET", f"{PATH}?day=2999-01-01"))


def test_what_nobody_touched_is_proved_to_be_what_was_sealed(page: Served) -> None:
    text = words(verified(page, "0:8"))
    assert "All that was sealed holds" in text
    assert "The log still has all 8 events that this seal covers" in text
    assert "Whether later events were taken away or replaced, only the whole log shows" in text
    assert re.findall(r'value="([0-9:]+)" checked', verified(page, "0:8").data.decode()) == ["0:8"]
    assert re.search(r"The 4 events that were sealed \S+ \S+Z are unchanged\.", text)
    assert "The last seal, of 10 events, is proved to go on from it." in text
    assert "1 event came after this seal." in text
    assert re.search(r"root hash of this seal: 0:8:[0-9a-f]{64}", text)


@pytest.mark.parametrize(("column", "value"), [("leaf", bytes(32)), ("body", b"{")])
def test_a_tampered_event_is_named_and_linked(sealed: Sealed, column: str, value: bytes) -> None:
    rows = SqliteRows(sealed.file)
    rows.change("event", forging.events(rows)[4], column, value)
    rows.close()
    with served(sealed.url) as page:
        answer = verified(page, "0:8")
    assert "not all of it holds" in words(answer)
    assert re.search(rb'<a href="/c/[0-9a-f-]{36}\?at=3#v3">version 3</a>', answer.data)


def test_an_event_that_was_reworded_with_its_hashes_is_named_by_a_seal_alone(
    sealed: Sealed,
) -> None:
    rows = SqliteRows(sealed.file)
    forged = [*(events := forging.events(rows))[:4], forging.reworded(events[4]), *events[5:]]
    forging.forge(rows, forged)
    forging.unmark(rows)
    rows.close()
    with served(sealed.url) as page:
        plain, compared = verified(page), verified(page, "0:8")
    assert "What was checked holds" in words(plain)
    assert "Whether events were taken away or replaced, only the whole log shows" in words(plain)
    assert "whether somebody wrote the record anew with all its hashes" in words(plain)
    text = words(compared)
    assert "1 fault: not all of it holds" in text
    assert "version 3 event 5 of shard 0 is not the one that was sealed" in text
    assert "3 events of this conversation are proved unchanged" in text


def test_sealed_events_are_missed_where_others_took_their_place(sealed: Sealed) -> None:
    rows = SqliteRows(sealed.file)
    *_, seventh, _, ninth, _ = forging.events(rows)
    for row in (seventh, ninth):
        rows.delete("event", row)
    kept = next(each for each in forging.events(rows)[::-1] if _is_of(each, ninth))
    (head,) = (each for each in rows.rows("conversation_head") if _is_of(each, ninth))
    for name in ("version", "position", "recorded_at"):
        rows.change("conversation_head", head, name, kept[name])
        head[name] = kept[name]
    forging.unmark(rows)
    rows.close()
    with onrecord.connect(sealed.url) as store:
        for _ in range(2):
            store.conversation(forging.FIRST).log.append(AnnotationAdded(labels={"depot": "East"}))
    with served(sealed.url) as page:
        text = words(verified(page, "0:10"))
    assert "1 fault: not all of it holds" in text
    assert "2 of the 10 events of shard 0 that were sealed are missing" in text
    assert "the first is the one at position 7" in text


def test_what_only_the_whole_log_shows_is_said_of_a_large_shard(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_shard, "MOST", 9)
    text = words(verified(page, "0:10"))
    assert "What was checked holds" in text
    assert "This seal covers 10 events of all conversations, more than the 9" in text
    assert "Whether events were taken away or replaced, only the whole log shows" in text
    of_few = words(verified(page, "0:8"))
    assert "All that was sealed holds" in of_few
    assert "This seal covers" not in of_few


def _is_of(row: Row, other: Row) -> bool:
    return bool(row["conversation_id"] == other["conversation_id"])


def test_a_place_that_cannot_be_read_is_no_proof(sealed: Sealed, page: Served) -> None:
    sealed.seals.rename(sealed.seals.with_name("away"))
    assert "No such file or directory" in words(page.ask("GET", PATH))
    text = words(verified(page, "0:8"))
    assert "No fault, but the seals could not be checked" in text


def test_settings_that_are_wrong_are_told_and_the_rest_is_verified(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_SEAL_VKEY", "no key")
    assert "Seals at the places in ONRECORD_SEALS" in words(page.ask("GET", PATH))
    assert "What was checked holds" in words(verified(page))
    assert verified(page, "0:8").status == 422
    monkeypatch.delenv("ONRECORD_SEAL_VKEY")
    assert "No seal is known here." in words(page.ask("GET", PATH))


def test_what_was_taken_away_is_told(sealed: Sealed) -> None:
    with onrecord.connect(sealed.url) as store:
        store.conversation(forging.FIRST).redact(2)
        gone = store.conversation(forging.SECOND).conversation_id
        store.forget(gone, reason="asked to", actor="carla")
    with served(sealed.url) as page:
        assert "1 event redacted: version 2" in words(page.ask("GET", PATH))
        text = words(verified(page, "0:10", f"/c/{gone}/proof"))
    assert "5 of them erased" in text
    assert "What was said here was erased." in text
    assert "The commitments hold, and the content is gone" in text


def test_the_whole_log_is_verified_with_its_seals(sealed: Sealed) -> None:
    with served(sealed.url) as page:
        text = words(page.ask("POST", "/operations/verification", headers=OWN))
    assert "All of it holds" in text
    assert f"Shard 0 is sealed to 10 at {sealed.seals}" in text
    rows = SqliteRows(sealed.file)
    forging.forge(rows, forging.events(rows)[:9])
    forging.unmark(rows)
    rows.close()
    with served(sealed.url) as page:
        text = words(page.ask("POST", "/operations/verification", headers=OWN))
    assert "not all of it holds" in text
    assert "position 10 is the first that is missing" in text


def test_only_who_operates_for_all_tenants_has_the_whole_log_verified() -> None:
    with served(keyring=Keys()) as page:
        refused = dict.fromkeys(("reader", "writer", "own operator"), 403)
        for key, status in (refused | {"operator": 200}).items():
            answer = page.ask("POST", "/operations/verification", key=key, headers=OWN)
            assert answer.status == status
        for key, is_offered in (("own operator", False), ("operator", True)):
            text = words(page.ask("GET", "/operations", key=key))
            assert ("Verify the whole log" in text) == is_offered


def test_a_wrong_choice_is_told(page: Served) -> None:
    for seal in ("9:8", "0:9", "x", "0:-1"):
        assert verified(page, seal).status == 422
    assert verified(page, path="/c/other/proof").status == 404


def test_another_site_has_nothing_verified(page: Served) -> None:
    headers = FORM | {"sec-fetch-site": "cross-site"}
    assert page.ask("POST", PATH, body=b"seal=", headers=headers).status == 403


def test_one_verification_of_a_tenant_runs_at_once(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = list[int]()

    def _verification(*_: object) -> None:
        inner.append(verified(page).status)
        raise onrecord.InvalidInput("enough")

    monkeypatch.setattr(proof, "_verification", _verification)
    assert verified(page).status == 422
    assert inner == [429]
