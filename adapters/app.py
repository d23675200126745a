"""The one place that wires: an URL in, a store out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from uuid import UUID

from onrecord.adapters.encryption.readable_log import files_of, keys_must_be_usable, readable_log
from onrecord.adapters.inputs.arguments import folds_given, id_given, text_given
from onrecord.adapters.recording.spool import Spool, spool_folder
from onrecord.adapters.seals.store_seals import StoreSeals
from onrecord.adapters.settings import (
    NO_TENANT,
    AccessMode,
    EncryptionSettings,
    SealSettings,
    access_mode_given,
    encryption_given,
    matrix_given,
    names_given,
    seals_given,
    settings,
)
from onrecord.adapters.storage.sqlite.url import path_of, url_of
from onrecord.adapters.store import Store, tenancy_of
from onrecord.adapters.streams.event_reading import uncounted
from onrecord.domain.errors import InvalidInput, StorageUnavailable, WrongNode
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Backend

if TYPE_CHECKING:
    from onrecord.adapters.recording.actor_names import AttributionNames
    from onrecord.adapters.redis.accelerator import Accelerator
    from onrecord.adapters.redis.connection import Connection
    from onrecord.adapters.redis.tails import Followed
    from onrecord.adapters.storage.postgres.postgres import Postgres
    from onrecord.adapters.storage.sqlite.sqlite import Sqlite
    from onrecord.adapters.views.reading import Views

FOLDS: Final = 32 << 20
"""How many bytes of folded conversations a process keeps by default."""

_SERVICE: Final = ("http", "https")

_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)


def connect(
    url: str | None = None,
    *,
    tenant: UUID | None = None,
    actor: str | None = None,
    on_behalf_of: str | None = None,
    policy: str | None = None,
    deployment: str | None = None,
    capability_file: str | os.PathLike[str] | None = None,
    redis: str | None = None,
    listen: str | None = None,
    folds: int = FOLDS,
    key: str | None = None,
    seals: str | Sequence[str] | None = None,
    seal_key: str | os.PathLike[str] | None = None,
    seal_vkey: str | Sequence[str] | None = None,
    access_log: AccessMode | None = None,
    keys: str | os.PathLike[str] | None = None,
    kek: str | os.PathLike[str] | None = None,
    plain_views: str | Sequence[str] | None = None,
) -> Store:
    """Return the store at an URL, made if it is not there yet; `repr` says where it writes.

    `sqlite:///talks.db` is a file in this folder (`sqlite:////var/talks.db` an absolute path),
    `postgresql://…` a server (`?schema=support` in a schema of that name, by default `onrecord`),
    `memory://` a store that ends with the process, `https://…` the store of a service
    (docs/http-store.md). Without an URL it is `$ONRECORD_URL`, else `sqlite:///onrecord.db`.

    Where a store serves several parties, `tenant` is the id of the one that this is for: it meets
    no other's conversations. Without it, it is `$ONRECORD_TENANT`, else nobody's in particular.

    `actor` is who acts where a conversation, a scope or a call does not say so, by name, and
    `on_behalf_of` for whom (docs/actors.md); without it, the actor is `$ONRECORD_ACTOR`. `policy`
    is the version of the policy in force and `deployment` what runs; without them, `$ONRECORD_POLICY`
    and `$ONRECORD_DEPLOYMENT`.

    `capability_file` is a TOML file that says what models take, over what Onrecord knows of them
    (docs/capabilities.md); without it, `$ONRECORD_CAPABILITIES`. InvalidInput says what is wrong in it.

    `folds` is how many bytes of memory may hold what was folded of conversations, so that the next
    request of one folds only what is new (docs/conversations.md); 0 keeps nothing.

    `redis` is the URL of a Redis that makes things quick (docs/redis.md); without it, it is
    `$ONRECORD_REDIS`, else there is none.

    Where the URL is that of a pooler such as PgBouncer, `listen` is the database's own, at which
    subscriptions hear of other processes' appends (docs/postgresql.md); without it, it is
    `$ONRECORD_LISTEN_URL`. Statements are then not prepared.

    `key` is the key for a service; without it, it is `$ONRECORD_KEY`. It is for one tenant, and that
    is the tenant of the store, where `tenant` does not say so.

    `seals` is where the log is sealed (a folder or an URL, or several), `seal_key` the file of the key
    that signs, `seal_vkey` the public keys that are trusted (docs/seals.md); without them, they are
    `$ONRECORD_SEALS`, `$ONRECORD_SEAL_KEY` and `$ONRECORD_SEAL_VKEY`. The first two are needed to seal.

    `access_log` says whether it is recorded who reads (docs/access.md): "off", "on", or "required", where
    what cannot be recorded is not shown; without it, `$ONRECORD_ACCESS_LOG`, else "off".

    `keys` is the key store of an encrypted log and `kek` the key-encryption key that it is under
    (docs/encryption.md); without them, `$ONRECORD_KEYS` and `$ONRECORD_KEK`. InvalidInput where the log has
    events in clear. `plain_views` are the views that may hold text; without it, `$ONRECORD_PLAIN_VIEWS`.
    """
    environment = settings()
    names = names_given(actor, on_behalf_of, policy, deployment)
    party = environment.tenant if tenant is None else id_given("a tenant", tenant)
    place = environment.url if url is None else text_given("a store's URL", url)
    if _scheme(place) in _SERVICE:
        if redis or listen or seals or seal_key or seal_vkey or keys or kek or plain_views:
            raise InvalidInput(
                "a service has its own Redis, database, keys and views, and its own seals: leave them out"
            )
        return _resumed(
            _service_store(
                place,
                environment.key if key is None else text_given("a key", key),
                None if party == NO_TENANT else party,
                names=names,
                matrix=matrix_given(capability_file),
                folds=folds_given(folds),
                access_log=access_mode_given(access_log),
            )
        )
    if key is not None:
        raise InvalidInput("a key is for a service: give its URL, https://host")
    open_store = _opened(
        place,
        names=names,
        capability_file=capability_file,
        redis=redis,
        listen=listen,
        folds=folds,
        sealing=seals_given(seals, seal_key, seal_vkey),
        access_log=access_mode_given(access_log),
        encryption=encryption_given(keys, kek, plain_views),
    )
    return _resumed(open_store(party))


def connect_tenants(url: str | None = None) -> tuple[Store, Callable[[UUID], Store]]:
    """Return the store at an URL, and what makes those of other tenants on the same backend.

    Closing the first one closes the backend. Arguments and errors are those of `connect`.
    """
    environment = settings()
    if _scheme(url or environment.url) in _SERVICE:
        raise InvalidInput("a service serves the log itself: give the URL of its own store")
    open_any = _opened(url, names=names_given(), access_log=access_mode_given(None))

    def open_store(tenant: UUID) -> Store:
        tenancy_of(store := open_any(tenant)).count = uncounted  # The service counts by keys.
        return store

    return _resumed(open_store(environment.tenant)), open_store


def _resumed(store: Store) -> Store:
    """Return a store in which the erasures are finished that another program did not live to finish."""
    try:
        store.resume_erasures()
    except BaseException:
        store.close()
        raise
    return store


def _opened(
    url: str | None,
    *,
    names: AttributionNames,
    access_log: AccessMode,
    capability_file: str | os.PathLike[str] | None = None,
    redis: str | None = None,
    listen: str | None = None,
    folds: int = FOLDS,
    sealing: SealSettings | None = None,
    encryption: EncryptionSettings | None = None,
) -> Callable[[UUID], Store]:
    """Open the backend at an URL, and return what makes the store of a tenant on it."""
    environment, most_folds, matrix = settings(), folds_given(folds), matrix_given(capability_file)
    sealing, encryption = sealing or environment.seals, encryption or encryption_given(None, None)
    place = environment.url if url is None else text_given("a store's URL", url)
    beside = _beside(environment.redis if redis is None else text_given("a Redis's URL", redis))
    direct = environment.listen if listen is None else text_given("the database's own URL", listen)
    if encryption.keys and not is_there(place):
        keys_must_be_usable(encryption)
    stored = _backend(place, beside, direct)
    backend = readable_log(stored, encryption)
    where, files = shown(place), files_of(backend)
    own_seals = StoreSeals(stored, sealing)
    if sealing.can_sign and _scheme(place) == "sqlite":
        cast("Sqlite", stored).file.appended = own_seals.appended

    def store_of(tenant: UUID) -> Store:
        return Store(
            backend,
            where,
            spool=Spool(spool_folder(where, backend.digest("spool").hex(), tenant), files),
            tenant=tenant,
            **names,
            matrix=matrix,
            accelerator=_accelerator(beside, stored),
            views=lambda: _views(place, backend, tenant, direct, encryption.plain_views),
            folds=most_folds,
            seals=own_seals,
            access_log=access_log,
        )

    return store_of


def _service_store(
    url: str,
    key: str | None,
    tenant: UUID | None,
    *,
    names: AttributionNames,
    matrix: Mapping[str, JsonObject],
    folds: int,
    access_log: AccessMode,
) -> Store:
    """Return the store of a service: of the tenant that the key is for, or of the one that is named."""
    with _driver_needed("A store over HTTP", "http"):
        from onrecord.adapters.storage.http.http import open_http

    backend = open_http(url, key, tenant=tenant)
    return Store(
        backend,
        backend.url,
        spool=Spool(spool_folder(backend.url, backend.digest("spool").hex(), backend.tenant)),
        tenant=backend.tenant,
        **names,
        matrix=matrix,
        folds=folds,
        access_log=access_log,
    )


def is_there(url: str | None = None) -> bool:
    """Whether there is a store at an URL: the file, or the schema in the server's database.

    An empty file is none: SQLite has such a one for a database that nobody made yet.
    """
    place = url or settings().url
    match _scheme(place):
        case "sqlite":
            return _holds_anything(path_of(place))
        case "postgresql" | "postgres":
            with _driver_needed("PostgreSQL", "postgres"):
                from onrecord.adapters.storage.postgres import postgres

            return postgres.is_there(place)
        case _:
            return True


def _holds_anything(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError:
        return True  # What is in the way, opening it says.


def migrate(url: str | None = None) -> int:
    """Bring a store's schema to this release's and return how many steps that took; it only adds.

    SchemaNewer where a newer Onrecord wrote it.
    """
    place = url or settings().url
    steps = _migrate(place)
    # On Citus it is migrated at the coordinator, and opened at its own node.
    with suppress(WrongNode):
        connect(place).close()
    return steps


def _migrate(url: str) -> int:
    match _scheme(url):
        case "sqlite":
            path = path_of(url)
            from onrecord.adapters.storage.sqlite.file import migrate_sqlite

            return migrate_sqlite(path) if path.exists() else 0
        case "postgresql" | "postgres":
            with _driver_needed("PostgreSQL", "postgres"):
                from onrecord.adapters.storage.postgres import postgres

            return postgres.migrate(url)
        case "http" | "https":
            raise InvalidInput(
                "a log is migrated where it is: give the URL of the service's own store"
            )
        case _:
            return 0


def _beside(url: str | None) -> Connection | None:
    if not url:
        return None
    with _driver_needed("Redis", "redis"):
        from onrecord.adapters.redis.connection import Connection

    return Connection(url)


def _accelerator(beside: Connection | None, backend: Followed) -> Accelerator | None:
    if beside is None:
        return None
    from onrecord.adapters.redis.accelerator import Accelerator

    return Accelerator(beside, backend)


def _backend(url: str, beside: Connection | None, listen: str | None) -> Followed:
    scheme = _scheme(url)
    match scheme:
        case "sqlite":
            path = path_of(url)
            from onrecord.adapters.storage.sqlite.sqlite import open_sqlite

            return open_sqlite(path)
        case "postgresql" | "postgres":
            with _driver_needed("PostgreSQL", "postgres"):
                from onrecord.adapters.storage.postgres.postgres import Limits, open_postgres

            limits = Limits(prepared=listen is None, listen=listen)
            if beside is None:
                return open_postgres(url, limits)
            from onrecord.adapters.redis.accelerator import RedisHints

            log = open_postgres(url, limits, lambda: RedisHints(beside, lambda: log.incarnation()))
            return log
        case "memory":
            from onrecord.adapters.storage.memory.memory import Memory

            return Memory()
        case _:
            why = f"{scheme} is not a kind of store" if scheme else "the store's URL has no scheme"
            raise InvalidInput(
                f"{why}: use sqlite:///file.db, postgresql://user@host/database, https://host or "
                "memory://"
            )


def _views(
    url: str, backend: Backend, tenant: UUID, direct: str | None, allowed: Collection[str]
) -> Views:
    """Return the views of a backend of an URL, of which `allowed` may hold text; `direct` leads past a pooler."""
    from onrecord.adapters.encryption.encrypted_log import stored_of
    from onrecord.adapters.views.encrypted import opening_of

    opening, stored = opening_of(backend, allowed), stored_of(backend)
    if (scheme := _scheme(url)) in ("postgresql", "postgres"):
        from onrecord.adapters.views.postgres.opening import server_views

        return server_views(cast("Postgres", stored), direct or url, tenant, opening)
    from onrecord.adapters.views.sqlite.opening import file_views

    path = cast("Sqlite", stored).file.path if scheme == "sqlite" else None
    return file_views(cast("Followed", stored), path, tenant, opening)


@contextmanager
def _driver_needed(what: str, extra: str) -> Generator[None]:
    """Say what to install where a server's driver, which an extra brings, is not there."""
    try:
        yield
    except ModuleNotFoundError as exc:
        raise StorageUnavailable(
            f"{what} needs {exc.name}: pip install 'onrecord[{extra}]'"
        ) from exc


def shown(url: str) -> str:
    """Return an URL as it may be shown: without a password, and a file with its whole path."""
    if _scheme(url) == "sqlite":
        return url_of(path_of(url))
    from onrecord.adapters.storage.postgres.url import without_secrets

    return without_secrets(url)


def _scheme(url: str) -> str:
    """Return the kind of store that a URL names, in small letters; empty where it names none."""
    named = _SCHEME.match(url)
    return named[1].lower() if named else ""
