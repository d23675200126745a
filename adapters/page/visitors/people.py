"""Who a person is, by the claims that an issuer proves: an id, a name, and a login."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias
from uuid import NAMESPACE_URL, UUID, uuid5

from onrecord.adapters.inputs.arguments import name_given
from onrecord.domain.errors import InvalidContent

Claims: TypeAlias = Mapping[str, object]
"""What an issuer says of a person, in the ID token and by its userinfo endpoint.

`{"sub": "4711", "email": "ada@example.org", "groups": ["auditors"]}`
"""


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
    email = claims.get("email")
    if isinstance(email, str) and email and has_verified_email(claims):
        return name_given("a person", email)
    sub, name = name_given("a person", claims.get("sub")), claims.get("name")
    if not isinstance(name, str):
        return sub
    try:
        return name_given("a person", f"{name} ({sub})")
    except InvalidContent:
        return sub


def has_verified_email(claims: Claims) -> bool:
    """Return whether the issuer says that it verified the email of a person."""
    # Some issuers write the text.
    return claims.get("email_verified") in (True, "true")
