"""The logs of `llm` (simonw/llm): a SQLite file whose threads and conversations were kept.

Release 0.36 keeps chains of messages; those before it kept a row a response, and what they wrote
stays in the file. A conversation that goes on in a thread is read there: the chain holds all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import apsw

from onrecord.adapters.histories import llm_responses, llm_threads
from onrecord.adapters.histories.database import Database, opened
from onrecord.adapters.histories.history import Heard, Histories, History, Listener
from onrecord.adapters.histories.llm_turns import hear_turns
from onrecord.domain.errors import InvalidInput

_SUBJECT: Final = "simonw_llm"


def conversations_in(path: Path) -> Histories:
    """Return the conversations of a file; InvalidInput where it holds no such logs."""
    with opened(path, _SUBJECT) as database:
        tables = _tables(database)
        if not tables & {"threads", "responses"}:
            raise InvalidInput("the file is no log of llm: it has neither threads nor responses")
        count = sum(1 for _ in _named(database, tables))
    return Histories(count, are_several=True, read=partial(_conversations, path))


def _conversations(path: Path) -> Iterator[History]:
    with opened(path, _SUBJECT) as database:
        tables = _tables(database)
        for name, tip in _named(database, tables):
            place = f"conversation {name}"
            yield History(place, name, partial(_hear, database, tables, name, tip))


def _named(database: Database, tables: frozenset[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the id of each conversation, and of a thread its last message."""
    rows = database.all("threads") if "threads" in tables else []
    threads: dict[str, str] = dict(rows)
    if "responses" in tables:
        for (name,) in database.all("conversations"):
            if name not in threads:
                yield name, None
    yield from threads.items()


def _hear(
    database: Database,
    tables: frozenset[str],
    name: str,
    tip: str | None,
    listener: Listener,
) -> Heard:
    try:
        if tip is None:
            return hear_turns(llm_responses.turns(database, tables, name), listener)
        return hear_turns(llm_threads.turns(database, name, tip), listener)
    except InvalidInput:
        raise
    except (KeyError, TypeError, ValueError, apsw.Error) as exc:
        raise InvalidInput("a row is not what llm writes: the file is damaged") from exc


def _tables(database: Database) -> frozenset[str]:
    return frozenset(name for (name,) in database.all("tables"))
