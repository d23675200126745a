"""The service with the keys of its log: issued, used and revoked while it answers."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.service import keyring
from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.adapters.storage.http.http import open_http
from onrecord.adapters.store import backend_of
from onrecord.adapters.upkeep.keys import issue_key, moment, revoke_key, service_keys
from onrecord.domain.erasure.targets import ErasureTarget
from onrecord.domain.errors import OnrecordError
from onrecord.domain.log import Append, Backend
from onrecord.domain.marks.marked_ids import move_id, operators_of
from onrecord.domain.new_events import Stamp, draft_fact
from onrecord.domain.operators import LogMoved
from tests.adapters.service.served import served
from tests.adapters.service.test_tails import tail
from tests.factories import appending, drafted, prompt
from tests.patience import until
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server

TENANT, OTHER = UUID(int=0), UUID(int=0xB)
PATH = "/v1/conversations/a"
SAID = {"text": "Hallo"}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'log.db'}"
        return
    made = fresh_log(VERSIONS[-1])
    yield made
    server(VERSIONS[-1]).drop(made)


@contextmanager
def beside(url: str) -> Generator[Backend]:
    """The same log, opened by another program."""
    with onrecord.connect(url) as store:
        yield backend_of(store)


def test_a_key_that_was_issued_is_needed_from_then_on(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "KEPT_FOR", 0.05)
    with served(url) as service, beside(url) as log:
        assert service.ask("GET", PATH).status == 404
        key = issue_key(log, TENANT, "the runtime", actor="ana")
        until(lambda: service.ask("GET", PATH).status == 401)
        assert service.ask("GET", PATH, key="x").status == 401
        assert service.ask("POST", f"{PATH}/prompts", SAID, key=key.token).status == 201
        assert service.ask("GET", PATH, key=key.token).status == 200
        assert service.ask("GET", PATH, key=key.token[:-1] + "~").status == 401
        revoke_key(log, TENANT, key.key_id, reason="lost", actor="ana")
        until(lambda: service.ask("GET", PATH, key=key.token).status == 401)
        assert service.ask("GET", PATH).status == 401


def test_a_key_gives_its_role_and_its_tenant(url: str) -> None:
    with beside(url) as log:
        reader = issue_key(log, TENANT, "reader", actor="ana", role="read").token
        writer = issue_key(log, TENANT, "writer", actor="ana").token
        stranger = issue_key(log, OTHER, "stranger", actor="ana").token
    with served(url) as service:
        assert service.ask("POST", f"{PATH}/prompts", SAID, key=reader).status == 403
        assert service.ask("POST", f"{PATH}/prompts", SAID, key=writer).status == 201
        assert service.ask("GET", PATH, key=reader).status == 200
        assert service.ask("GET", PATH, key=stranger).status == 404
        named = {"onrecord-tenant": str(TENANT)}
        assert service.ask("GET", PATH, key=stranger, headers=named).status == 403


def test_that_a_key_was_used_is_recorded_when_the_server_ends(url: str) -> None:
    with beside(url) as log:
        used = issue_key(log, TENANT, "used", actor="ana")
        issue_key(log, TENANT, "idle", actor="ana")
    with served(url) as service:
        for _ in range(3):
            assert service.ask("GET", PATH, key=used.token).status == 404
    with beside(url) as log:
        entries = {entry.issued.name: entry.used_at for entry in service_keys(log, TENANT)}
        assert entries["idle"] is None
        assert entries["used"] is not None
        assert [event.type for event in log.read(used.key_id)] == ["key.issued", "key.used"]


def test_no_key_reaches_what_is_told_of_keys(url: str) -> None:
    with beside(url) as log:
        key = issue_key(log, TENANT, "operator", actor="ana", role="operate", all_tenants=True)
        theirs = issue_key(log, OTHER, "theirs", actor="ana")
    with served(url) as service:
        for tenant in (TENANT, OTHER):
            named = {"onrecord-tenant": str(operators_of(tenant))}
            assert service.ask("GET", PATH, key=key.token, headers=named).status == 403
            said = service.ask("POST", f"{PATH}/prompts", SAID, key=key.token, headers=named)
            assert said.status == 403
        for id_ in (key.key_id, theirs.key_id):
            found = service.ask("GET", f"/v1/conversations/{id_}", key=key.token)
            assert found.status == 404
            assert b"digest" not in found.data


def test_a_tail_of_a_revoked_key_gets_nothing_more(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "KEPT_FOR", 0.05)
    with served(url) as service, beside(url) as log:
        reader, writer = (issue_key(log, TENANT, name, actor="ana") for name in ("a", "b"))
        with tail(service, key=reader.token) as followed:
            service.ask("POST", f"{PATH}/prompts", SAID, key=writer.token)
            assert followed.events(1)
            revoke_key(log, TENANT, reader.key_id, reason="lost", actor="ana")
            until(lambda: service.ask("GET", PATH, key=reader.token).status == 401)
            later = {"text": "Nobody may read this."}
            assert service.ask("POST", f"{PATH}/prompts", later, key=writer.token).status == 201
            assert not [line for line in followed.lines() if "Nobody" in line]


def test_an_operator_destroys_no_key_of_subjects_over_http(url: str) -> None:
    with beside(url) as log:
        key = issue_key(log, TENANT, "operator", actor="ana", role="operate")
    of_subject = ErasureTarget(subject="a" * 32, key="b" * 32, rule="none")
    with served(url) as service, closing(open_http(service.url, key.token)) as away:
        operators = Operators(away, TENANT)
        with pytest.raises(OnrecordError, match="subjects are erased where the log is"):
            operators.destroy_key("b" * 32, UUID(int=9), "mallory")
        with pytest.raises(OnrecordError, match="subjects are erased where the log is"):
            operators.intend(UUID(int=8), "mallory", "none", of=of_subject)


@pytest.mark.parametrize("all_tenants", [False, True])
def test_no_client_says_that_a_log_was_moved(url: str, all_tenants: bool) -> None:
    with beside(url) as log:
        key = issue_key(
            log, TENANT, "operator", actor="ana", role="operate", all_tenants=all_tenants
        )
    root, origin = "0" * 64, UUID(int=9)
    moved = LogMoved(
        tenant=TENANT,
        origin=origin,
        incarnation=UUID(int=1),
        shard=0,
        size=1,
        root=root,
        events=1,
        pairs=root,
        actor="mallory",
        at=moment(),
    )
    operators, stream = operators_of(TENANT), move_id(TENANT, origin)
    stamp = Stamp(UUID(int=7), moved.at, bytes(16), operators, stream, None)
    forged = Append(operators, stream, (draft_fact(moved, stamp),), 0)
    with served(url) as service, closing(open_http(service.url, key.token)) as away:
        with pytest.raises(OnrecordError, match="a log is moved where the log is"):
            away.append([forged])
        assert away.head(stream).version == 0


def test_a_client_of_one_tenant_chooses_no_codec_of_an_event(url: str) -> None:
    with beside(url) as log:
        key = issue_key(log, TENANT, "writer", actor="ana")
    event = drafted(prompt(), conversation := UUID(int=7), tenant=TENANT)
    header = event.header.replace(b'"codec":"json"', b'"codec":"plain"')
    with served(url) as service, closing(open_http(service.url, key.token)) as away:
        with pytest.raises(OnrecordError, match="a codec that is not JSON"):
            away.append([appending(conversation, event._replace(header=header), tenant=TENANT)])
        assert away.head(conversation).version == 0
