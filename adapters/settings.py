"""The environment, read once."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, get_args
from uuid import UUID

from onrecord.adapters.inputs.arguments import text_given, text_if_given
from onrecord.domain.errors import InvalidInput, UnknownApi
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import listed, names

if TYPE_CHECKING:
    from onrecord.adapters.recording.actor_names import AttributionNames
    from onrecord.projections.apis.capabilities import Capabilities
    from onrecord.projections.views.usage import Prices


DEFAULT_URL: Final = "sqlite:///onrecord.db"
NO_TENANT: Final = UUID(int=0)
"""The tenant of a store that serves one party only."""


AccessMode: TypeAlias = Literal["off", "on", "required"]
"""Whether it is recorded who reads, and whether what cannot be recorded is refused (docs/access.md)."""


@dataclass(frozen=True, slots=True)
class SealSettings:
    """Where a log is sealed, and with which keys (docs/seals.md).

    `places` are folders and URLs (`ONRECORD_SEALS`), which may hold passwords: `repr` does not show
    them. `key` is the file of the private key (`ONRECORD_SEAL_KEY`), `public_keys` are those that are
    trusted, as `onrecord seal-key` prints them (`ONRECORD_SEAL_VKEY`). `timestamps` is the URL of an
    authority that says when a checkpoint was there (`ONRECORD_TIMESTAMPS`), and `authority` a PEM file with
    the certificates by which that is believed.
    """

    places: tuple[str, ...] = field(default=(), repr=False)
    key: Path | None = None
    public_keys: tuple[str, ...] = ()
    timestamps: str | None = field(default=None, repr=False)
    authority: Path | None = None

    @property
    def can_sign(self) -> bool:
        """Whether a place and a key are named."""
        return bool(self.places) and self.key is not None


@dataclass(frozen=True, slots=True)
class EncryptionSettings:
    """Where the keys of an encrypted log are (docs/encryption.md): neither or both are named.

    `keys` is the key store, a file or a URL of SQLite or PostgreSQL (`ONRECORD_KEYS`). `kek` is the
    key-encryption key: a file, `env:NAME` or `aws-kms:ALIAS` (`ONRECORD_KEK`). `plain_views` are the views
    that may hold text in clear (`ONRECORD_PLAIN_VIEWS`). `repr` does not show `keys`: a URL holds a password.
    """

    keys: str | None = field(default=None, repr=False)
    kek: str | None = None
    plain_views: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SignInSettings:
    """The issuer whose accounts sign in to the page (docs/oidc.md); none where `issuer` is None.

    `issuer` is its URL (`ONRECORD_OIDC_ISSUER`), `client` the id that the service has there
    (`ONRECORD_OIDC_CLIENT`). The secret is `ONRECORD_OIDC_SECRET`, or in a file
    (`ONRECORD_OIDC_SECRET_FILE`). `roles` are rules such as `read:groups=auditors`
    (`ONRECORD_OIDC_ROLES`), and `scopes` are asked for beside the usual ones (`ONRECORD_OIDC_SCOPES`).
    """

    issuer: str | None = None
    client: str | None = None
    secret: str | None = field(default=None, repr=False)
    secret_file: Path | None = None
    roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says.

    `url` is where the store is (`ONRECORD_URL`), `actor` who acts (`ONRECORD_ACTOR`; only a keyed
    digest of it is stored), `tenant` whose conversations these are (`ONRECORD_TENANT`, a UUID),
    `capabilities` a file that says what models take (`ONRECORD_CAPABILITIES`), `redis` where a Redis
    is that makes things quick (`ONRECORD_REDIS`), `prices` a file that says what tokens cost
    (`ONRECORD_PRICES`), `listen` the database's own URL where `url` is a pooler's
    (`ONRECORD_LISTEN_URL`), `key` what a service asks for (`ONRECORD_KEY`), `seals` how the log is
    sealed, `encryption` where its keys are, `policy` and `deployment` which rules are in force (`ONRECORD_POLICY`,
    `ONRECORD_DEPLOYMENT`), `access_log` whether reads are recorded (`ONRECORD_ACCESS_LOG`), None
    where that does not say. URLs hold passwords: `repr` shows neither them nor the key.
    """

    url: str = field(default=DEFAULT_URL, repr=False)
    actor: str | None = None
    tenant: UUID = NO_TENANT
    capabilities: Path | None = None
    redis: str | None = field(default=None, repr=False)
    prices: Path | None = None
    listen: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    seals: SealSettings = SealSettings()
    encryption: EncryptionSettings = EncryptionSettings()
    policy: str | None = None
    deployment: str | None = None
    access_log: AccessMode | None = None
    sign_in: SignInSettings = SignInSettings()


def local_actor() -> str:
    """Return who acts on this machine: `$ONRECORD_ACTOR`, else who is logged in."""
    return settings().actor or getpass.getuser()


def settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings that an environment holds; what it does not name is at its default.

    InvalidInput where `ONRECORD_TENANT` is no UUID, or `ONRECORD_ACCESS_LOG` is not on, off or required.
    """
    return Settings(
        url=environment.get("ONRECORD_URL") or DEFAULT_URL,
        actor=environment.get("ONRECORD_ACTOR") or None,
        tenant=_tenant(environment.get("ONRECORD_TENANT")),
        capabilities=_path(environment.get("ONRECORD_CAPABILITIES")),
        redis=environment.get("ONRECORD_REDIS") or None,
        prices=_path(environment.get("ONRECORD_PRICES")),
        listen=environment.get("ONRECORD_LISTEN_URL") or None,
        key=environment.get("ONRECORD_KEY") or None,
        seals=SealSettings(
            places=tuple(environment.get("ONRECORD_SEALS", "").split()),
            key=_path(environment.get("ONRECORD_SEAL_KEY")),
            public_keys=tuple(environment.get("ONRECORD_SEAL_VKEY", "").split()),
            timestamps=environment.get("ONRECORD_TIMESTAMPS") or None,
        ),
        encryption=EncryptionSettings(
            environment.get("ONRECORD_KEYS") or None,
            environment.get("ONRECORD_KEK") or None,
            frozenset(environment.get("ONRECORD_PLAIN_VIEWS", "").split()),
        ),
        policy=environment.get("ONRECORD_POLICY") or None,
        deployment=environment.get("ONRECORD_DEPLOYMENT") or None,
        access_log=_access_mode("ONRECORD_ACCESS_LOG", environment.get("ONRECORD_ACCESS_LOG")),
        sign_in=SignInSettings(
            issuer=environment.get("ONRECORD_OIDC_ISSUER") or None,
            client=environment.get("ONRECORD_OIDC_CLIENT") or None,
            secret=environment.get("ONRECORD_OIDC_SECRET") or None,
            secret_file=_path(environment.get("ONRECORD_OIDC_SECRET_FILE")),
            roles=tuple(environment.get("ONRECORD_OIDC_ROLES", "").split()),
            scopes=tuple(environment.get("ONRECORD_OIDC_SCOPES", "").split()),
        ),
    )


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _tenant(text: str | None) -> UUID:
    try:
        return UUID(text) if text else NO_TENANT
    except ValueError:
        raise InvalidInput("ONRECORD_TENANT is no UUID: write it as 8-4-4-4-12 digits") from None


def access_mode_given(mode: str | None) -> AccessMode:
    """Return whether reads are recorded; what is None is as the environment has it, else "off"."""
    return _access_mode("access_log", mode) or settings().access_log or "off"


def _access_mode(name: str, text: str | None) -> AccessMode | None:
    if text in get_args(AccessMode):
        return cast("AccessMode", text)
    if text:
        raise InvalidInput(f"{name} is one of {', '.join(get_args(AccessMode))}")
    return None


def names_given(
    actor: str | None = None,
    on_behalf_of: str | None = None,
    policy: str | None = None,
    deployment: str | None = None,
) -> AttributionNames:
    """Return who acts and under which rules: what a caller leaves out, the environment says."""
    known = settings()
    return {
        "actor": known.actor if actor is None else actor,
        "on_behalf_of": on_behalf_of,
        "policy": known.policy if policy is None else policy,
        "deployment": known.deployment if deployment is None else deployment,
    }


def seals_given(
    places: str | Sequence[str] | None,
    key: str | os.PathLike[str] | None,
    public_keys: str | Sequence[str] | None,
    authority: str | os.PathLike[str] | None = None,
) -> SealSettings:
    """Return how a log is sealed; what is None is as the environment has it.

    A text holds one place or key, or several with spaces between them.
    """
    known = settings().seals
    try:
        return SealSettings(
            known.places if places is None else _words("seals", places),
            known.key if key is None else Path(key),
            known.public_keys if public_keys is None else _words("seal_vkey", public_keys),
            known.timestamps,
            None if authority is None else Path(authority),
        )
    except TypeError:
        raise InvalidInput("seal_key and authority are paths of files") from None


def encryption_given(
    keys: str | os.PathLike[str] | None,
    kek: str | os.PathLike[str] | None,
    plain_views: str | Sequence[str] | None = None,
) -> EncryptionSettings:
    """Return where the keys of a log are, and which views may hold text; None: as the environment has it.

    InvalidInput where one of the two is named alone.
    """
    known = settings().encryption
    try:
        named = EncryptionSettings(
            known.keys if keys is None else os.fspath(keys) or None,
            known.kek if kek is None else os.fspath(kek) or None,
            known.plain_views
            if plain_views is None
            else frozenset(_words("plain_views", plain_views)),
        )
    except TypeError:
        raise InvalidInput("keys and kek are paths or URLs") from None
    if (named.keys is None) != (named.kek is None):
        raise InvalidInput(
            "a log is encrypted by a key store and a key-encryption key: name both, by ONRECORD_KEYS and "
            "ONRECORD_KEK, or neither"
        )
    return named


def _words(name: str, words: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(text_given(name, words).split() if isinstance(words, str) else words)


# TOML files that callers write.


def tables_in(file: Path, parse_float: Callable[[str], Any] = float) -> JsonObject:
    """Return the tables of a file; InvalidInput, with the file and the reason, where it has none."""
    import tomllib

    try:
        text = file.read_text("utf-8")
    except OSError as exc:
        raise InvalidInput(f"{file}: cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise InvalidInput(f"{file}: is no UTF-8 at byte {exc.start}") from exc
    except ValueError:
        raise InvalidInput(f"{str(file)!r} is the name of no file: name a TOML file") from None
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except ValueError as exc:
        raise InvalidInput(f"{file}: is no TOML: {exc}") from exc
    except RecursionError as exc:
        raise InvalidInput(f"{file}: is nested too deeply") from exc


# Files in which a caller says what models take, and what is known of one with them.


def matrix_given(file: str | os.PathLike[str] | None) -> Mapping[str, JsonObject]:
    """Return what a file says that models take, by API; without one, `$ONRECORD_CAPABILITIES`.

    Nothing where neither names a file. InvalidInput where it cannot be read, or says what no such
    file may say: the message names the file, the entry and the reason.
    """
    path = settings().capabilities if file is None else file
    return {} if path is None else matrix_in(_capability_path(path))


def matrix_in(file: Path) -> Mapping[str, JsonObject]:
    """Return what a file says that models take, by API; InvalidInput as `matrix_given` has it."""
    from onrecord.projections.apis.capabilities import check_tables

    tables = tables_in(file)
    try:
        check_tables(tables, names())
    except InvalidInput as exc:
        raise InvalidInput(f"{file}: {exc}") from exc
    return tables


def capabilities(
    api: str, model: str | None = None, *, file: str | os.PathLike[str] | None = None
) -> Capabilities:
    """Return what a model takes, as a request to it would be made; None: what any of the API takes.

    `file` lies over what comes with Onrecord; without one, `$ONRECORD_CAPABILITIES`. UnknownApi where
    the API is none of ours, InvalidInput where the file says what it may not.
    """
    from onrecord.projections.apis.capabilities import capabilities_of
    from onrecord.projections.apis.request import Options

    if api not in names():
        raise UnknownApi(f"{api!r} is no API that Onrecord speaks: choose one of {listed()}")
    named = text_if_given("a model's name", model)
    return capabilities_of(api, named, Options(api=api, matrix=matrix_given(file).get(api)))


def _capability_path(file: str | os.PathLike[str]) -> Path:
    try:
        return Path(file)
    except TypeError:
        raise InvalidInput("capabilities is the path of a TOML file") from None


# Files in which a caller says what tokens cost.


def prices_given(file: str | os.PathLike[str] | None) -> Prices:
    """Return the prices that a file says; without one, `$ONRECORD_PRICES`.

    No model has a price where neither names a file. InvalidInput where it cannot be read, or says
    what no such file may say: the message names the file, the entry and the reason.
    """
    from onrecord.projections.views.usage import Prices, prices_in

    path = settings().prices if file is None else Path(file)
    if path is None:
        return Prices()
    tables = tables_in(path, parse_float=Decimal)
    try:
        return prices_in(tables)
    except InvalidInput as exc:
        raise InvalidInput(f"{path}: {exc}") from exc
