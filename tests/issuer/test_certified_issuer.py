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
from onrecord.adapters.page.visitors.issuer_logouts import LOGOUT
from onrecord.adapters.page.visitors.issuer_sign_in import IssuerSignIn
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
class Signing:
    """A page, and the issuer that knows it."""

    page: str
    issuer: CertifiedIssuer
    ending: ExitStack

    def browser(self) -> Browser:
        return self.ending.enter_context(closing(Browser(self.page)))

    def know(self, method: str = "client_secret_basic", **metadata: Any) -> None:
        self.issuer.tell("know", page=self.page, method=method, **metadata)

    def know_logouts(self, *, by_login: bool) -> None:
        """Have the issuer say whom it signs out, by the login or by the person alone."""
        url = f"{self.page}{LOGOUT}"
        self.know(backchannel_logout_uri=url, backchannel_logout_session_required=by_login)


@pytest.fixture
def signing(installed: Path) -> Generator[Signing]:
    with certified_issuer(installed) as issuer:
        client = Client(issuer.url, CLIENT, SECRET, ("groups",))
        sign_in = IssuerSignIn(OpenIdIssuer(client), [role_rule(rule) for rule in RULES])
        with served(keyring=Keys(), issuer=sign_in) as service, ExitStack() as ending:
            both = Signing(service.url, issuer, ending)
            both.know()
            yield both


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_person_signs_in_with_the_role_of_their_group(signing: Signing, method: str) -> None:
    signing.know(method)
    shown = signing.browser().sign_in("ada", "/?limit=5")
    assert (shown.status_code, str(shown.url)) == (200, f"{signing.page}/?limit=5"), shown.text
    assert ">ada@example.org<" in shown.text


def test_a_person_without_the_group_is_refused_in_words(signing: Signing) -> None:
    browser = signing.browser()
    shown = browser.sign_in("bob")
    assert shown.status_code == 403
    assert "nobody gave you a role here" in shown.text
    assert not browser.is_signed_in()


def test_what_another_browser_got_from_the_issuer_is_refused(signing: Signing) -> None:
    ada, eve = signing.browser(), signing.browser()
    stolen, own = ada.begin("ada"), eve.begin("bob")
    assert eve.get(stolen).status_code == 400
    # The code of another login, under her own state: the issuer refuses it by PKCE.
    mixed = parse_qs(urlsplit(own).query) | {"code": parse_qs(urlsplit(stolen).query)["code"]}
    refused = eve.get(f"/sign-in/callback?{urlencode(mixed, doseq=True)}")
    assert refused.status_code == 403
    assert "The issuer did not say who you are." in refused.text
    assert not eve.is_signed_in()


def test_a_login_counts_once(signing: Signing) -> None:
    browser = signing.browser()
    back = browser.begin("ada")
    assert browser.get(back).status_code == 200
    assert browser.get(back).status_code == 400


def test_keys_that_change_are_followed(signing: Signing) -> None:
    first = signing.browser()
    first.sign_in("ada")
    for _ in range(2):
        signing.issuer.tell("rotate")
        assert signing.browser().sign_in("ada").status_code == 200
    assert first.is_signed_in()


def test_who_signs_out_is_shown_the_way_out_of_the_issuer(signing: Signing) -> None:
    browser = signing.browser()
    browser.sign_in("ada")
    shown = browser.sign_out()
    assert "You are signed out here." in shown.text
    assert not browser.is_signed_in()
    # The issuer still knows the browser: it asks for nothing.
    assert browser.get("/sign-in/issuer").url.path == "/"
    (way_out,) = re.findall(r'<a href="(http[^"]*)">sign out there', browser.sign_out().text)
    browser.send_form(browser.get(unescape(way_out)), logout="yes")
    assert 'name="password"' in browser.get("/sign-in/issuer").text


def test_a_logout_at_the_issuer_ends_the_sessions_of_that_login(signing: Signing) -> None:
    signing.know_logouts(by_login=True)
    here, elsewhere = signing.browser(), signing.browser()
    here.sign_in("ada")
    elsewhere.sign_in("ada")
    way_out = f"{signing.issuer.url}/session/end"
    here.send_form(here.get(way_out), logout="yes")
    assert (here.is_signed_in(), elsewhere.is_signed_in()) == (False, True)


@pytest.mark.parametrize("by_login", [False, True])
def test_a_person_whose_account_is_closed_is_signed_out_at_once(
    signing: Signing, by_login: bool
) -> None:
    signing.know_logouts(by_login=by_login)
    browsers = [signing.browser(), signing.browser()]
    for browser in browsers:
        browser.sign_in("ada")
    signing.issuer.tell("close", account="ada")
    assert not any(browser.is_signed_in() for browser in browsers)
