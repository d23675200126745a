"""The issuer says whom it signed out, and their sessions end: nobody else's, and by its word alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import urllib3

from onrecord.adapters.page.visitors.issuer import IssuerAway
from onrecord.adapters.page.visitors.issuer_http import IssuerHttp
from onrecord.adapters.page.visitors.issuer_sign_out import LOGOUT
from onrecord.adapters.telemetry.logs import Masking
from tests.adapters.page.hostile_tokens import (
    by_another_key,
    by_public_key,
    by_secret,
    changed_after_signing,
    unsigned,
)
from tests.adapters.page.local_issuer import ADA, CLIENT, LocalIssuer, local_issuer
from tests.adapters.page.test_issuer_sign_in import Page, cookies_of, served_by
from tests.adapters.page.test_sessions import Clock
from tests.adapters.page.test_visitors import FORM, OWN

EVENT = "http://schemas.openid.net/event/backchannel-logout"


@pytest.fixture
def page() -> Iterator[Page]:
    clock = Clock()
    with local_issuer() as issuer, served_by(issuer, clock) as service:
        yield Page(service, issuer, clock)


def signed_in(page: Page, sid: str | None = "here", **claims: Any) -> str:
    """The cookie of a new session of Ada, of a login that the issuer calls so."""
    page.issuer.claims = {**ADA, **({} if sid is None else {"sid": sid}), **claims}
    return cookies_of(page.sign_in())["onrecord"]


def claims_of(issuer: LocalIssuer, **claims: Any) -> dict[str, Any]:
    """What a logout token of Ada says; None takes a claim away."""
    now = int(time.time())
    token = {"iss": issuer.url, "aud": CLIENT, "iat": now, "exp": now + 120, "jti": "1"}
    whole: dict[str, Any] = {**token, "sub": "4711", "events": {EVENT: {}}, **claims}
    return {name: value for name, value in whole.items() if value is not None}


def told(page: Page, token: str, **headers: str) -> urllib3.BaseHTTPResponse:
    body = urlencode({"logout_token": token}).encode()
    return page.service.ask("POST", LOGOUT, body=body, headers=FORM | headers)


def sign_out(page: Page, **claims: Any) -> urllib3.BaseHTTPResponse:
    return told(page, page.issuer.signed(claims_of(page.issuer, **claims)))


def is_in(page: Page, *sessions: str) -> list[bool]:
    return [page.get("/", session).status == 200 for session in sessions]


def test_all_sessions_of_the_person_end_and_no_other(page: Page) -> None:
    ada = [signed_in(page, "here"), signed_in(page, "there"), signed_in(page, None)]
    other = signed_in(page, "other", sub="4712", groups=["auditors"])
    key = (
        page.service.ask("POST", "/sign-in", body=b"key=reader", headers=FORM | OWN)
        .headers["set-cookie"]
        .partition(";")[0]
    )
    answer = sign_out(page)
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    assert is_in(page, *ada, other, key) == [False, False, False, True, True]


@pytest.mark.parametrize("sub", ["4711", None])
def test_sessions_of_one_login_end(page: Page, sub: str | None) -> None:
    here, there = signed_in(page, "here"), signed_in(page, "there")
    assert sign_out(page, sid="here", sub=sub).status == 200
    assert is_in(page, here, there) == [False, True]


@pytest.mark.parametrize(("sub", "stays"), [("4711", False), (None, True)])
def test_a_login_without_an_id_ends_with_any_of_its_person(
    page: Page, sub: str | None, *, stays: bool
) -> None:
    session = signed_in(page, None)
    assert sign_out(page, sid="here", sub=sub).status == 200
    assert is_in(page, session) == [stays]


@pytest.mark.parametrize(
    "claims",
    [
        {"sid": "unknown", "sub": None},
        {"sid": "unknown"},
        {"sub": "nobody"},
        {"sub": "nobody", "sid": "here"},
    ],
)
def test_who_is_not_here_was_signed_out_before(page: Page, claims: dict[str, Any]) -> None:
    session = signed_in(page)
    assert sign_out(page, **claims).status == 200
    assert is_in(page, session) == [True]


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"aud": []},
        {"nonce": "one"},
        {"nonce": ""},
        {"events": None},
        {"events": {}},
        {"events": {EVENT: "yes"}},
        {"events": [EVENT]},
        {"events": {"http://schemas.openid.net/event/other": {}}},
        {"sub": None},
        {"sub": ""},
        {"sub": 4711},
        {"sid": ["here"]},
        {"jti": None},
        {"jti": ""},
        {"iat": None},
        {"iat": "now"},
        {"iat": 1_000},
        {"iat": 1_000, "exp": None},
        {"iat": 99_999_999_999},
        {"exp": 2_000},
    ],
)
def test_a_token_that_is_not_as_it_should_be_signs_nobody_out(
    page: Page, claims: dict[str, Any]
) -> None:
    session = signed_in(page)
    answer = sign_out(page, **claims)
    assert (answer.status, answer.headers["cache-control"]) == (400, "no-store")
    assert answer.json()["title"] == "Nobody was signed out."
    assert is_in(page, session) == [True]
    assert sign_out(page).status == 200


@pytest.mark.parametrize(
    "forge", [unsigned, by_secret, by_public_key, by_another_key, changed_after_signing]
)
def test_a_token_that_the_issuer_did_not_sign_signs_nobody_out(
    page: Page, forge: Callable[[LocalIssuer, dict[str, Any]], str]
) -> None:
    session = signed_in(page)
    assert told(page, forge(page.issuer, claims_of(page.issuer))).status == 400
    assert is_in(page, session) == [True]


@pytest.mark.parametrize("body", [b"", b"logout_token=", b"logout_token=a.b.c", b"\xff=\xff"])
def test_what_is_no_token_signs_nobody_out(page: Page, body: bytes) -> None:
    assert page.service.ask("POST", LOGOUT, body=body, headers=FORM).status == 400
    assert page.service.ask("POST", LOGOUT, json={"logout_token": "a"}).status == 415


def test_the_log_says_why_nobody_was_signed_out(
    page: Page, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(Masking())
    sign_out(page, nonce="one")
    assert "a logout token signs nobody out: a logout token has no nonce" in caplog.text


def test_a_token_counts_once(page: Page) -> None:
    token = page.issuer.signed(claims_of(page.issuer))
    assert told(page, token).status == 200
    session = signed_in(page)
    assert told(page, token).status == 400
    assert is_in(page, session) == [True]


def test_a_token_of_an_older_draft_has_no_end(page: Page) -> None:
    session = signed_in(page)
    assert sign_out(page, exp=None).status == 200
    assert is_in(page, session) == [False]


def test_an_id_token_is_no_logout_token_and_the_other_way_round(page: Page) -> None:
    tokens = list[str]()

    def kept(claims: dict[str, Any]) -> str:
        tokens.append(page.issuer.signed(claims))
        return tokens[-1]

    page.issuer.sign = kept
    session = signed_in(page)
    assert told(page, tokens[0]).status == 400
    assert is_in(page, session) == [True]
    page.issuer.sign = lambda claims: page.issuer.signed(claims_of(page.issuer))
    assert page.sign_in().status == 403


def test_a_logout_that_comes_during_a_login_ends_it(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    get = IssuerHttp.get

    async def signing_out(http: IssuerHttp, url: str, *authorization: str) -> dict[str, object]:
        if url.endswith("/keys"):
            monkeypatch.setattr(IssuerHttp, "get", get)
            assert (await asyncio.to_thread(sign_out, page)).status == 200
        return await get(http, url, *authorization)

    monkeypatch.setattr(IssuerHttp, "get", signing_out)
    refused = page.sign_in()
    assert (refused.status, "onrecord" in cookies_of(refused)) == (403, False)
    assert "It signed you out in the meantime." in refused.data.decode()
    assert is_in(page, signed_in(page)) == [True]


def test_an_issuer_that_cannot_be_asked_signs_nobody_out(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(http: IssuerHttp, url: str) -> dict[str, object]:
        del http, url
        raise IssuerAway("no answer")

    session = signed_in(page)
    with monkeypatch.context() as patched:
        patched.setattr(IssuerHttp, "get", away)
        assert sign_out(page).status == 400
    assert is_in(page, session) == [True]
    # The issuer sends the same token once more.
    assert sign_out(page).status == 200
    assert is_in(page, session) == [False]


def test_who_signs_out_here_is_told_where_they_still_are(page: Page) -> None:
    page.issuer.metadata["end_session_endpoint"] = f"{page.issuer.url}/end?realm=a"
    headers = OWN | {"cookie": signed_in(page)}
    out = page.service.ask("POST", "/sign-out", headers=headers)
    assert out.headers["location"] == "/sign-in?signed_out=true"
    form = page.get(out.headers["location"]).data.decode()
    host = urlsplit(page.issuer.url).netloc
    assert f"This browser may still be signed in at {host}" in form
    assert f'href="{page.issuer.url}/end?realm=a&amp;client_id=onrecord+page"' in form
    assert "You are signed out here." not in page.get("/sign-in").data.decode()


def test_without_such_a_place_the_page_names_none(page: Page) -> None:
    headers = OWN | {"cookie": signed_in(page)}
    page.service.ask("POST", "/sign-out", headers=headers)
    form = page.get("/sign-in?signed_out=true").data.decode()
    assert "You are signed out here." in form
    assert "sign out there, too" not in form
