"""What arrives piece by piece in the chunks of a completion, put together member by member.

Servers spell deltas differently: a role, an id or a name may come once or in every chunk, lists
with an index or without. Known texts are joined, lists grow, of all else the last that says
something stays; what changes that should not is complained of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias, cast

from onrecord.adapters.wire.stream_reader import in_whole_characters
from onrecord.domain.jsontext import JsonObject

Complain: TypeAlias = Callable[[str], None]
"""Takes the name of a member of which more was said than its value can tell."""


class Growing(Protocol):
    """A value that grows."""

    def add(self, piece: Any, complain: Complain) -> bool:
        """Take a piece in; return whether it could be, and else the value stays as it was."""
        ...

    def value(self) -> Any:
        """Return what all pieces come to."""
        ...


Shape: TypeAlias = Mapping[str, Callable[[], Growing]]
"""What the members of an object grow as; those not named here as their JSON type says."""

NO_SHAPE: Final[Shape] = {}


def says(value: Any) -> bool:
    """Whether a member says anything: null, blank and empty ones do not."""
    return value is not None and value not in ("", [], {})


class Text:
    """A text that is joined."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        """Begin with nothing."""
        self._pieces: list[str] = []

    def add(self, piece: Any, complain: Complain) -> bool:
        """Take more text in."""
        if not isinstance(piece, str):
            return False
        self._pieces.append(piece)
        return True

    def value(self) -> str:
        """Return the whole text."""
        return in_whole_characters("".join(self._pieces))


class Name:
    """A name, or an id, that comes once, again and again, or a bit longer each time.

    Another name is joined to the first; of ids the first one stays.
    """

    __slots__ = ("_is_id", "_known")

    def __init__(self, *, is_id: bool = False) -> None:
        """Begin with nothing."""
        self._is_id = is_id
        self._known = ""

    def add(self, piece: Any, complain: Complain) -> bool:
        """Take the name in, or its next part."""
        if not isinstance(piece, str):
            return False
        if piece.startswith(self._known):
            self._known = piece
        elif piece:
            complain("id" if self._is_id else "name")
            self._known += "" if self._is_id else piece
        return True

    def value(self) -> str:
        """Return the name."""
        return self._known


class Members:
    """An object that grows member by member, in the order in which they first came.

    `appends` says whether its lists grow; else the last one stays, as what is no delta.
    """

    __slots__ = ("_appends", "_grown", "_shape", "_values")

    def __init__(self, shape: Shape = NO_SHAPE, *, appends: bool = True) -> None:
        """Begin with no member."""
        self._shape = shape
        self._appends = appends
        self._values: dict[str, Any] = {}
        self._grown: dict[str, Growing] = {}

    def add(self, piece: Any, complain: Complain) -> bool:
        """Take the members of an object in."""
        if not isinstance(piece, dict):
            return False
        for name, value in cast("JsonObject", piece).items():
            self.take(name, value, complain)
        return True

    def take(self, name: str, value: Any, complain: Complain) -> None:
        """Take one member in; null says nothing once something was said."""
        grown = self._grown.get(name)
        if grown is not None:
            if value is not None and not grown.add(value, complain):
                complain(name)
        elif name not in self._values or self._values[name] != value:
            self._settle(name, self._values.get(name), value, complain)

    def get(self, name: str) -> Any:
        """Return what is known of a member so far; None where that is nothing."""
        return self._grown[name].value() if name in self._grown else self._values.get(name)

    def value(self) -> JsonObject:
        """Return the object."""
        return {name: self.get(name) for name in self._values}

    def _settle(self, name: str, known: Any, value: Any, complain: Complain) -> None:
        if not says(known) and self._grows(name, value, complain):
            return
        if not says(value) and (value is None or known is not None):
            self._values.setdefault(name, value)
            return
        if _varies(known, value):
            complain(name)
        self._values[name] = value

    def _grows(self, name: str, value: Any, complain: Complain) -> bool:
        """Begin to grow a member, if it is one that does."""
        grown = self._begun(name, value)
        if grown is None:
            return False
        if not grown.add(value, complain):
            complain(name)
            return False
        self._values.setdefault(name, None)
        self._grown[name] = grown
        return True

    def _begun(self, name: str, value: Any) -> Growing | None:
        match value:
            case None:
                return None
            case _ if name in self._shape:
                return self._shape[name]()
            case dict():
                return Members(appends=self._appends)
            case list() if self._appends:
                return Elements()
            case _:
                return None


class Elements:
    """A list that grows: an element with an index or an id goes on from an earlier one.

    Elements of one delta are never one; a type, and an id where there is one, must agree.
    """

    __slots__ = ("_elements", "_known", "_shape")

    def __init__(self, shape: Shape = NO_SHAPE) -> None:
        """Begin with no element."""
        self._shape = shape
        self._elements: list[Any] = []
        self._known: dict[tuple[str, ...], Members] = {}

    def add(self, piece: Any, complain: Complain) -> bool:
        """Take the elements of a list in."""
        if not isinstance(piece, list):
            return False
        known: dict[tuple[str, ...], Members] = {}
        for element in cast("list[Any]", piece):
            keys = _keys(element)
            if not keys:
                self._elements.append(element)
                continue
            grown = self._earlier(keys, element)
            if grown is None or grown in known.values():
                grown = Members(self._shape)
                self._elements.append(grown)
            grown.add(element, complain)
            known.update(dict.fromkeys(keys, grown))
        self._known.update(known)
        return True

    def value(self) -> list[Any]:
        """Return the list."""
        return [
            element.value() if isinstance(element, Members) else element
            for element in self._elements
        ]

    def _earlier(self, keys: list[tuple[str, ...]], element: JsonObject) -> Members | None:
        grown = next((self._known[key] for key in keys if key in self._known), None)
        return grown if grown is not None and _agree(grown, element) else None


def _keys(element: Any) -> list[tuple[str, ...]]:
    """Return by what an element can be found again."""
    if not isinstance(element, dict):
        return []
    members = cast("JsonObject", element)
    kind = str(members.get("type"))
    return [(name, kind, str(members[name])) for name in ("index", "id") if says(members.get(name))]


def _agree(grown: Members, element: JsonObject) -> bool:
    """Whether an element with the same index may be the same one, by its id."""
    known, element_id = grown.get("id"), element.get("id")
    return not says(known) or not says(element_id) or known == element_id


def _varies(known: Any, value: Any) -> bool:
    """Whether a member says something else than before; a number may, for it may be a count."""
    if not says(known):
        return False
    return not (isinstance(known, int | float) and isinstance(value, int | float))
