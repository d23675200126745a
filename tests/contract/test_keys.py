"""Keys of the service: what each gives, until when, and that it was used."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.service import keyring as keyring_module
from onrecord.adapters.service.access import Access
from onrecord.adapters.service.keyring import KEPT_FOR, USED_EVERY, LogKeyring
from onrecord.adapters.upkeep.keys import (
    NewKey,
    issue_key,
    moment,
    revoke_key,
    service_keys,
)
from onrecord.domain.errors import InvalidContent, InvalidInput, StorageUnavailable
from onrecord.domain.log import Backend, Conflict
from onrecord.domain.marks.marked_ids import is_key, is_marked, operators_of
from onrecord.domain.operators import ISSUED, REVOKED, USED, KeyRole, KeyUsed, encode_fact
from tests.contract.keys import fitting, issued
from tests.contract.places import WHERE_THE_LOG_IS, Place, prepared
from tests.factories import OTHER_TENANT, TENANT, appending, raw_event
from tests.patience import PATIENCE


@pytest.fixture(params=WHERE_THE_LOG_IS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield from prepared(request.param, tmp_path)


HOUR = USED_EVERY


@dataclass
class Clock:
    """Clocks of a keyring, which a test sets."""

    microseconds: int
    seconds: float = 1000.0

    def now(self) -> int:
        return self.microseconds

    def elapsed(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock(moment())


@pytest.fixture
def ring(backend: Backend, clock: Clock) -> LogKeyring:
    return LogKeyring(backend, now=clock.now, elapsed=clock.elapsed)


def types_of(backend: Backend, key: NewKey) -> list[str]:
    return [event.type for event in backend.read(key.key_id)]


# What a key gives.


@pytest.mark.parametrize(
    ("role", "all_tenants"),
    [("read", False), ("write", False), ("operate", False), ("operate", True)],
)
def test_a_key_gives_what_it_was_issued_for(
    backend: Backend, ring: LogKeyring, role: KeyRole, all_tenants: bool
) -> None:
    key = issued(backend, role=role, all_tenants=all_tenants)
    assert key.token.startswith(f"ork_{key.key_id.hex}_")
    assert is_key(key.key_id)
    assert is_marked(key.key_id)
    wanted = Access(TENANT, role, "the runtime", key.key_id, all_tenants)
    assert ring.access(key.token) == wanted
    assert ring.access(key.token) == wanted


def test_keys_of_two_tenants_are_told_apart(backend: Backend, ring: LogKeyring) -> None:
    ours, theirs = issued(backend), issued(backend, OTHER_TENANT)
    assert [access.tenant for key in (ours, theirs) if (access := ring.access(key.token))] == [
        TENANT,
        OTHER_TENANT,
    ]
    assert [entry.key_id for entry in service_keys(backend, TENANT)] == [ours.key_id]
    assert [entry.key_id for entry in service_keys(backend, OTHER_TENANT)] == [theirs.key_id]


def spoiled(token: str, other: str) -> dict[str, str]:
    id_, secret = token[4:36], token[37:]
    end = "A" if secret[-1] != "A" else "B"
    return {
        "nothing": "",
        "no key": "sk-ant-api03-abc",
        "no secret": f"ork_{id_}_",
        "half a secret": token[:-1],
        "more behind it": token + "A",
        "a line behind it": token + "\n",
        "another last letter": token[:-1] + end,
        "another secret": f"ork_{id_}_{other[37:]}",
        "another id": f"ork_{other[4:36]}_{secret}",
        "upper case": f"ork_{id_.upper()}_{secret}",
        "an id of nobody": f"ork_{uuid4().hex}_{secret}",
        "no ASCII": f"ork_{id_}_{'é' * 43}",
        "half a surrogate pair": token[:-1] + "\ud83d",
        "another prefix": "okr" + token[3:],
    }


@pytest.mark.parametrize("how", spoiled("0" * 80, "1" * 80))
def test_what_is_no_key_gives_nothing_and_asks_the_log_nothing(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    token, other = issued(backend).token, issued(backend).token
    ring = LogKeyring(backend)
    assert ring.access(token) is not None
    for verb in ("read", "head", "new_since", "owner", "first_events"):
        monkeypatch.setattr(backend, verb, _never)
    assert ring.access(spoiled(token, other)[how]) is None


def _never(*_: object, **__: object) -> None:
    raise AssertionError("the log was asked")


def test_strangers_fill_nothing(backend: Backend) -> None:
    ring, token = LogKeyring(backend), issued(backend).token
    assert ring.access(token) is not None
    before = kept_by(ring)
    for _ in range(200):
        assert ring.access(f"ork_4f4e524b{secrets.token_hex(12)}_{token[37:]}") is None
        assert ring.access(f"{token[:37]}{secrets.token_urlsafe(32)}") is None
    assert kept_by(ring) == before


def kept_by(ring: LogKeyring) -> int:
    tables = (vars(ring)[name] for name in ("_kept", "_told", "_untold"))
    return sum(map(len, tables))


def test_what_is_kept_is_bounded(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(keyring_module, "MOST_KEPT", 3)
    ring = LogKeyring(backend, now=clock.now, elapsed=clock.elapsed)
    keys = [issued(backend) for _ in range(7)]
    for key in keys:
        assert ring.access(key.token) is not None
        assert ring.access(fitting(backend)[0]) is None
    assert kept_by(ring) <= 6
    ring.record_uses()
    assert kept_by(ring) <= 6
    assert all(ring.access(key.token) is not None for key in keys)


# Until when.


def test_a_revoked_key_counts_no_longer_than_it_is_kept(
    backend: Backend, ring: LogKeyring, clock: Clock
) -> None:
    key = issued(backend)
    assert ring.access(key.token) is not None
    assert revoke_key(backend, TENANT, key.key_id, reason="lost", actor="ana")
    assert LogKeyring(backend).access(key.token) is None
    clock.seconds += KEPT_FOR - 0.5
    assert ring.access(key.token) is not None
    clock.seconds += 1
    assert ring.access(key.token) is None
    assert KEPT_FOR <= PATIENCE


def test_being_asked_for_again_and_again_keeps_no_revoked_key(
    backend: Backend, ring: LogKeyring, clock: Clock
) -> None:
    key = issued(backend)
    assert ring.access(key.token) is not None
    revoke_key(backend, TENANT, key.key_id, reason="lost", actor="ana")
    given = list[bool]()
    for _ in range(20):
        clock.seconds += KEPT_FOR / 10
        given.append(ring.access(key.token) is not None)
    assert given == [True] * 9 + [False] * 11


def test_a_key_expires_though_it_is_kept(backend: Backend, ring: LogKeyring, clock: Clock) -> None:
    key = issued(backend, expires_at=clock.microseconds + HOUR)
    assert ring.access(key.token) is not None
    clock.microseconds += HOUR - 1
    assert ring.access(key.token) is not None
    clock.microseconds += 1
    assert ring.access(key.token) is None
    (entry,) = service_keys(backend, TENANT)
    assert (entry.status(clock.microseconds - 1), entry.status(clock.microseconds)) == (
        "valid",
        "expired",
    )


def test_a_key_that_was_revoked_is_revoked_for_good(backend: Backend) -> None:
    key = issued(backend)
    assert revoke_key(backend, TENANT, key.key_id, reason="lost", actor="ana")
    assert not revoke_key(backend, TENANT, key.key_id, reason="again", actor="eve")
    (entry,) = service_keys(backend, TENANT)
    assert entry.revocation is not None
    assert (entry.revocation.actor, entry.revocation.reason) == ("ana", "lost")
    assert entry.status(moment()) == "revoked"
    assert types_of(backend, key) == [ISSUED, REVOKED]


@pytest.mark.parametrize("id_", [uuid4(), UUID("4f4e524b-0000-8000-8000-000000000000")])
def test_who_revokes_what_is_no_key_is_told(backend: Backend, id_: UUID) -> None:
    theirs = issued(backend, OTHER_TENANT)
    for other in (id_, theirs.key_id, operators_of(TENANT)):
        with pytest.raises(InvalidInput, match="no key of this tenant"):
            revoke_key(backend, TENANT, other, reason="lost", actor="ana")
    assert LogKeyring(backend).access(theirs.token) is not None


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"role": "admin"}, "role is one of"),
        ({"role": "read", "all_tenants": True}, "for all tenants"),
        ({"expires_at": 1}, "expired already"),
        ({"name": " "}, "not blank"),
        ({"actor": ""}, "not blank"),
        ({"name": "x" * 501}, "characters"),
    ],
)
def test_a_key_that_makes_no_sense_is_not_issued(
    backend: Backend, wrong: dict[str, Any], why: str
) -> None:
    given: dict[str, Any] = {"name": "x", "actor": "ana"}
    given |= wrong
    with pytest.raises((InvalidInput, InvalidContent), match=why):
        issue_key(backend, TENANT, **given)
    assert list(service_keys(backend, TENANT)) == []
    assert not LogKeyring(backend).is_used()


def test_a_reason_is_needed(backend: Backend) -> None:
    key = issued(backend)
    with pytest.raises(InvalidContent, match="give a reason"):
        revoke_key(backend, TENANT, key.key_id, reason=" ", actor="ana")
    assert LogKeyring(backend).access(key.token) is not None


# When it was used.


def test_a_use_is_told_of_once_an_hour_whoever_serves(
    backend: Backend, ring: LogKeyring, clock: Clock
) -> None:
    key, other = issued(backend), LogKeyring(backend, now=clock.now, elapsed=clock.elapsed)
    assert ring.record_uses() == 0
    used_at = list[int]()
    for minutes in range(0, 180, 10):
        for one in (ring, other):
            assert one.access(key.token) is not None
            if one.record_uses():
                used_at.append(minutes)
        clock.microseconds += HOUR // 6
    assert used_at == [0, 60, 120]
    assert types_of(backend, key) == [ISSUED, USED, USED, USED]
    (entry,) = service_keys(backend, TENANT)
    assert entry.used_at == clock.microseconds - HOUR
    assert entry.used_time is not None


def test_a_use_is_told_of_beside_the_request(backend: Backend, ring: LogKeyring) -> None:
    key = issued(backend)
    assert ring.access(key.token) is not None
    assert types_of(backend, key) == [ISSUED]
    assert ring.record_uses() == 1
    assert types_of(backend, key) == [ISSUED, USED]


def test_nothing_is_told_of_a_key_after_it_was_revoked(backend: Backend, ring: LogKeyring) -> None:
    key = issued(backend)
    assert ring.access(key.token) is not None
    revoke_key(backend, TENANT, key.key_id, reason="lost", actor="ana")
    ring.record_uses()
    assert types_of(backend, key) == [ISSUED, REVOKED]


def test_of_two_servers_that_tell_at_once_one_does(backend: Backend, ring: LogKeyring) -> None:
    key = issued(backend)
    assert ring.access(key.token) is not None
    fact = KeyUsed(tenant=TENANT, at=moment())
    late = raw_event(body=encode_fact(fact))._replace(type=USED)
    request = appending(key.key_id, late, tenant=operators_of(TENANT), expected_version=1)
    assert ring.record_uses() == 1
    assert backend.append([request]) == [Conflict(2)]


def test_a_use_that_cannot_be_recorded_is_tried_again(
    backend: Backend, ring: LogKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = issued(backend)
    assert ring.access(key.token) is not None
    with monkeypatch.context() as away:
        away.setattr(backend, "append", _away)
        assert ring.record_uses() == 0
    assert ring.access(key.token) is not None
    assert ring.record_uses() == 1


def _away(*_: object, **__: object) -> None:
    raise StorageUnavailable("the database is away")


def test_a_log_that_cannot_be_asked_is_an_error_and_not_a_wrong_key(
    backend: Backend, ring: LogKeyring, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = issued(backend)
    assert ring.access(key.token) is not None
    clock.seconds += KEPT_FOR + 1
    with monkeypatch.context() as away:
        away.setattr(backend, "new_since", _away)
        with pytest.raises(StorageUnavailable):
            ring.access(key.token)
    assert ring.access(key.token) is not None


# Whether keys are needed.


def test_a_log_with_a_key_for_whichever_tenant_is_one_that_needs_keys(
    backend: Backend, ring: LogKeyring, clock: Clock
) -> None:
    for near in ("4f4e5243", "4f4e524a", "4f4e524b", "4f4e524c"):
        conversation = UUID(f"{near}-0000-7000-8000-000000000000")
        backend.append([appending(conversation, raw_event())])
    assert not ring.is_used()
    key = issued(backend, OTHER_TENANT)
    clock.seconds += KEPT_FOR + 1
    assert ring.is_used()
    revoke_key(backend, OTHER_TENANT, key.key_id, reason="lost", actor="ana")
    assert LogKeyring(backend).is_used()
