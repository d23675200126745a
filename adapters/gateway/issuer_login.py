"""Signing in by an issuer put together: who it is, how it knows the service, and who gets which role."""

from __future__ import annotations

from pathlib import Path

from onrecord.adapters.page.visitors.issuer import Client
from onrecord.adapters.page.visitors.issuer_sign_in import IssuerSignIn
from onrecord.adapters.page.visitors.roles import role_rule
from onrecord.adapters.settings import SignInSettings
from onrecord.domain.errors import InvalidInput, NotInstalled


def issuer_sign_in(chosen: SignInSettings) -> IssuerSignIn | None:
    """Return how people sign in by an issuer; None where none is named.

    InvalidInput where something is missing or wrong, NotInstalled without the extra `oidc`.
    """
    if chosen.issuer is None:
        if chosen.client or chosen.roles:
            raise InvalidInput("people sign in by an issuer: name it by --oidc-issuer")
        return None
    if chosen.client is None:
        raise InvalidInput("say by --oidc-client which id this service has at the issuer")
    if not chosen.roles:
        raise InvalidInput("nobody could sign in: say who has which role by --oidc-role")
    rules = tuple(map(role_rule, chosen.roles))
    client = Client(chosen.issuer, chosen.client, _secret(chosen), chosen.scopes)
    try:
        from onrecord.adapters.page.visitors.openid import OpenIdIssuer
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("onrecord"):
            raise
        package = error.name.partition(".")[0]
        raise NotInstalled("signing in by an issuer", package, "oidc") from error
    return IssuerSignIn(OpenIdIssuer(client), rules)


def _secret(chosen: SignInSettings) -> str:
    secret = chosen.secret if chosen.secret_file is None else _text_in(chosen.secret_file)
    if not secret:
        raise InvalidInput(
            "the issuer gave this service a secret: put it into ONRECORD_OIDC_SECRET, or into a file "
            "that --oidc-secret-file names"
        )
    return secret


def _text_in(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidInput(f"{file}: is no UTF-8") from None
