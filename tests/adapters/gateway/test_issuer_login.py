"""Which issuer lets people in, by options and variables: all of it is said, or it is an error."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from onrecord.adapters.gateway.issuer_login import issuer_sign_in
from onrecord.adapters.settings import SignInSettings, settings
from onrecord.domain.errors import InvalidInput, NotInstalled

WHOLE = SignInSettings(
    issuer="https://login.example.org",
    client="onrecord",
    secret="swordfish",
    roles=("read:groups=auditors",),
)


def test_an_issuer_that_is_said_whole_is_one() -> None:
    sign_in = issuer_sign_in(WHOLE)
    assert sign_in is not None
    assert sign_in.issuer.host == "login.example.org"
    assert issuer_sign_in(SignInSettings()) is None


def test_variables_say_what_options_do() -> None:
    named = settings(
        {
            "ONRECORD_OIDC_ISSUER": "https://login.example.org",
            "ONRECORD_OIDC_CLIENT": "onrecord",
            "ONRECORD_OIDC_SECRET": "swordfish",
            "ONRECORD_OIDC_ROLES": "read:groups=auditors",
        }
    )
    assert named.sign_in == WHOLE
    assert "swordfish" not in repr(named)


@pytest.mark.parametrize(
    "incomplete",
    [
        replace(WHOLE, issuer=None),
        replace(WHOLE, client=None),
        replace(WHOLE, secret=None),
        replace(WHOLE, roles=()),
        replace(WHOLE, roles=("everybody",)),
        replace(WHOLE, issuer="http://login.example.org"),
        replace(WHOLE, issuer="login.example.org"),
        replace(WHOLE, secret_file=Path("/nowhere/secret")),
    ],
)
def test_an_issuer_that_is_not_said_whole_is_refused(incomplete: SignInSettings) -> None:
    with pytest.raises(InvalidInput) as refused:
        issuer_sign_in(incomplete)
    assert "swordfish" not in str(refused.value)


def test_the_secret_may_lie_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("swordfish\n", encoding="utf-8")
    assert issuer_sign_in(replace(WHOLE, secret=None, secret_file=file)) is not None
    file.write_text("\n", encoding="utf-8")
    with pytest.raises(InvalidInput):
        issuer_sign_in(replace(WHOLE, secret_file=file))


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "onrecord.adapters.page.visitors.openid", raising=False)
    monkeypatch.setitem(sys.modules, "authlib.oauth2.rfc6749.parameters", None)
    with pytest.raises(NotInstalled, match=r"needs authlib: .*onrecord\[oidc\]"):
        issuer_sign_in(WHOLE)
