"""People sign in to the page by an issuer that is certified: panva's oidc-provider."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from onrecord.adapters.page.visitors.issuer import Client
from onrecord.adapters.page.visitors.issuer_sign_in import CALLBACK, IssuerSignIn
from onrecord.adapters.page.visitors.issuer_sign_out import LOGOUT
from onrecord.adapters.page.visitors.openid import OpenIdIssuer
from onrecord.adapters.page.visitors.roles import role_rule
from tests.adapters.page.local_issuer import CLIENT, SECRET
from tests.adapters.service.keys import Keys
from tests.adapters.service.served import served
from tests.issuer.certified import PROGRAM, Browser, CertifiedIssuer, certified_issuer
from tests.node_programs import install

RULES = ("read:groups=auditors",)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("issuer") / "program"
    install(Path(__file__).parent, folder, PROGRAM)
    return folder


@dataclass(frozen=True)
class PageWithIssuer:
    """Where a page is, the issuer that it is registered at, and the stack that closes its browsers."""

    url: str
    issuer: CertifiedIssuer
    stack: ExitStack

    def browser(self) -> Browser:
        return self.stack.enter_context(closing(Browser(self.url)))

    def register_client(self, method: str = "client_secret_basic", **metadata: Any) -> None:
        """Register the page at the issuer; the method says where it sends its secret."""
        self.issuer.send(
            "register_client",
            client_id=CLIENT,
            client_secret=SECRET,
            token_endpoint_auth_method=method,
            redirect_uris=[f"{self.url}{CALLBACK}"],
            **metadata,
        )

    def register_for_logouts(self, *, by_login: bool) -> None:
        """Register it once more, to be sent logout tokens: each of a login, or of a person alone."""
        self.register_client(
            backchannel_logout_uri=f"{self.url}{LOGOUT}",
            backchannel_logout_session_required=by_login,
        )


@pytest.fixture
def page(installed: Path) -> Generator[PageWithIssuer]:
    with certified_issuer(installed) as issuer:
        client = Client(issuer.url, CLIENT, SECRET, ("groups",))
        sign_in = IssuerSignIn(OpenIdIssuer(client), [role_rule(rule) for rule in RULES])
        with served(keyring=Keys(), issuer=sign_in) as service, ExitStack() as stack:
            with_issuer = PageWithIssuer(service.url, issuer, stack)
            with_issuer.register_client()
            yield with_issuer


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_person_signs_in_with_the_role_of_their_group(page: PageWithIssuer, method: str) -> None:
    page.register_client(method)
    shown = page.browser().sign_in("ada", "/?limit=5")
    assert (shown.status_code, str(shown.url)) == (200, f"{page.url}/?limit=5"), shown.text
    assert ">ada@example.org<" in shown.text


def test_a_person_without_the_group_is_refused_in_words(page: PageWithIssuer) -> None:
    browser = page.browser()
    shown = browser.sign_in("bob")
    assert shown.status_code == 403
    assert "nobody gave you a role here" in shown.text
    assert not browser.is_signed_in()


def test_what_another_browser_got_from_the_issuer_is_refused(page: PageWithIssuer) -> None:
    ada, eve = page.browser(), page.browser()
    stolen, own = ada.start_login("ada"), eve.start_login("bob")
    assert eve.get(stolen).status_code == 400
    # The code of another login, under her own state: the issuer refuses it by PKCE.
    mixed = parse_qs(urlsplit(own).query) | {"code": parse_qs(urlsplit(stolen).query)["code"]}
    refused = eve.get(f"/sign-in/callback?{urlencode(mixed, doseq=True)}")
    assert refused.status_code == 403
    assert "The issuer did not say who you are." in refused.text
    assert not eve.is_signed_in()


def test_a_login_counts_once(page: PageWithIssuer) -> None:
    browser = page.browser()
    back = browser.start_login("ada")
    assert browser.get(back).status_code == 200
    assert browser.get(back).status_code == 400


def test_keys_that_change_are_followed(page: PageWithIssuer) -> None:
    first = page.browser()
    first.sign_in("ada")
    for _ in range(2):
        page.issuer.send("rotate_key")
        assert page.browser().sign_in("ada").status_code == 200
    assert first.is_signed_in()


def test_who_signs_out_is_shown_the_way_out_of_the_issuer(page: PageWithIssuer) -> None:
    browser = page.browser()
    browser.sign_in("ada")
    shown = browser.sign_out()
    assert "You are signed out here." in shown.text
    assert not browser.is_signed_in()
    # The issuer still knows the browser: it asks for nothing.
    assert browser.get("/sign-in/issuer").url.path == "/"
    (way_out,) = re.findall(r'<a href="(http[^"]*)">sign out there', browser.sign_out().text)
    browser.send_form(browser.get(unescape(way_out)), logout="yes")
    assert 'name="password"' in browser.get("/sign-in/issuer").text


def test_a_logout_at_the_issuer_ends_the_sessions_of_that_login(page: PageWithIssuer) -> None:
    page.register_for_logouts(by_login=True)
    here, elsewhere = page.browser(), page.browser()
    here.sign_in("ada")
    elsewhere.sign_in("ada")
    way_out = f"{page.issuer.url}/session/end"
    here.send_form(here.get(way_out), logout="yes")
    assert (here.is_signed_in(), elsewhere.is_signed_in()) == (False, True)


@pytest.mark.parametrize("by_login", [False, True])
def test_a_person_whose_account_is_closed_is_signed_out_at_once(
    page: PageWithIssuer, by_login: bool
) -> None:
    page.register_for_logouts(by_login=by_login)
    browsers = [page.browser(), page.browser()]
    for browser in browsers:
        browser.sign_in("ada")
    page.issuer.send("close_account", account="ada")
    assert not any(browser.is_signed_in() for browser in browsers)
