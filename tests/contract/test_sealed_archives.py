"""What a sealed store archives: evidence that was verified where it is kept, before anything is erased."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import onrecord_verify
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.seals.key_files import make_key_file
from onrecord.adapters.seals.places import place_at
from onrecord.adapters.seals.store_seals import StoreSeals
from onrecord.adapters.settings import SealSettings
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.transfer.evidence import Evidence
from onrecord.adapters.upkeep.archives import archived_bytes
from onrecord.adapters.upkeep.dispositions import Disposition
from onrecord.adapters.upkeep.erasing import Erasing
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from tests.adapters.transfer.bundles import check
from tests.contract.places import WHERE_THE_LOG_IS, prepared
from tests.factories import TENANT


class Death(BaseException):
    """The process ends here."""


class Office:
    """A sealed store, whose conversations run out a day after their last event."""

    def __init__(self, store: Store, settings: SealSettings, vkey: str, archives: Path) -> None:
        self.store = store
        self.settings = settings
        self.vkey = vkey
        self.archives = archives
        store.conversation("a").user("swordfish", documents=[b"%PDF the waybill"])
        store.retention.set_class(1, rule="own")

    def expire(self, settings: SealSettings | None = None) -> list[Disposition]:
        """What became of each conversation whose time has come, sealed as settings say."""
        outcomes: list[Disposition] = []
        backend = backend_of(self.store)
        seals = StoreSeals(backend, settings or self.settings)
        with pytest.MonkeyPatch.context() as patch:
            real, ahead = backend.clock, timedelta(days=2) // timedelta(microseconds=1)
            patch.setattr(backend, "clock", lambda: real() + ahead)
            patch.setattr(self.store.retention, "_seals", seals)
            self.store.retention.expire(str(self.archives), each=outcomes.append)
        return outcomes

    def evidence(self, one: Disposition) -> onrecord_verify.Bundle:
        """What an auditor finds in an archive."""
        assert one.archive is not None
        data = b"".join(archived_bytes(place_at(str(self.archives)), one.archive.path))
        assert hashlib.sha256(data).hexdigest() == one.archive.sha256
        return check(data, self.vkey)


@pytest.fixture(params=WHERE_THE_LOG_IS)
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    for place in prepared(request.param, tmp_path):
        opened = place.open()
        key = make_key_file(tmp_path / "key", key_name_of(log_id_of(opened.digest)))
        settings = SealSettings((str(tmp_path / "seals"),), tmp_path / "key")
        store = Store(
            opened, "a store", spool=Spool(tmp_path / "spool"), tenant=TENANT, actor="eve"
        )
        yield Office(store, settings, str(key.public), tmp_path / "archives")
        opened.close()


def test_a_sealed_store_archives_evidence(office: Office) -> None:
    (one,) = office.expire()
    assert (one.is_erased, one.fault) == (True, None)
    counts = office.evidence(one).counts
    assert (counts["conversations"], counts["events"], counts["documents"]) == (1, 2, 1)
    assert one.archive is not None
    assert one.archive.sha256 in office.store.erasures()[0].intention.reason


def test_evidence_of_a_run_before_counts_however_far_the_log_was_sealed_since(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(*_: object) -> None:
        raise Death

    with monkeypatch.context() as patch:
        patch.setattr(Erasing, "forget", dying)
        with pytest.raises(Death):
            office.expire()
    (manifest,) = office.archives.rglob("manifest.json")
    written = manifest.read_bytes()
    office.store.conversation("b").user("Another one.")
    outcomes = office.expire()
    assert [(one.is_erased, one.fault) for one in outcomes] == [(True, None), (True, None)]
    assert sum(office.evidence(one).counts["events"] for one in outcomes) == 4
    assert manifest.read_bytes() == written


def test_what_is_not_sealed_is_not_erased(office: Office) -> None:
    """Whoever expires has the public key only; somebody else seals."""
    public = replace(office.settings, key=None, public_keys=(office.vkey,))
    (one,) = office.expire(public)
    assert (one.is_erased, "is not sealed yet" in (one.fault or "")) == (False, True)
    assert office.store.erasures() == []
    StoreSeals(backend_of(office.store), office.settings).seal()
    (one,) = office.expire(public)
    assert (one.is_erased, one.fault) == (True, None)


def test_evidence_that_proves_nothing_erases_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Evidence.lines

    def lines(bundle: Evidence) -> Iterator[bytes]:
        yield from (line for line in real(bundle) if b'"version":2' not in line)

    with monkeypatch.context() as patch:
        patch.setattr(Evidence, "lines", lines)
        (one,) = office.expire()
    assert (one.is_erased, "proves nothing: line" in (one.fault or "")) == (False, True)
    assert "swordfish" not in (one.fault or "")
    assert office.store.erasures() == []


def test_a_fork_of_what_was_erased_is_archived_without_the_request_that_it_cannot_show(
    office: Office,
) -> None:
    origin = office.store.conversation("a")
    origin.user("Where is my parcel? " * 500)
    fork = origin.fork("b")
    request = {"model": "gpt-5", **fork.request("openai-responses")}
    fork.record_request(request, api="openai-responses")
    StoreSeals(backend_of(office.store), office.settings).seal()
    office.store.forget("a", reason="asked to")
    (one,) = office.expire()
    assert (one.key, one.is_erased, one.fault) == ("b", True, None)
    assert office.evidence(one).counts["unexplained"] == 1
