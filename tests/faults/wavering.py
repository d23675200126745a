"""Writers that take back some of what they append, hold some of it up, or lose their connection."""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from random import Random
from typing import Final
from uuid import UUID

from onrecord.adapters.storage.postgres.batch import packed, parameters_of
from onrecord.adapters.storage.postgres.connections import fetched
from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.adapters.storage.sqlite.append import append_all
from onrecord.adapters.storage.sqlite.sqlite import Sqlite
from onrecord.domain.log import Append, Backend, Recorded
from tests.contract.places import Place
from tests.factories import appending
from tests.faults.trail import Mark
from tests.faults.writer import HintSender
from tests.patience import PATIENCE

TENANTS: Final = [UUID(int=number) for number in range(1, 5)]
NEVER: Final = -1
"""Said in place of a request's number by what is taken back."""


class TakenBack(Exception):
    """The transaction is to be rolled back."""


@dataclass(frozen=True, slots=True)
class Load:
    """How much a process writes: threads, requests of each, and events of a request at most."""

    threads: int
    requests: int
    most: int


def waver(place: Place, load: Load, process: int, seed: str, told: Connection) -> None:
    """Write all of the load, and tell each request that was recorded; None is the end."""
    backend = place.open()
    telling = HintSender(told)
    telling.send([])
    writers = [
        Writer(backend, process * load.threads + thread, Random(f"{seed}/{thread}"), telling)
        for thread in range(load.threads)
    ]
    with ThreadPoolExecutor(load.threads) as pool:
        for writing in [pool.submit(writer.write, load) for writer in writers]:
            writing.result(PATIENCE)
    backend.close()
    telling.send(None)


@dataclass(frozen=True, slots=True)
class Writer:
    """One thread that appends so many requests, one way or another."""

    backend: Backend
    number: int
    random: Random
    telling: HintSender

    def write(self, load: Load) -> None:
        for request in range(load.requests):
            size = self.random.randint(1, load.most)
            if self.random.random() < 0.3:
                self.take_back(self.asked(Mark(self.number, NEVER, size)))
            append = self.asked(Mark(self.number, request, size))
            if self.random.random() < 0.3:
                with transaction(self.backend, append):
                    pass
            else:
                (verdict,) = self.backend.append([append])
                assert isinstance(verdict, Recorded)
            self.telling.send((self.number, request))

    def asked(self, mark: Mark) -> Append:
        tenant = self.random.choice(TENANTS)
        conversation = UUID(int=tenant.int << 64 | self.random.choice((0, self.number + 1)))
        return appending(conversation, *mark.events(), tenant=tenant)

    def take_back(self, append: Append) -> None:
        breaks = self.random.random() < 0.1
        with suppress(TakenBack), transaction(self.backend, append) as break_connection:
            if breaks:
                break_connection()
            raise TakenBack


@contextmanager
def transaction(backend: Backend, append: Append) -> Generator[Callable[[], object]]:
    """Append in a transaction that is open until the end of the scope.

    Yields what breaks the connection, where there is one to break.
    """
    match backend:
        case Postgres():
            with backend.connections.transaction() as connection:
                fetched(connection, "append", parameters_of(packed([append], backend.digest)))
                yield connection.close
        case Sqlite():
            with backend.file.appending() as (session, tail):
                append_all(session, backend.file.digest_key, tail, [append])
                yield lambda: None
        case _:
            raise AssertionError(backend)
