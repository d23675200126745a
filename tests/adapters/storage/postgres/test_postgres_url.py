"""No URL that is shown holds a password, however it is written."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from onrecord import InvalidInput
from onrecord.adapters.app import shown
from onrecord.adapters.storage.postgres.connections import address_of
from onrecord.adapters.storage.postgres.url import without_secrets


@pytest.mark.parametrize(
    ("url", "password", "expected"),
    [
        ("postgresql://ana:hush@db/app", "hush", "postgresql://ana@db/app"),
        ("postgresql://ana:hu#sh@db/app", "hu#sh", "postgresql://ana@db/app"),
        ("postgresql://ana:hu?sh@db/app", "hu?sh", "postgresql://ana@db/app"),
        ("postgresql://ana:hu:sh@db/app", "hu:sh", "postgresql://ana@db/app"),
        ("postgresql://ana:hu[s]h@db/app", "hu[s]h", "postgresql://ana@db/app"),
        ("postgresql://ana:hu%23sh@db/app", "hu#sh", "postgresql://ana@db/app"),
        ("postgresql://:hush@db/app", "hush", "postgresql://@db/app"),
        ("postgresql://ana:hush@[::1]:5432/app", "hush", "postgresql://ana@[::1]:5432/app"),
        ("postgres://h1:1,h2:2/app?user=ana", None, "postgres://h1:1,h2:2/app?user=ana"),
        ("postgresql:///app?host=/srv/a", None, "postgresql:///app?host=/srv/a"),
        ("postgresql://db/app?user=a@b&password=hush", "hush", "postgresql://db/app?user=a@b"),
        ("postgresql://db/app?passw%6Frd=hush", "hush", "postgresql://db/app"),
        (
            "postgresql://ana@db/app#?password=hush&port=1",
            "hush",
            "postgresql://ana@db/app#?port=1",
        ),
    ],
)
def test_a_password_that_the_server_is_told_is_not_shown(
    url: str, password: str | None, expected: str
) -> None:
    assert conninfo_to_dict(url).get("password") == password
    assert shown(url) == expected


@pytest.mark.parametrize(
    "name",
    ["password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret"],
)
def test_a_parameter_that_is_secret_is_not_shown(name: str) -> None:
    secrets = f"postgresql://db/app?port=1&{name}=hush&sslkey=file"
    assert shown(secrets) == "postgresql://db/app?port=1&sslkey=file"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana:hu@sh@127.0.0.1:1/app",
        "postgresql://ana:hu/sh@127.0.0.1/app",
        "postgresql://ana:1/hush@127.0.0.1/app",
        "postgresql://127.0.0.1?password=hu@sh",
        "postgresql://127.0.0.1:5432?password=hu@sh",
        "postgresql://127.0.0.1?user=ana&password=hu@sh@127.0.0.1",
    ],
)
def test_a_password_that_the_server_would_take_for_its_name_is_refused_and_not_shown(
    url: str,
) -> None:
    with pytest.raises(InvalidInput, match="%40 for an @") as refused:
        address_of(url)
    assert "sh@" not in str(refused.value)
    assert "@sh" not in str(refused.value)
    assert refused.value.__context__ is None
    assert shown(url) == "postgresql://…"


@pytest.mark.parametrize("text", ["hush", "postgresql:ana:hush@db", "//ana:hush@db"])
def test_of_what_is_no_url_nothing_is_shown(text: str) -> None:
    assert without_secrets(text) == "…"


def test_a_url_of_no_known_kind_is_refused_without_repeating_it() -> None:
    with pytest.raises(InvalidInput) as refused:
        address_of("postgresql://ana:hush@[bad")
    assert "hush" not in str(refused.value)
