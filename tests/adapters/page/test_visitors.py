"""Who may look at the page: sessions begin with a key, and end with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest
import urllib3

import onrecord
from onrecord.adapters.page.visitors.sessions import IDLE_SECONDS, Sessions
from onrecord.adapters.page.visitors.visitors import own_path
from onrecord.adapters.service import keyring
from onrecord.adapters.service.access import Access
from onrecord.adapters.store import backend_of
from onrecord.adapters.upkeep.keys import issue_key, revoke_key
from tests.adapters.page.test_sessions import Clock
from tests.adapters.service.keys import KEYS
from tests.adapters.service.served import Served, served
from tests.patience import until

OWN = {"sec-fetch-site": "same-origin"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


@dataclass
class TakenBack:
    """Knows the keys that were not taken back."""

    keys: dict[str, Access] = field(default_factory=lambda: dict(KEYS))

    def access(self, token: str) -> Access | None:
        return self.keys.get(token)

    def is_used(self) -> bool:
        return True

    def record_uses(self) -> int:
        return 0


@dataclass(frozen=True)
class Visited:
    """A page, its keys, and the clock of its sessions."""

    service: Served
    keyring: TakenBack
    clock: Clock

    def sign_in(
        self, key: str = "reader", place: str = "/", **headers: str
    ) -> urllib3.BaseHTTPResponse:
        body = urlencode({"key": key, "next": place}).encode()
        sent = FORM | OWN | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.service.ask("POST", "/sign-in", body=body, headers=sent)

    def look(self, cookie: str, path: str = "/") -> int:
        return self.service.ask("GET", path, headers={"cookie": cookie}).status


@pytest.fixture
def page() -> Iterator[Visited]:
    keyring, clock = TakenBack(), Clock()
    with served(keyring=keyring, sessions=Sessions(clock)) as service:
        yield Visited(service, keyring, clock)


def cookie_of(answer: urllib3.BaseHTTPResponse) -> str:
    assert answer.status == 303, answer.data
    return answer.headers["set-cookie"].partition(";")[0]


def attributes_of(answer: urllib3.BaseHTTPResponse) -> set[str]:
    return set(answer.headers["set-cookie"].lower().split("; ")[1:])


def test_a_key_begins_a_session_that_no_script_and_no_other_site_has(page: Visited) -> None:
    near = page.sign_in()
    assert cookie_of(near).startswith("onrecord=")
    assert attributes_of(near) == {"httponly", "path=/", "samesite=lax"}
    far = page.sign_in(host="log.example")
    assert cookie_of(far).startswith("__Host-onrecord=")
    assert attributes_of(far) == {"httponly", "path=/", "samesite=lax", "secure"}
    assert (near.headers["location"], near.headers["cache-control"]) == ("/", "no-store")
    text = page.service.ask("GET", "/", headers={"cookie": cookie_of(near)}).data.decode()
    assert 'action="/sign-out"' in text
    assert ">reader<" in text
    far_cookie = {"cookie": cookie_of(far), "host": "log.example"}
    assert page.service.ask("GET", "/", headers=far_cookie).status == 200
    assert page.look(cookie_of(far)) == 303


def test_whoever_has_no_session_signs_in_and_goes_on(page: Visited) -> None:
    asked = page.service.ask("GET", "/?limit=5&actor=a%26b")
    form = page.service.ask("GET", asked.headers["location"])
    assert (asked.status, form.status) == (303, 200)
    assert 'name="next" value="/?limit=5&amp;actor=a%26b"' in form.data.decode()
    assert page.sign_in(place="/?limit=5").headers["location"] == "/?limit=5"
    fragment = page.service.ask("GET", "/", headers={"sec-fetch-dest": "empty"})
    assert (fragment.status, "location" in fragment.headers) == (401, False)


def test_whoever_signed_in_reaches_documents_and_the_service_takes_no_session(
    page: Visited,
) -> None:
    cookie, document = cookie_of(page.sign_in()), f"documents/{'0' * 64}"
    assert page.look(cookie, f"/c/nobody/{document}") == 404
    assert page.look(cookie, f"/v1/conversations/nobody/{document}") == 401


def test_a_page_that_is_not_there_tells_nothing_of_the_store(page: Visited) -> None:
    cookie = cookie_of(page.sign_in())
    answer = page.service.ask("GET", "/c/nobody", headers={"cookie": cookie})
    assert answer.status == 404
    assert b"sqlite:" not in answer.data


def test_the_session_ends_with_its_key(page: Visited) -> None:
    cookie = cookie_of(page.sign_in())
    reader = page.keyring.keys.pop("reader")
    assert page.look(cookie) == 303
    page.keyring.keys["reader"] = reader
    assert page.look(cookie) == 303


def test_a_key_that_is_revoked_in_the_log_ends_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "KEPT_FOR", 0.05)
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with served(url) as service, onrecord.connect(url) as store:
        log, page = backend_of(store), Visited(service, TakenBack(), Clock())
        key = issue_key(log, store.tenant, "ana", actor="ana", role="read")
        cookie = cookie_of(page.sign_in(key.token))
        assert page.look(cookie) == 200
        revoke_key(log, store.tenant, key.key_id, reason="it was in a log", actor="ana")
        until(lambda: page.look(cookie) == 303)


def test_a_session_ends_when_nobody_uses_it_and_at_sign_out(page: Visited) -> None:
    left, ended = cookie_of(page.sign_in()), cookie_of(page.sign_in())
    out = page.service.ask("POST", "/sign-out", headers=OWN | {"cookie": ended})
    assert (out.status, out.headers["location"]) == (303, "/sign-in")
    assert "max-age=0" in attributes_of(out)
    assert (page.look(ended), page.look(left)) == (303, 200)
    page.clock.now += IDLE_SECONDS
    assert page.look(left) == 303


@pytest.mark.parametrize(
    "sent_by",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {},
    ],
)
def test_no_other_site_signs_anybody_in_or_out(page: Visited, sent_by: dict[str, str]) -> None:
    cookie = cookie_of(page.sign_in())
    body = urlencode({"key": "reader"}).encode()
    for path in ("/sign-in", "/sign-out"):
        headers = FORM | sent_by | {"cookie": cookie}
        answer = page.service.ask("POST", path, body=body, headers=headers)
        assert (answer.status, "set-cookie" in answer.headers) == (403, False)
    assert page.look(cookie) == 200


def test_a_browser_that_names_only_the_origin_signs_in(page: Visited) -> None:
    headers = FORM | {"origin": page.service.url}
    body = urlencode({"key": "reader"}).encode()
    assert page.service.ask("POST", "/sign-in", body=body, headers=headers).status == 303


@pytest.mark.parametrize(
    "place",
    [
        *("https://evil.example", "//evil.example", "/\\evil.example", "/\t/evil.example"),
        *(
            "\\\\evil.example",
            "evil",
            "",
            "javascript:alert(1)",
            "/a\r\nset-cookie: b=c",
            "/\u2044",
        ),
    ],
)
def test_nobody_is_sent_on_to_another_site(page: Visited, place: str) -> None:
    assert own_path(place) == "/"
    assert page.sign_in(place=place).headers["location"] == "/"


def test_an_id_that_was_there_before_signing_in_lets_nobody_in(page: Visited) -> None:
    planted = "onrecord=planted"
    mine = cookie_of(page.sign_in(cookie=planted))
    assert page.look(planted) == 303
    again = cookie_of(page.sign_in(cookie=mine))
    assert mine != again
    assert (page.look(mine), page.look(again)) == (303, 200)


def test_a_session_asks_for_pages_alone(page: Visited) -> None:
    page.service.ask("POST", "/v1/conversations/a/prompts", {"text": "Hello"}, key="writer")
    headers = OWN | {"cookie": cookie_of(page.sign_in("operator"))}
    for method, path in (
        ("GET", "/v1/conversations/a"),
        ("POST", "/v1/conversations/a/prompts"),
        ("POST", "/v1/erasures"),
    ):
        assert page.service.ask(method, path, {}, headers=headers).status == 401


def test_a_wrong_key_begins_nothing(page: Visited) -> None:
    wrong = page.sign_in("<b>guess", place="/?limit=5")
    text = wrong.data.decode()
    assert (wrong.status, "set-cookie" in wrong.headers) == (401, False)
    assert "This key is unknown, expired or revoked." in text
    assert "guess" not in text
    assert 'name="next" value="/?limit=5"' in text
    large = page.sign_in("k" * 20_000)
    assert large.status == 413
    assert page.service.ask("POST", "/sign-in", {"key": "reader"}, headers=OWN).status == 415


def test_this_machine_needs_no_session_until_a_key_is_issued() -> None:
    with served() as service:
        assert service.ask("GET", "/").status == 200
        assert service.ask("GET", "/", headers={"cookie": "onrecord=none"}).status == 200
        assert service.ask("GET", "/", headers={"host": "log.example"}).status == 303


def test_only_whoever_needs_no_key_is_told_to_go_on_without_one(page: Visited) -> None:
    hint = "this machine needs none"
    assert hint not in page.service.ask("GET", "/sign-in").data.decode()
    with served() as unkeyed:
        assert hint in unkeyed.ask("GET", "/sign-in").data.decode()
        forwarded = unkeyed.ask("GET", "/sign-in", headers={"x-forwarded-for": "192.0.2.1"})
        assert hint not in forwarded.data.decode()
