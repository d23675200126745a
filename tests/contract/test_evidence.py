"""An evidence bundle of any backend holds, and is the same rule on each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from onrecord.adapters.transfer.evidence import Scope
from onrecord.domain.log import Backend
from tests.adapters.transfer.bundles import check, lines_of, sealed_store, talk
from tests.contract.places import WHERE_THE_LOG_IS, Place, prepared
from tests.factories import TENANT


@pytest.fixture(params=WHERE_THE_LOG_IS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Over HTTP nobody reads whole shards, so nobody seals there."""
    yield from prepared(request.param, tmp_path)


def test_the_evidence_of_a_tenant_holds(backend: Backend, tmp_path: Path) -> None:
    sealed = sealed_store(backend, tmp_path)
    talk(sealed)
    data = sealed.evidence(Scope(TENANT))
    bundle = check(data, sealed.vkey)
    names = ("conversations", "requests", "documents", "erased")
    assert [bundle.counts[name] for name in names] == [3, 1, 2, 2]
    assert len(bundle.operators) == 1
    shown = [line["conversation"] for line in lines_of(data) if "conversation" in line]
    assert shown == sorted(shown)


def test_the_evidence_of_a_conversation_holds(backend: Backend, tmp_path: Path) -> None:
    sealed = sealed_store(backend, tmp_path)
    talk(sealed)
    assert check(sealed.evidence(), sealed.vkey).counts["events"] == 5
