"""`onrecord keys issue`, `keys list`, `keys revoke`."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

import onrecord
from onrecord.adapters.service.access import Access
from onrecord.adapters.service.keyring import LogKeyring
from onrecord.adapters.store import backend_of
from tests.adapters.cli.command import Command, Done, in_process, on_a_terminal, url_of
from tests.adapters.service.served import served

TENANT = UUID(int=0)
"""Of a store that names none."""


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ONRECORD_ACTOR", "ana")
    monkeypatch.delenv("ONRECORD_TENANT", raising=False)
    monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
    return url_of(tmp_path)


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str
) -> Command:
    return in_process(monkeypatch, capsys)


def given_by(url: str, token: str) -> Access | None:
    with closing(onrecord.connect(url)) as store:
        return LogKeyring(backend_of(store)).access(token)


def only_key(command: Command) -> dict[str, str]:
    (listed,) = command("keys", "list", "--json").documents
    return dict(listed)


def test_a_key_is_printed_once_and_gives_what_was_asked_for(url: str, command: Command) -> None:
    done = command("keys", "issue", "the runtime", "--role", "read", "--expires", "90d")
    assert done.code == 0
    assert "cannot be shown again" in done.err
    access = given_by(url, done.out.strip())
    assert access is not None
    assert (access.tenant, access.role, access.name) == (TENANT, "read", "the runtime")
    listed = only_key(command)
    assert (listed["id"], listed["issued_by"], listed["status"]) == (
        str(access.key_id),
        "ana",
        "valid",
    )
    expires = datetime.fromisoformat(listed["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=89) < expires <= timedelta(days=90)
    secret = done.out.strip()[37:]
    for told in (("keys", "list"), ("audit",), ("verify",)):
        again = command(*told)
        assert secret not in again.out + again.err


def test_a_key_is_for_the_tenant_that_is_named(url: str, command: Command) -> None:
    tenant = uuid4()
    done = command("keys", "issue", "theirs", "--tenant", str(tenant), "--json")
    access = given_by(url, done.document["key"])
    assert access is not None
    assert (access.tenant, access.all_tenants) == (tenant, False)
    assert command("keys", "list").out == ""
    assert command("keys", "list", "--tenant", str(tenant)).columns[0][:5] == [
        done.document["id"],
        "theirs",
        "write",
        "one",
        "valid",
    ]


def test_a_key_for_all_tenants_is_one_to_operate(url: str, command: Command) -> None:
    assert command("keys", "issue", "x", "--all-tenants").code == 1
    done = command("keys", "issue", "x", "--all-tenants", "--role", "operate", "--json")
    access = given_by(url, done.document["key"])
    assert access is not None
    assert (access.role, access.all_tenants) == ("operate", True)


def test_a_revoked_key_gives_nothing_and_the_list_says_who_did_it(
    url: str, command: Command
) -> None:
    token = command("keys", "issue", "the runtime").out.strip()
    id_ = only_key(command)["id"]
    done = command("keys", "revoke", id_, "--reason", "lost", "--actor", "ben")
    assert (done.code, done.out) == (0, f"{id_} is revoked.\n")
    assert given_by(url, token) is None
    listed = only_key(command)
    assert (listed["status"], listed["revoked_by"], listed["reason"]) == ("revoked", "ben", "lost")
    again = command("keys", "revoke", id_, "--reason", "lost", "--json")
    assert again.document == {"id": id_, "revoked": False}


def test_the_audit_tells_who_issued_and_revoked_it(command: Command) -> None:
    command("keys", "issue", "the runtime")
    id_ = only_key(command)["id"]
    command("keys", "revoke", id_, "--reason", "lost", "--actor", "ben")
    entries = command("audit", "--json").document["entries"]
    told = [(each["type"], each["conversation"], each["actor_name"]) for each in entries]
    assert told == [("key.revoked", id_, "ben"), ("key.issued", id_, "ana")]
    assert len(command("audit", "--type", "key.issued", "--json").document["entries"]) == 1
    assert command("verify", "--views").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("issue", "x", "--role", "admin"), 2, "not one of read, write"),
        (("issue", "x", "--expires", "soon"), 2, "is no time"),
        (("issue", "x", "--expires", "0d"), 2, "is no time"),
        (("issue", "x", "--expires", "2020-01-01"), 1, "expired already"),
        (("issue", "x", "--expires", "9999-12-31T23:59-12:00"), 1, "before the year 10000"),
        (("issue", "x", "--tenant", "us"), 2, "is a UUID"),
        (("issue", " "), 1, "not blank"),
        (("revoke", "x", "--reason", "lost"), 2, "is a UUID"),
        (("revoke", str(uuid4()), "--reason", "lost"), 1, "no key of this tenant"),
        (("revoke", str(uuid4())), 1, "say it with --reason"),
        (("list", "--tenant", "us"), 2, "is a UUID"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    command: Command, url: str, arguments: tuple[str, ...], code: int, why: str
) -> None:
    onrecord.connect(url).close()
    done = command("keys", *arguments)
    assert (done.code, why in " ".join(done.err.replace("│", " ").split())) == (code, True), done
    assert command("keys", "list").out == ""


def test_a_list_makes_no_store(command: Command, tmp_path: Path) -> None:
    assert command("keys", "list").code == 1
    assert command("keys", "revoke", str(uuid4()), "--reason", "lost").code == 1
    assert list(tmp_path.iterdir()) == []


def test_the_store_is_named_before_or_after_the_command(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONRECORD_URL")
    url = f"sqlite:///{tmp_path / 'other.db'}"
    assert command("keys", "issue", "x", "--url", url).code == 0
    rows = [
        command("--url", url, "keys", "list").columns,
        command("keys", "--url", url, "list").columns,
        command("keys", "list", "--url", url).columns,
    ]
    assert len(rows[0]) == 1
    assert rows[0] == rows[1] == rows[2]


def test_on_a_terminal_the_key_stands_on_one_line(url: str) -> None:
    written = on_a_terminal("keys", "issue", "the runtime", columns=60)
    (token,) = [line for line in written.splitlines() if line.startswith("ork_")]
    assert given_by(url, token) is not None
    drawn = on_a_terminal("keys", "list", columns=60)
    assert token[4:12] in drawn.replace("-", "")
    assert token[37:] not in drawn


def test_every_command_of_keys_is_explained(command: Command) -> None:
    overview = command("keys", "--help").out
    for name in ("issue", "list", "revoke"):
        assert f" {name} " in overview
        explained: Done = command("keys", name, "--help")
        assert "--json" in explained.out
        assert "Example:" in explained.out


def test_json_has_the_members_that_the_page_names(command: Command) -> None:
    command("keys", "issue", "the runtime")
    page = (Path(onrecord.__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith("| `onrecord keys list`")]
    assert row.rsplit("|", 2)[1].strip() == "a line each: " + ", ".join(
        f"`{name}`" for name in json.loads(command("keys", "list", "--json").out)
    )


@pytest.mark.parametrize(
    "words",
    [
        ("issue", "laptop"),
        ("list",),
        ("revoke", str(UUID(int=1)), "--reason", "lost"),
    ],
)
def test_keys_of_a_service_are_told_to_be_where_its_log_is(
    command: Command, words: tuple[str, ...]
) -> None:
    with served() as service:
        done = command("keys", *words, "--url", service.url)
    assert done.code == 1
    assert "where the log is: give the URL of the service's own store" in done.err
