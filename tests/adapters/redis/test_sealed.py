"""What is kept in Redis opens where it was sealed, by the log that sealed it, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.redis.tails import opened, seal
from onrecord.adapters.storage.append import Proof, keyed_digest, new_digest_key, proof_of
from onrecord.domain.log import Backend
from tests.contract.places import WHERE_THE_LOG_IS, prepared
from tests.factories import OTHER_TENANT, TENANT

KEY = new_digest_key()
PROVE = partial(proof_of, KEY)
PLACE = "onrecord:0:tail:0 17"


@given(st.binary(max_size=99) | st.integers(0, 1 << 18).map(bytes))
def test_what_is_sealed_opens_as_it_was(value: bytes) -> None:
    assert opened(PROVE, PLACE, seal(PROVE, PLACE, value)) == value


def test_what_was_sealed_for_another_place_or_by_another_log_does_not_open() -> None:
    sealed = seal(PROVE, PLACE, b"what was said")
    assert opened(PROVE, PLACE + "8", sealed) is None
    assert opened(partial(proof_of, new_digest_key()), PLACE, sealed) is None


@given(st.integers(0, 20), st.integers(1, 255))
def test_one_changed_byte_is_enough(at: int, change: int) -> None:
    sealed = bytearray(seal(PROVE, PLACE, b"what was said"))
    sealed[at] ^= change
    assert opened(PROVE, PLACE, bytes(sealed)) is None


@given(st.text(st.characters(codec=None), max_size=40))
def test_no_digest_of_a_name_that_callers_choose_is_a_proof(text: str) -> None:
    told = text.encode("utf-8", "surrogatepass")
    assert keyed_digest(KEY, text) not in {PROVE(told), PROVE(told[1:])}


@pytest.fixture(params=WHERE_THE_LOG_IS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """A log of each kind; a client of a service is never given the log's own word."""
    for place in prepared(request.param, tmp_path):
        with closing(place.open()) as opened_log:
            yield opened_log


def test_each_backend_proves_its_own_word(log: Backend) -> None:
    told = b"what was said"
    whose = (None, TENANT, OTHER_TENANT)
    proofs = [must(log.prover(tenant))(told) for tenant in whose]
    assert proofs == [must(log.prover(tenant))(told) for tenant in whose]
    assert len({*proofs, log.digest(told.decode())}) == 4


def must(prove: Proof | None) -> Proof:
    assert prove is not None
    return prove
