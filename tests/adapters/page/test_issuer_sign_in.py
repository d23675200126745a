"""People sign in to the page by an issuer: only who it proves to be somebody, and only whom a rule names."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest

import onrecord
from onrecord.adapters.conversation.approvals import ApprovalQuestion
from onrecord.adapters.page.approvals.confirmation import shown_decision
from onrecord.adapters.page.visitors.issuer import Client
from onrecord.adapters.page.visitors.issuer_http import IssuerHttp
from onrecord.adapters.page.visitors.issuer_sign_in import IssuerSignIn
from onrecord.adapters.page.visitors.openid import OpenIdIssuer
from onrecord.adapters.page.visitors.pending_logins import LONGEST_SECONDS, PendingLogins
from onrecord.adapters.page.visitors.roles import role_rule
from onrecord.adapters.page.visitors.sessions import IDLE_SECONDS
from onrecord.adapters.presentation.conversations import require_conversation
from tests.adapters.page.hostile_tokens import HOSTILE
from tests.adapters.page.local_issuer import CLIENT, SECRET, local_issuer
from tests.adapters.page.page_with_issuer import (
    RULES,
    NoKeys,
    Page,
    begins_nothing,
    cookies_of,
    served_by,
)
from tests.adapters.page.test_page_approvals import chat_with_pending_call
from tests.adapters.page.test_sessions import Clock
from tests.adapters.page.test_visitors import FORM, OWN
from tests.adapters.service.keys import Keys
from tests.adapters.service.served import served


@pytest.fixture
def page() -> Iterator[Page]:
    clock = Clock()
    with local_issuer() as issuer, served_by(issuer, clock) as service:
        yield Page(service, issuer, clock)


def test_a_person_signs_in_and_goes_on(page: Page) -> None:
    form = page.get("/sign-in?next=/%3Flimit%3D5").data.decode()
    assert 'href="/sign-in/issuer?next=/%3Flimit%3D5"' in form
    assert f"Sign in with {urlsplit(page.issuer.url).netloc}" in form
    done = page.sign_in("/?limit=5")
    assert (done.status, done.headers["location"]) == (303, "/?limit=5")
    assert done.headers["cache-control"] == "no-store"
    assert "onrecord-login" in cookies_of(done)
    session = cookies_of(done)["onrecord"]
    text = page.get("/", session).data.decode()
    assert ">ada@example.org<" in text
    assert 'action="/sign-out"' in text
    out = {"sec-fetch-site": "same-origin", "cookie": session}
    assert page.service.ask("POST", "/sign-out", headers=out).status == 303
    assert page.get("/", session).status == 303


def test_the_login_is_bound_to_the_browser_by_a_cookie_that_no_script_has(page: Page) -> None:
    started = page.get("/sign-in/issuer", headers={"host": "log.example"})
    (cookie,) = started.headers.getlist("set-cookie")
    name, *attributes = cookie.lower().split("; ")
    assert name.startswith("__host-onrecord-login=")
    wanted = {"httponly", "path=/", "samesite=lax", "secure", f"max-age={LONGEST_SECONDS}"}
    assert set(attributes) == wanted
    sent = dict(parse_qsl(urlsplit(started.headers["location"]).query))
    assert sent["redirect_uri"] == "https://log.example/sign-in/callback"
    assert sent["scope"] == "openid email profile"
    assert len(sent["state"]) == len(sent["nonce"]) == len(sent["code_challenge"]) == 43


@pytest.mark.parametrize("methods", [None, ["client_secret_post"]])
def test_the_issuer_sees_the_secret_as_it_likes(page: Page, methods: list[str] | None) -> None:
    page.issuer.metadata["token_endpoint_auth_methods_supported"] = methods
    assert page.sign_in().headers["location"] == "/"
    encoded = base64.b64encode(b"onrecord%20page:s%3Aw%2Fordfish").decode()
    assert page.issuer.auth == [SECRET if methods else f"Basic {encoded}"]


@pytest.mark.parametrize("refused", ["form", "header"])
def test_an_issuer_that_lists_two_ways_may_take_one_of_this_client(
    page: Page, refused: Literal["form", "header"]
) -> None:
    ways = ["client_secret_post", "client_secret_basic"]
    page.issuer.metadata["token_endpoint_auth_methods_supported"] = ways
    page.issuer.refuses = refused
    assert page.sign_in().headers["location"] == "/"


def test_an_issuer_that_takes_the_secret_nowhere_is_told_of_in_the_log(
    page: Page, masked_log: pytest.LogCaptureFixture
) -> None:
    page.issuer.refuses = "header"
    assert begins_nothing(page.sign_in(), 403)
    assert "the issuer refuses the client or its secret" in masked_log.text


def test_a_session_of_a_person_ends_and_reaches_pages_alone(page: Page) -> None:
    session = cookies_of(page.sign_in())["onrecord"]
    assert page.get("/v1/conversations", session).status == 401
    assert page.get("/", session, {"host": "log.example"}).status == 303
    assert page.get("/", session).status == 200
    page.clock.now += IDLE_SECONDS
    assert page.get("/", session).status == 303


def test_reads_are_told_of_by_the_name_of_the_person_whatever_a_header_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    monkeypatch.setenv("ONRECORD_ACCESS_LOG", "on")
    with local_issuer() as issuer, served_by(issuer, Clock(), url) as service:
        page = Page(service, issuer, Clock())
        session = cookies_of(page.sign_in())["onrecord"]
        assert page.get("/", session, {"onrecord-actor": "bob"}).status == 200
    monkeypatch.delenv("ONRECORD_ACCESS_LOG")
    with onrecord.connect(url) as store:
        (entry,) = store.access.entries()
    assert (entry.actor_name, entry.via, entry.key_id) == ("ada@example.org", "GET /", None)


def test_with_an_issuer_this_machine_needs_a_key_from_the_start() -> None:
    clock = Clock()
    with local_issuer() as issuer, served_by(issuer, clock, keyring=NoKeys()) as service:
        page = Page(service, issuer, clock)
        assert page.get("/v1/conversations").status == 401
        assert page.get("/").headers["location"].startswith("/sign-in")
        session = cookies_of(page.sign_in())["onrecord"]
        assert page.get("/", session).status == 200


def test_a_person_decides_in_their_own_name_and_for_nobody_whatever_is_sent(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with onrecord.connect(url) as store:
        chat_with_pending_call(store, "a")
    with local_issuer() as issuer, served_by(issuer, Clock(), url) as service:
        issuer.claims |= {"groups": ["the operators"]}
        page = Page(service, issuer, Clock())
        session = cookies_of(page.sign_in())["onrecord"]
        assert b'name="actor"' not in page.get("/approvals", session).data
        others = {"onrecord-actor": "bob", "onrecord-on-behalf-of": "boss"}
        headers = OWN | FORM | others | {"cookie": session}
        path, form = "/c/a/calls/c%2F1/approve", b"question=3:0&reason=paid&actor=bob"
        assert service.ask("POST", path, body=form, headers=headers).status == 303
    with onrecord.connect(url) as store:
        decision = shown_decision(
            store, require_conversation(store, "a"), "c/1", ApprovalQuestion(3, 0)
        )
        (deed,) = store.views.audit(type="approval.decided").entries
    assert (deed.actor_name, deed.on_behalf_of) == ("ada@example.org", None)
    assert decision is not None
    assert decision.actor == "ada@example.org"


def test_a_token_that_proves_nobody_lets_nobody_in(page: Page) -> None:
    for what, token in HOSTILE.items():
        page.issuer.sign = lambda claims, token=token: token(page.issuer, claims)
        refused = page.sign_in()
        assert begins_nothing(refused, 403), what
        text = refused.data.decode()
        assert "The issuer did not say who you are." in text
        assert not {"<script>alert", "<b>k2", "evil.example"} & set(text.split())
    page.issuer.sign = None
    assert page.sign_in().status == 303


# Callbacks that are not the answer to a login of this browser.


def test_a_callback_counts_once(page: Page) -> None:
    cookie, back = page.start_login()
    assert page.get(back, cookie).status == 303
    assert begins_nothing(page.get(back, cookie), 400)
    used = dict(parse_qsl(urlsplit(back).query))["code"]
    cookie, back = page.start_login()
    state = dict(parse_qsl(urlsplit(back).query))["state"]
    replayed = f"/sign-in/callback?{urlencode({'code': used, 'state': state})}"
    assert begins_nothing(page.get(replayed, cookie), 403)


def test_no_browser_finishes_what_another_started(page: Page) -> None:
    mine, _ = page.start_login()
    cookie, back = page.start_login()
    assert begins_nothing(page.get(back), 400)
    assert begins_nothing(page.get(back, "onrecord-login=made-up"), 400)
    assert begins_nothing(page.get(back, mine), 400)
    assert page.get(back, cookie).status == 303


def test_a_callback_with_another_state_is_refused(page: Page) -> None:
    cookie, back = page.start_login()
    for query in ("", "code=1", "code=1&state=another", "code=1&state=%C3%A9"):
        assert begins_nothing(page.get(f"/sign-in/callback?{query}", cookie), 400)
    assert begins_nothing(page.get(f"{back}&state=another", cookie), 422)
    assert page.get(back, cookie).status == 303


def test_a_login_has_to_be_finished_in_time(page: Page) -> None:
    cookie, back = page.start_login()
    page.clock.now += LONGEST_SECONDS
    assert begins_nothing(page.get(back, cookie), 400)


def test_the_issuer_may_say_no_and_its_words_are_not_shown(page: Page) -> None:
    cookie, back = page.start_login()
    state = dict(parse_qsl(urlsplit(back).query))["state"]
    query = {"state": state, "error": "access_denied", "error_description": "<script>alert(1)"}
    refused = page.get(f"/sign-in/callback?{urlencode(query)}", cookie)
    assert begins_nothing(refused, 403)
    assert b"alert" not in refused.data


def test_a_callback_that_names_another_issuer_is_refused(page: Page) -> None:
    cookie, back = page.start_login()
    assert begins_nothing(page.get(f"{back}&iss=https://evil.example", cookie), 403)
    cookie, back = page.start_login()
    assert page.get(f"{back}&iss={quote(page.issuer.url)}", cookie).status == 303


def test_an_issuer_that_says_it_names_itself_has_to(page: Page) -> None:
    page.issuer.metadata["authorization_response_iss_parameter_supported"] = True
    assert begins_nothing(page.sign_in(), 403)


@pytest.mark.parametrize("place", ["https://evil.example", "//evil.example", "/\\evil.example"])
def test_nobody_is_sent_on_to_another_site(page: Page, place: str) -> None:
    assert page.sign_in(place).headers["location"] == "/"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_other_site_starts_a_login(page: Page, site: str) -> None:
    answer = page.get("/sign-in/issuer", headers={"sec-fetch-site": site})
    assert (answer.status, "set-cookie" in answer.headers) == (403, False)


def test_an_issuer_comes_back_from_another_site(page: Page) -> None:
    cookie, back = page.start_login()
    assert page.get(back, cookie, {"sec-fetch-site": "cross-site"}).status == 303


def test_of_too_many_logins_the_oldest_goes() -> None:
    logins = PendingLogins(most=2)
    started = [logins.start("https://log.example/", "/") for _ in range(3)]
    taken = [logins.take(id_, login.state) for id_, login in started]
    assert taken == [None, started[1][1], started[2][1]]
    assert started[2][1].verifier not in repr(started[2][1])


# An issuer that is not there.


def test_an_issuer_that_does_not_answer_holds_nobody_up(
    masked_log: pytest.LogCaptureFixture,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = Client(f"http://127.0.0.1:{silent.getsockname()[1]}", CLIENT, SECRET)
        issuer = OpenIdIssuer(client, IssuerHttp(seconds=0.05))
        sign_in = IssuerSignIn(issuer, [role_rule(RULES[0])])
        with served(keyring=Keys(), issuer=sign_in) as service:
            answer = service.ask("GET", "/sign-in/issuer")
    assert (answer.status, "set-cookie" in answer.headers) == (503, False)
    assert "The issuer cannot be asked now." in answer.data.decode()
    assert '<a href="/sign-in">Sign in</a>' in answer.data.decode()
    assert f"{issuer.host}: no answer within 0.05 seconds" in masked_log.text


def test_the_log_says_why_an_issuer_cannot_be_asked(masked_log: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        host = f"127.0.0.1:{closed.getsockname()[1]}"
    issuer = OpenIdIssuer(Client(f"http://{host}", CLIENT, SECRET))
    sign_in = IssuerSignIn(issuer, [role_rule(RULES[0])])
    with served(keyring=Keys(), issuer=sign_in) as service:
        assert service.ask("GET", "/sign-in/issuer").status == 503
    assert f"the issuer of logins cannot be asked: {host}: Connect call failed" in masked_log.text


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://evil.example/token"},
        {"token_endpoint": "https://[evil"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": None},
        {"userinfo_endpoint": "http://evil.example/userinfo"},
        {"end_session_endpoint": "javascript:alert(1)"},
        {"padding": "x" * 2_000_000},
    ],
)
def test_an_issuer_that_says_nonsense_of_itself_is_not_asked(
    page: Page, metadata: dict[str, Any]
) -> None:
    page.issuer.metadata = metadata
    assert begins_nothing(page.get("/sign-in/issuer"), 503)
    page.issuer.metadata = {}
    assert page.sign_in().status == 303


def test_without_an_issuer_there_is_no_way_to_one() -> None:
    with served(keyring=Keys()) as service:
        assert b"/sign-in/issuer" not in service.ask("GET", "/sign-in").data
        assert service.ask("GET", "/sign-in/issuer").status == 404
        assert service.ask("GET", "/sign-in/callback").status == 404
