"""The issuer says whom it signed out, and their sessions end: nobody else's, and by its word alone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Thread
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import urllib3
from joserfc import jwt

from onrecord.adapters.page.visitors.issuer import IssuerAway
from onrecord.adapters.page.visitors.issuer_http import IssuerHttp
from onrecord.adapters.page.visitors.issuer_keys import PAUSE
from onrecord.adapters.page.visitors.issuer_sign_out import LOGOUT
from tests.adapters.page.hostile_tokens import (
    by_another_key,
    by_public_key,
    by_secret,
    changed_after_signing,
    encoded,
    unsigned,
)
from tests.adapters.page.local_issuer import ADA, CLIENT, LocalIssuer, local_issuer
from tests.adapters.page.page_with_issuer import Page, cookies_of, served_by
from tests.adapters.page.test_sessions import Clock
from tests.adapters.page.test_visitors import FORM, OWN
from tests.patience import join, until

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
    page: Page, masked_log: pytest.LogCaptureFixture
) -> None:
    sign_out(page, nonce="one")
    assert "a logout token signs nobody out: a logout token has no nonce" in masked_log.text


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


@pytest.fixture
def issuer_away(monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    @contextmanager
    def while_away() -> Generator[None]:
        async def away(http: IssuerHttp, url: str) -> dict[str, object]:
            del http, url
            raise IssuerAway("no answer")

        with monkeypatch.context() as patched:
            patched.setattr(IssuerHttp, "get", away)
            yield

    return while_away


def test_an_issuer_that_cannot_be_asked_for_its_key_signs_nobody_out(
    page: Page, issuer_away: Callable[[], AbstractContextManager[None]]
) -> None:
    session = signed_in(page)
    page.issuer.change_key("k2")
    with issuer_away():
        assert sign_out(page).status == 400
    assert is_in(page, session) == [True]
    # The issuer sends the same token once more.
    page.clock.now += PAUSE
    assert sign_out(page).status == 200
    assert is_in(page, session) == [False]


def test_an_issuer_whose_key_is_known_need_not_be_asked(
    page: Page, issuer_away: Callable[[], AbstractContextManager[None]]
) -> None:
    session = signed_in(page)
    with issuer_away():
        assert sign_out(page).status == 200
    assert is_in(page, session) == [False]


# Strangers, who can make up all of a token but the signature.


def signed_header(header: object, claims: object) -> str:
    parts = (encoded(json.dumps(part).encode()) for part in (header, claims))
    return ".".join((*parts, encoded(b"signature")))


def test_nobody_has_the_issuer_asked_by_what_cannot_be_its_token(page: Page) -> None:
    good, header = claims_of(page.issuer), {"alg": "ES256", "kid": "made up"}
    bodies: list[dict[str, Any]] = [
        *({"iss": "https://evil.example"}, {"aud": "another"}, {"aud": None}, {"iat": 1_000}),
        *({"iat": None}, {"iat": 99_999_999_999}, {"exp": 2_000}, {"events": {}}, {"nonce": "one"}),
        *({"jti": None}, {"sub": None}, {"sub": 4711}),
    ]
    algorithms: list[object] = ["none", "HS256", "XX", None, []]
    headers: list[object] = [[], None, {}, {**header, "kid": ["k1"]}]
    tokens = [
        *("", "garbage", "a.b.c", "..", "é.é.é", "\x00"),
        *(signed_header(header, {**good, **body}) for body in bodies),
        *(
            signed_header(header, claims)
            for claims in ([], None, "text", [["iss", page.issuer.url]])
        ),
        *(signed_header({"alg": alg, "kid": "k1"}, good) for alg in algorithms),
        *(signed_header(broken, good) for broken in headers),
        f"{encoded(json.dumps(header).encode())}.{encoded(b'[' * 10_000)}.",
        f"{encoded(b'[' * 10_000)}.{encoded(json.dumps(good).encode())}.",
    ]
    assert {told(page, token).status for token in tokens} == {400}
    assert page.issuer.asked_for_keys == 0
    assert sign_out(page).status == 200


def test_forged_tokens_have_the_issuer_asked_once_in_a_while(page: Page) -> None:
    forged = [
        signed_header({"alg": "ES256", "kid": f"made up {number}"}, claims_of(page.issuer))
        for number in range(20)
    ]
    assert {told(page, token).status for token in forged} == {400}
    assert page.issuer.asked_for_keys == 1
    page.clock.now += PAUSE
    assert {told(page, token).status for token in forged} == {400}
    assert page.issuer.asked_for_keys == 2


def test_keys_that_change_are_asked_for_after_a_pause_or_at_the_next_login(page: Page) -> None:
    assert sign_out(page, jti="1").status == 200
    page.issuer.change_key("k2")
    assert sign_out(page, jti="2").status == 400
    page.clock.now += PAUSE
    assert sign_out(page, jti="2").status == 200
    page.issuer.change_key("k3")
    assert sign_out(page, jti="3").status == 400
    session = signed_in(page)
    assert sign_out(page, jti="3").status == 200
    assert is_in(page, session) == [False]


def test_a_token_without_the_id_of_a_key_is_proven_by_the_only_one(page: Page) -> None:
    session = signed_in(page)
    token = jwt.encode({"alg": "ES256"}, claims_of(page.issuer), page.issuer.key)
    assert told(page, token).status == 200
    assert is_in(page, session) == [False]


def test_forged_tokens_that_wait_for_the_issuer_hold_up_none_whose_key_is_known(page: Page) -> None:
    session = signed_in(page)
    statuses = list[int]()
    forged = signed_header({"alg": "ES256", "kid": "made up"}, claims_of(page.issuer))
    strangers = [
        Thread(target=lambda: statuses.append(told(page, forged).status)) for _ in range(20)
    ]
    page.issuer.gives_keys.clear()
    for stranger in strangers:
        stranger.start()
    try:
        # Those who find too many waiting are refused at once.
        until(lambda: len(statuses) >= 4)
        assert sign_out(page).status == 200
        assert is_in(page, session) == [False]
    finally:
        page.issuer.gives_keys.set()
        join(*strangers)
    assert set(statuses) == {400}
    assert page.issuer.asked_for_keys == 2


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
