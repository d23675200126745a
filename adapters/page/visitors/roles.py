"""Which role a person has, by the claims that an issuer proves. Whoever no rule names has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, cast
from uuid import NAMESPACE_URL, UUID, uuid5

from onrecord.adapters.inputs.arguments import name_given
from onrecord.adapters.service.access import Role
from onrecord.domain.errors import InvalidContent, InvalidInput

Claims: TypeAlias = Mapping[str, object]
"""What an ID token says of a person: `{"sub": "4711", "email": "ada@example.org", "groups": ["auditors"]}`."""

_ROLES: Final[tuple[Role, ...]] = ("operate", "write", "read")
"""The one that may do most comes first."""

_BY_NAME: Final[dict[str, Role]] = {role: role for role in _ROLES}

_EMAIL: Final = "email"

_CHOSEN_BY_PEOPLE: Final = frozenset(
    (
        *("name", "given_name", "family_name", "middle_name", "nickname", "preferred_username"),
        *("profile", "picture", "website", "gender", "birthdate", "zoneinfo", "locale"),
        *("phone_number", "address"),
    )
)
"""Claims that people may write themselves (OpenID Connect Core, 5.1): they prove nothing."""


@dataclass(frozen=True, slots=True)
class RoleRule:
    """Gives a role to each person whose claim is a value, or is a list that holds it."""

    role: Role
    claim: str
    value: str

    def fits(self, claims: Claims) -> bool:
        """Return whether it gives the role to a person; an email counts only where it is verified."""
        claim = claims.get(self.claim)
        if self.claim == _EMAIL:
            return claim == self.value and _has_verified_email(claims)
        if isinstance(claim, list):
            return self.value in cast("list[object]", claim)
        return claim == self.value


def role_rule(text: str) -> RoleRule:
    """Return the rule that is written `ROLE:CLAIM=VALUE`; InvalidInput for anything else."""
    name, _, condition = text.partition(":")
    claim, _, value = condition.partition("=")
    role = _BY_NAME.get(name)
    if role is None or not claim or not value:
        raise InvalidInput(
            f"{text!r} gives no role: write read, write or operate, a claim and its value, such as "
            "read:groups=auditors"
        )
    if claim in _CHOSEN_BY_PEOPLE:
        raise InvalidInput(
            f"people may write their {claim} themselves: name email, sub, or a claim that only the "
            "issuer writes"
        )
    return RoleRule(role, claim, value)


def role_of(claims: Claims, rules: Iterable[RoleRule]) -> Role | None:
    """Return the role that may do most of those that rules give to a person; None for nobody's."""
    roles = {rule.role for rule in rules if rule.fits(claims)}
    return next((role for role in _ROLES if role in roles), None)


def person_id(claims: Claims) -> UUID:
    """Return the id of a person: the same one for each login at the same issuer."""
    return uuid5(NAMESPACE_URL, f"{claims['iss']} {claims['sub']}")


def login_id_of(claims: Claims) -> str | None:
    """Return the issuer's id of the login that proved the claims; None where it says none."""
    id_ = claims.get("sid")
    return id_ if isinstance(id_, str) and id_ else None


def person_name(claims: Claims) -> str:
    """Return who a person is, in a name that nobody else at the issuer has; InvalidContent for none.

    It is the email if it is verified, else the name and the `sub`. People write their names
    themselves, so a name alone would let one act as another.
    """
    email = claims.get(_EMAIL)
    if isinstance(email, str) and email and _has_verified_email(claims):
        return name_given("a person", email)
    sub, name = name_given("a person", claims.get("sub")), claims.get("name")
    if not isinstance(name, str):
        return sub
    try:
        return name_given("a person", f"{name} ({sub})")
    except InvalidContent:
        return sub


def _has_verified_email(claims: Claims) -> bool:
    # Some issuers write the text.
    return claims.get("email_verified") in (True, "true")
