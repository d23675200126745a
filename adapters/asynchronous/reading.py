"""The tables of a projection of one's own, read by coroutines."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self

from onrecord.adapters.asynchronous.thread_scopes import enter_in_thread, leave_in_thread
from onrecord.adapters.storage.steps import ThreadSteps
from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.projection import ProjectionTransaction


class AsyncReading:
    """A transaction that reads, as `Views.read` lends it: `async with store.views.read(name) as reading:`.

    It has a thread of its own while it lasts, for some drivers want one.
    """

    def __init__(self, read: Callable[[], AbstractContextManager[ProjectionTransaction]]) -> None:
        """Read nothing yet."""
        self._read = read
        self._thread = ThreadSteps()
        self._scope: AbstractContextManager[ProjectionTransaction] | None = None
        self._lent: ProjectionTransaction | None = None

    async def __aenter__(self) -> Self:
        """Begin the transaction."""
        await enter_in_thread(self._thread, self._enter, lambda _: self._leave(None, None, None))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the transaction."""
        await leave_in_thread(self._thread, partial(self._leave, kind, error, trace))

    @property
    def database(self) -> Literal["sqlite", "postgresql"]:
        """Return which database it is."""
        return self._transaction.database

    @property
    def generation(self) -> int:
        """Return the number that the rows bear."""
        return self._transaction.generation

    async def execute(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows, as `ProjectionTransaction.execute` does."""
        return await self._thread.run(partial(self._transaction.execute, statement, *parameters))

    @property
    def _transaction(self) -> ProjectionTransaction:
        if self._lent is None:
            raise InvalidInput("nothing is read yet: `async with store.views.read(projection)`")
        return self._lent

    def _enter(self) -> None:
        scope = self._read()
        self._lent = scope.__enter__()
        self._scope = scope

    def _leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        scope, self._scope, self._lent = self._scope, None, None
        if scope is not None:
            scope.__exit__(kind, error, trace)
