"""Where projections of one's own come from: entry points, names on a command line, a program's own."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final, cast

from onrecord.adapters.views.following import Following, Runner
from onrecord.adapters.views.pages import Shape
from onrecord.adapters.views.ports import Keeper, ViewStatus, view_of
from onrecord.domain.errors import InvalidInput, OnrecordError
from onrecord.projections.views.own_views import (
    OwnRows,
    OwnView,
    is_of,
    is_own,
    row_of,
    view_of_own,
)
from onrecord.projections.views.projection import (
    NativeProjection,
    OwnProjection,
    ProjectionRow,
)
from onrecord.projections.views.registry import EVERYTHING, TextPolicy, register
from onrecord.projections.views.view import View

GROUP: Final = "onrecord.projections"
"""The group of entry points by which an installed package brings projections."""

_LOG: Final = logging.getLogger("onrecord.views")


def views_of_store(texts: TextPolicy = EVERYTHING) -> dict[str, View]:
    """Return a new table: the maintained views, and the projections of installed packages, as `texts` allows.

    A package whose projection cannot be loaded is told of in the log, and does not cost the others.
    """
    table = texts.views()
    for name, projection in _installed():
        try:
            register_projection(projection, table, texts)
        except OnrecordError as error:
            _LOG.warning("the projection of the entry point %s is left out: %s", name, error)
    return table


def register_projection(
    projection: object, table: dict[str, View], texts: TextPolicy = EVERYTHING
) -> View:
    """Return a projection as a view of the table, to which it is added where it is not there yet.

    InvalidInput where an encrypted store does not allow it by name.
    """
    own = _instance(projection)
    same_name = table.get(str(getattr(own, "name", None)))
    if isinstance(same_name, OwnView):
        if is_of(same_name, own, by_class=own is not projection and isinstance(projection, type)):
            return same_name
        raise InvalidInput(
            f"there is a projection `{same_name.name}` already: pass the instance that you registered, or its "
            "name; give another projection another name"
        )
    view = view_of_own(own)
    texts.must_allow(view)
    register((view,), table)
    return view


def load_projection(reference: str) -> object:
    """Return what `package.module:NAME` names; InvalidInput where there is no such thing."""
    module, colon, name = reference.partition(":")
    if not (module and colon and name.isidentifier()):
        raise InvalidInput(f"`{reference}` names no projection: write package.module:NAME")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as exc:
        raise InvalidInput(
            f"there is no module {exc.name}: run this where it can be imported, or set PYTHONPATH"
        ) from exc
    except AttributeError as exc:
        raise InvalidInput(f"the module {module} has no {name}") from exc


def _installed() -> Iterator[tuple[str, object]]:
    for point in entry_points(group=GROUP):
        try:
            yield point.name, point.load()
        except Exception as error:  # noqa: BLE001 - whatever another package raises when it is imported
            _LOG.warning(
                "the entry point %s cannot be loaded: %s", point.name, type(error).__name__
            )


def _instance(projection: object) -> NativeProjection:
    """Return a projection, made of its class where that was named."""
    library = sys.modules.get("eventsourcing.projection")  # Who made one has imported it.
    if library is not None and isinstance(projection, library.Projection):
        from onrecord.adapters.storage.eventsourcing.projections import ProjectionSink

        return ProjectionSink(cast("Any", projection))
    instance = projection
    if isinstance(projection, type) and issubclass(projection, NativeProjection):
        try:
            instance = projection()
        except TypeError as exc:
            raise InvalidInput(
                f"{projection.__name__} cannot be made without arguments: {exc}"
            ) from exc
    if isinstance(instance, NativeProjection):
        return instance
    raise InvalidInput(
        "a projection is a RowProjection, a TableProjection or an EventSink of onrecord, or an instance of the "
        f"`eventsourcing` library's Projection, not {type(instance).__name__}"
    )


class OwnProjections:
    """The projections of one's own that a store knows, and who folds them in this process."""

    def __init__(
        self,
        table: dict[str, View],
        runner: Callable[[View], Runner],
        texts: TextPolicy = EVERYTHING,
    ) -> None:
        """Add to the table of a store's views, as `texts` allows; `runner` makes who folds one of them."""
        self._table, self._runner, self.texts = table, runner, texts
        self._registering = threading.Lock()

    def register(self, projection: object) -> View:
        """Return a projection as a view, which the table knows from now on."""
        with self._registering:
            return register_projection(projection, self._table, self.texts)

    def view(self, projection: OwnProjection | str) -> View:
        """Return a projection, or the one of that name, as a view; InvalidInput for a maintained view."""
        if not isinstance(projection, str):
            return self.register(projection)
        view = view_of(projection, self._table)
        if not is_own(view):
            raise InvalidInput(
                f"{projection} is a maintained view: read it by store.views.{projection}"
            )
        return view

    def shape(self, projection: OwnProjection | str) -> Shape[ProjectionRow]:
        """Return what pages of a `RowProjection` are made of."""
        view = self.view(projection)
        if not isinstance(view, OwnRows):
            raise InvalidInput(
                f"{view.name} keeps its rows itself: only a RowProjection has them here"
            )
        return Shape(view, row_of, ("name", "conversation_id"))

    def views(self, names: Sequence[str] | None, own: Sequence[str]) -> dict[str, View]:
        """Return the views of these names, None means all, and projections of one's own with them."""
        wanted = self._table if names is None else (*names, *own)
        return {name: view_of(name, self._table) for name in wanted}

    def follow(self, projection: OwnProjection | str, keeper: Callable[[], Keeper]) -> Following:
        """Return the scope in which a projection is kept up to date."""
        view = self.view(projection)

        def status() -> ViewStatus:
            return next(one for one in keeper().status() if one.view == view.name)

        return Following(self._runner(view), status)
