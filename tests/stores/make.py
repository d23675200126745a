"""Keep stores of this release, so that every later one can be held to open them: `make freeze`.

What is made lies in tests/stores/<release>/: the log and the views of a SQLite store, the log of a
PostgreSQL as SQL, an export, what they hold, and the digests of the SQL that made them.
"""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import onrecord
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.storage.postgres.schema import FUNCTIONS_REVISION
from onrecord.adapters.storage.queries import load_functions, load_migrations
from onrecord.adapters.store import backend_of
from onrecord.adapters.transfer.export import export
from onrecord.projections.views.registry import VIEWS
from tests.adapters.histories.kept_histories import ANTHROPIC, taken_in
from tests.adapters.views.workers import caught_up
from tests.postgres_copies import run
from tests.postgres_server import carried_server
from tests.tampering.history import record

HERE: Final = Path(__file__).parent
EXPORTED: Final = "support/4711"
RENDERED: Final = "kept"

SQLITE: Final = "log.sqlite.gz"
SQLITE_VIEWS: Final = "log.sqlite-views.gz"
POSTGRES: Final = "postgres.sql.gz"
EXPORT: Final = "export.jsonl.gz"

_OLDEST: Final = "16"
"""What the oldest server writes, every newer one reads."""


def make(release: str) -> Path:
    """Return the folder of a release's stores, made anew."""
    folder = HERE / release
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with tempfile.TemporaryDirectory() as place:
        held = _make_sqlite(Path(place), folder)
    _make_postgres(folder)
    _write_json(folder / "holds.json", held)
    _write_json(folder / "made-of.json", made_of())
    return folder


def made_of() -> dict[str, Any]:
    """Return the digests of the SQL that makes stores: of each step, and of PostgreSQL's functions."""
    functions = load_functions("postgres", FUNCTIONS_REVISION)
    steps = {
        dialect: {str(step.version): step.digest.hex() for step in load_migrations(dialect)}
        for dialect in ("postgres", "sqlite", "sqlite_views")
    }
    return {
        "steps": steps,
        "functions": {"revision": functions.version, "digest": functions.digest.hex()},
    }


def holding(store: onrecord.Store) -> dict[str, Any]:
    """Return what a store holds: the version of each conversation, and a digest of its events."""
    found: dict[str, Any] = {}
    for listed in store.conversations():
        events = list(backend_of(store).read(listed.conversation_id))
        told = [
            (event.version, event.type, str(event.event_id), event.leaf.hex()) for event in events
        ]
        digest = sha256(json.dumps(told).encode()).hexdigest()
        found[str(listed.conversation_id)] = {
            "key": listed.key,
            "version": listed.head.version,
            "events": digest,
            "erased": sum(event.body is None for event in events),
        }
    return found


def unpacked(path: Path, to: Path) -> Path:
    """Write what a kept file holds to another place."""
    to.write_bytes(gzip.decompress(path.read_bytes()))
    return to


def _filled(url: str) -> None:
    with closing(onrecord.connect(url)) as store:
        record(store)
        taken_in(store, "anthropic-messages", ANTHROPIC)


def _make_sqlite(place: Path, folder: Path) -> dict[str, Any]:
    url = f"sqlite:///{place}/log.sqlite"
    _filled(url)
    with closing(onrecord.connect(url)) as store:
        store.views.audit(limit=1)
        store.views.usage()
        store.views.search("parcel")
        store.views.conversations(limit=1)
        store.views.tool_calls(limit=1)
        store.views.window(EXPORTED)
        conversation = store.get(EXPORTED).conversation_id
        _pack(folder / EXPORT, b"".join(export(backend_of(store), conversation, EXPORTED)))
        held = holding(store)
    # Closed, so that all of it is in the files themselves.
    _pack(folder / SQLITE, (place / "log.sqlite").read_bytes())
    _pack(folder / SQLITE_VIEWS, (place / "log.sqlite-views").read_bytes())
    return held


def _make_postgres(folder: Path) -> None:
    running = carried_server(_OLDEST)
    url = running.create("log", migrate)
    _filled(url)
    caught_up(url, VIEWS)
    with closing(onrecord.connect(url)) as store:
        _write_json(folder / "holds-postgres.json", holding(store))
    # As INSERTs, so that the driver loads it. psql's own commands are left out.
    dumped = run(running, "pg_dump", "--inserts", "--no-owner", "--dbname", url)
    lines = [line for line in dumped.splitlines() if not line.startswith("\\")]
    _pack(folder / POSTGRES, "\n".join(lines).encode())


def _pack(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, mtime=0))


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    print(f"Kept in {make(onrecord.__version__)}: commit it with the release")
