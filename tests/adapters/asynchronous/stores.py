"""A store of each kind, opened for coroutines, and what a test wants to know of it."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from onrecord.adapters.asynchronous.store import AsyncStore
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.store import Store
from tests.contract.places import Place
from tests.factories import TENANT


@contextmanager
def opened(place: Place, folder: Path) -> Generator[Store]:
    """A store at a place, for threads: `AsyncStore(store)` is the same one for coroutines."""
    backend = place.open()
    with Store(backend, "test://", spool=Spool(folder), tenant=TENANT) as store:
        yield store


def texts(store: Store, key: str) -> list[str]:
    """The lines that were said in a conversation, as another program reads it."""
    return [line for turn in store.conversation(key).history() for line in turn.text.splitlines()]


def awaited(store: Store) -> AsyncStore:
    """The same store, for coroutines."""
    return AsyncStore(store)
