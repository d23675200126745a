"""A process that asks one conversation for its window and ends; prints the seconds that it took.

Counted from before the first import, so that what a library brings along is in it; the start of the
interpreter is not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

Program = Callable[[list[str]], object]


def main(arguments: list[str]) -> None:
    """Run one of the programs on its arguments: `ours` URL KEY REDIS, or a peer's PLACE KEY LIMIT."""
    name, *rest = arguments
    began = perf_counter()
    PROGRAMS[name](rest)
    print(perf_counter() - began)


def _ours(arguments: list[str]) -> object:
    import onrecord

    url, key = arguments
    from tests.bench.request import LAST

    with onrecord.connect(url) as store:
        return store.conversation(key).request("anthropic-messages", window=LAST)


def _sqlite_session(arguments: list[str]) -> object:
    import asyncio

    from tests.bench.peers import sqlite_session

    path, key, limit = arguments
    return asyncio.run(sqlite_session(Path(path), key).get_items(limit=int(limit)))


def _sqlalchemy_session(arguments: list[str]) -> object:
    import asyncio

    from tests.bench.peers import sqlalchemy_session

    url, key, limit = arguments
    return asyncio.run(sqlalchemy_session(url, key).get_items(limit=int(limit)))


PROGRAMS: dict[str, Program] = {
    "ours": _ours,
    "sqlite-session": _sqlite_session,
    "sqlalchemy-session": _sqlalchemy_session,
}

if __name__ == "__main__":
    main(sys.argv[1:])
