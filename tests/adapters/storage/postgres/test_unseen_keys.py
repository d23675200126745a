"""A role that sees no keys of the service: what it serves is open to nobody, unless somebody said so."""

from __future__ import annotations

import re
import subprocess
from uuid import UUID

import psycopg
import pytest
import urllib3

from onrecord.adapters.service.keyring import KEPT_FOR, LogKeyring
from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.domain.errors import InvalidInput
from tests.adapters.cli.command import PROGRAM
from tests.adapters.service.served import served
from tests.adapters.storage.postgres.roles import ROLE, admit
from tests.adapters.storage.postgres.test_key_roles import EITHER, admitted
from tests.contract.keys import issued
from tests.factories import TENANT
from tests.patience import PATIENCE
from tests.postgres_server import owner_s


@pytest.mark.parametrize("is_one_issued", [True, False])
def test_who_sees_no_key_is_open_to_nobody_unless_told(
    url: str, owner: Postgres, is_one_issued: bool
) -> None:
    if is_one_issued:
        issued(owner)
    role = admitted(url, "runtime", TENANT)
    ring = LogKeyring(role)
    assert ring.is_used()
    with pytest.raises(InvalidInput, match=r"admit_gateway.*--without-keys"):
        ring.must_show_keys()
    told = LogKeyring(role, without_keys=True)
    told.must_show_keys()
    assert not told.is_used()
    role.close()


@EITHER
@pytest.mark.parametrize("kind", ["gateway", "issuer", "auditor", "eraser"])
def test_who_sees_keys_is_open_until_the_first_one_whatever_it_was_told(
    url: str, owner: Postgres, bound: UUID | None, kind: str
) -> None:
    role = admitted(url, kind, bound)
    for without_keys in (True, False):
        ring = LogKeyring(role, without_keys=without_keys)
        ring.must_show_keys()
        assert not ring.is_used()
    issued(owner)
    assert LogKeyring(role, without_keys=True).is_used()
    assert LogKeyring(role).is_used()
    role.close()


def test_a_role_that_sees_keys_no_more_is_open_to_nobody(url: str, owner: Postgres) -> None:
    role, elapsed = admitted(url, "gateway", TENANT), 0.0
    ring = LogKeyring(role, elapsed=lambda: elapsed)
    assert not ring.is_used()
    with psycopg.connect(owner_s(url), autocommit=True) as connection:
        connection.execute("SELECT onrecord.admit(%s, %s::uuid)", (ROLE, TENANT))
    elapsed += KEPT_FOR
    assert ring.is_used()
    role.close()


def test_a_role_that_sees_no_keys_is_not_served_unless_told(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_TENANT", str(TENANT))
    command = (*PROGRAM, "--url", admit(url, TENANT), "serve", "--port", "0")
    refused = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert refused.returncode == 1
    assert "onrecord.admit_gateway(" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    told = (*command, "--without-keys")
    with subprocess.Popen(told, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            place = re.search(r"http://\S+", process.stderr.readline())
            assert place is not None
            path = f"{place[0]}/v1/conversations/a/prompts"
            assert [said(path, {}), said(path, {"x-forwarded-for": "192.0.2.1"})] == [201, 401]
        finally:
            process.terminate()
        assert process.wait(PATIENCE) == 0


def said(path: str, headers: dict[str, str]) -> int:
    body = {"text": "Hallo"}
    return urllib3.request("POST", path, json=body, headers=headers, timeout=PATIENCE).status


def test_a_service_that_sees_no_keys_answers_nobody(url: str) -> None:
    with served(admit(url, TENANT)) as service:
        assert service.ask("GET", "/v1/conversations/a").status == 401
        assert service.ask("GET", "/health").status == 200
