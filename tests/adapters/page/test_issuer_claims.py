"""Who gets in by what an issuer says of them: only whom a rule names, by what is proven."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.page.local_issuer import ADA, local_issuer
from tests.adapters.page.page_with_issuer import (
    Page,
    begins_nothing,
    cookies_of,
    served_by,
)
from tests.adapters.page.test_sessions import Clock


@pytest.fixture
def page() -> Iterator[Page]:
    clock = Clock()
    with local_issuer() as issuer, served_by(issuer, clock) as service:
        yield Page(service, issuer, clock)


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "eve@example.org"},
        {"email_verified": False},
        {"email_verified": "yes"},
        {"email": "ADA@example.org"},
        {"email": None, "groups": "all auditors"},
        {"email": None, "groups": {"auditors": True}},
    ],
)
def test_whom_no_rule_names_has_no_access(page: Page, claims: dict[str, Any]) -> None:
    page.issuer.claims |= claims
    refused = page.sign_in()
    assert begins_nothing(refused, 403)
    assert "nobody gave you a role here" in refused.data.decode()


def test_a_person_without_an_email_is_named_by_what_the_issuer_decides(page: Page) -> None:
    page.issuer.claims = {"sub": "4711", "name": "<b>root", "groups": ["auditors", "others"]}
    session = cookies_of(page.sign_in())["onrecord"]
    assert "&lt;b&gt;root (4711)" in page.get("/", session).data.decode()


def test_what_the_id_token_does_not_say_the_issuer_is_asked_for(page: Page) -> None:
    page.issuer.claims = {"sub": "4711"}
    page.issuer.userinfo = {**ADA, "groups": ["guests"]}
    session = cookies_of(page.sign_in())["onrecord"]
    assert ">ada@example.org<" in page.get("/", session).data.decode()


def test_the_id_token_goes_before_what_the_issuer_says_beside_it(page: Page) -> None:
    page.issuer.claims = {"sub": "4711", "groups": ["guests"]}
    page.issuer.userinfo = {"sub": "4711", "groups": ["auditors"]}
    assert begins_nothing(page.sign_in(), 403)


@pytest.mark.parametrize("sub", ["4712", None, 4711])
def test_what_the_issuer_says_of_somebody_else_lets_nobody_in(page: Page, sub: object) -> None:
    page.issuer.userinfo = {**ADA, "sub": sub}
    assert begins_nothing(page.sign_in(), 403)


@pytest.mark.parametrize(
    ("id_token", "userinfo"),
    [
        ({"email": "ada@example.org"}, {"email": "eve@example.org", "email_verified": True}),
        ({"email_verified": True}, {"email": "ada@example.org", "email_verified": False}),
        ({"email": "ada@example.org"}, {"email_verified": True}),
        ({"email_verified": True}, {"email": "ada@example.org"}),
        (
            {"email": "eve@example.org", "email_verified": True},
            {"email": "ada@example.org", "email_verified": True},
        ),
    ],
)
def test_what_one_document_says_of_an_email_verifies_none_of_the_other(
    page: Page, id_token: dict[str, Any], userinfo: dict[str, Any]
) -> None:
    page.issuer.claims = {"sub": "4711", **id_token}
    page.issuer.userinfo = {"sub": "4711", **userinfo}
    assert begins_nothing(page.sign_in(), 403)


def test_an_email_that_only_the_userinfo_says_is_verified_counts(page: Page) -> None:
    page.issuer.claims = {"sub": "4711", "email": "ada@example.org"}
    page.issuer.userinfo = ADA
    session = cookies_of(page.sign_in())["onrecord"]
    assert ">ada@example.org<" in page.get("/", session).data.decode()


@pytest.mark.parametrize(
    "key",
    [
        {"kty": "EC", "crv": "P-9", "x": "AA", "y": "AA", "kid": "k0"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "k0"},
        {"kty": "LATTICE", "kid": "k0"},
        {"kty": "oct", "kid": "k0"},
        {"kid": "k0"},
        {"kty": ["EC"]},
        {},
        None,
    ],
)
def test_a_key_of_the_issuer_that_is_not_understood_is_ignored(page: Page, key: object) -> None:
    page.issuer.other_keys = [key]
    assert page.sign_in().headers["location"] == "/"


@pytest.mark.parametrize("path", ["/nothing", "/token"])
def test_without_the_userinfo_an_id_token_that_is_enough_lets_in(page: Page, path: str) -> None:
    page.issuer.metadata["userinfo_endpoint"] = f"{page.issuer.url}{path}"
    session = cookies_of(page.sign_in())["onrecord"]
    assert ">ada@example.org<" in page.get("/", session).data.decode()


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "bob@example.org", "email_verified": True},
        {"email": "ada@example.org", "email_verified": False, "groups": ["auditors"]},
        {"name": "Ada", "groups": ["auditors"]},
    ],
)
def test_without_the_userinfo_nobody_is_let_in_without_a_role_and_a_lasting_name(
    page: Page, claims: dict[str, Any]
) -> None:
    page.issuer.claims = {"sub": "4711", **claims}
    page.issuer.metadata["userinfo_endpoint"] = f"{page.issuer.url}/nothing"
    assert begins_nothing(page.sign_in(), 503)
