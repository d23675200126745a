"""An empty database of a kind, by the URL at which a user's program would open it."""

from collections.abc import Iterator
from pathlib import Path

from onrecord.adapters.storage.postgres.postgres import migrate
from tests.postgres_server import VERSIONS, server


def url_of(kind: str, folder: Path) -> Iterator[str]:
    """The URL of a store on "sqlite", in "memory" or on "postgres", and the end of it."""
    match kind:
        case "sqlite":
            yield f"sqlite:///{folder / 'talks.db'}"
        case "memory":
            yield "memory://"
        case _:
            url = server(VERSIONS[-1]).create("log", migrate)
            yield url
            server(VERSIONS[-1]).drop(url)
