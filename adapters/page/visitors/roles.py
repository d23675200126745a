"""Which role a person has, by the claims that an issuer proves. Whoever no rule names has none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, cast

from onrecord.adapters.page.visitors.people import Claims, has_verified_email
from onrecord.adapters.service.access import Role
from onrecord.domain.errors import InvalidInput

_ROLES: Final[tuple[Role, ...]] = ("operate", "write", "read")
"""The one that may do most comes first."""

_BY_NAME: Final[dict[str, Role]] = {role: role for role in _ROLES}

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
        if self.claim == "email":
            return claim == self.value and has_verified_email(claims)
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
            f"{text!r} gives no role: begin with read:, write: or operate:, then a claim and its value, "
            "such as read:groups=auditors"
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
