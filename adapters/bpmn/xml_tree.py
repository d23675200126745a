"""XML from anyone, as a tree: hardened against entities, external references, depth and size."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

# Only the C parser's own error: this parses nothing.
from xml.etree.ElementTree import ParseError

from onrecord.adapters.conversation.arguments import kind_of
from onrecord.domain.errors import InvalidInput, InvalidModel, NotInstalled

try:
    from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]  # no stubs
    from defusedxml.ElementTree import DefusedXMLParser  # type: ignore[import-untyped]  # no stubs
except ModuleNotFoundError as exc:
    raise NotInstalled("BPMN", "defusedxml", "bpmn") from exc

LARGEST: Final = 8 * 1024 * 1024
"""Bytes: twice what an engine takes in one deployment."""

DEEPEST: Final = 200
"""Elements within elements."""

_REFUSED: Final = cast("type[ValueError]", DefusedXmlException)


@dataclass(frozen=True, slots=True)
class Node:
    """An XML element: `{namespace}name`, its attributes spelled likewise, its text and children."""

    tag: str
    attributes: dict[str, str]
    text: str
    children: tuple[Node, ...]

    def all(self, *tags: str) -> tuple[Node, ...]:
        """Return the children that have one of these tags, in order."""
        return tuple(child for child in self.children if child.tag in tags)

    def within(self, *tags: str) -> tuple[Node, ...]:
        """Return what is reached by these tags, one step each."""
        found: tuple[Node, ...] = (self,)
        for tag in tags:
            found = tuple(child for node in found for child in node.all(tag))
        return found


def bytes_of(source: Path | bytes) -> bytes:
    """Return a file's bytes, or the bytes; InvalidModel for more than `LARGEST` of them."""
    match source:
        case bytes():
            data = source
        case Path():
            data = _beginning_of(source)
        case _:
            raise InvalidInput(f"a model is a pathlib.Path or bytes, not {kind_of(source)}")
    if len(data) > LARGEST:
        raise InvalidModel(f"the model is larger than {LARGEST // 1024**2} MiB: split it")
    return data


def _beginning_of(path: Path) -> bytes:
    """Read no more than it takes to see that it is too large."""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as exc:
        raise InvalidModel(f"the model cannot be read: {exc.strerror}") from exc


def tree_of(data: bytes) -> Node:
    """Return the root of an XML document; InvalidModel for what is none, or does harm."""
    target = _Tree()
    parser: Any = DefusedXMLParser(target=target, forbid_dtd=True)
    try:
        parser.feed(data)
        return cast("Node", parser.close())
    except InvalidModel:
        raise
    except _REFUSED as exc:
        raise InvalidModel(
            "the model declares a document type or entities: no model needs them, remove them"
        ) from exc
    except (ParseError, ValueError, LookupError) as exc:
        raise InvalidModel(f"the model is not XML: {exc}") from exc


@dataclass(slots=True)
class _Open:
    """An element that has begun and not ended."""

    tag: str
    attributes: dict[str, str]
    text: list[str] = field(default_factory=list[str])
    children: list[Node] = field(default_factory=list[Node])

    def closed(self) -> Node:
        return Node(self.tag, self.attributes, "".join(self.text), tuple(self.children))


class _Tree:
    """What the parser tells of its elements to: keeps those that are open."""

    def __init__(self) -> None:
        self._open = [_Open("", {})]

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) > DEEPEST:
            raise InvalidModel(f"the model nests elements more than {DEEPEST} deep: flatten it")
        self._open.append(_Open(tag, attributes))

    def data(self, text: str) -> None:
        self._open[-1].text.append(text)

    def end(self, tag: str) -> None:
        closed = self._open.pop()
        assert closed.tag == tag, "expat pairs tags"
        self._open[-1].children.append(closed.closed())

    def close(self) -> Node:
        return self._open[0].children[0]
