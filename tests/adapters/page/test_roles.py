"""Roles of people: which rule fits whom, and what cannot be a rule."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.adapters.page.visitors.roles import RoleRule, role_of, role_rule
from onrecord.domain.errors import InvalidInput

RULES = [
    role_rule("read:groups=auditors"),
    role_rule("operate:groups=operators"),
    role_rule("write:email=ada@example.org"),
    role_rule("read:sub=4711"),
]


@pytest.mark.parametrize(
    ("claims", "role"),
    [
        ({}, None),
        ({"groups": []}, None),
        ({"groups": ["auditors"]}, "read"),
        ({"groups": "auditors"}, "read"),
        ({"groups": ["auditors", "operators"]}, "operate"),
        ({"groups": "auditors operators"}, None),
        ({"groups": [["auditors"]]}, None),
        ({"sub": "4711"}, "read"),
        ({"sub": 4711}, None),
        ({"email": "ada@example.org"}, None),
        ({"email": "ada@example.org", "email_verified": False}, None),
        ({"email": "ada@example.org", "email_verified": True}, "write"),
        ({"email": "ada@example.org", "email_verified": "true"}, "write"),
        ({"email": ["ada@example.org"], "email_verified": True}, None),
    ],
)
def test_a_person_has_the_role_that_may_do_most_of_those_that_fit(
    claims: dict[str, Any], role: str | None
) -> None:
    assert role_of(claims, RULES) == role


def test_a_claim_and_its_value_may_hold_what_separates_them() -> None:
    rule = role_rule("read:https://example.org/roles=team=a")
    assert rule == RoleRule("read", "https://example.org/roles", "team=a")


@pytest.mark.parametrize(
    "text",
    [
        *("", "read", "read:", "read:groups", "read:groups=", "read:=auditors"),
        *("admin:groups=auditors", "READ:groups=auditors", "groups=auditors"),
        *("read:name=Ada", "operate:preferred_username=root"),
    ],
)
def test_what_names_nobody_surely_is_no_rule(text: str) -> None:
    with pytest.raises(InvalidInput):
        role_rule(text)
