"""What callers hand over as names, texts and versions, taken only if it is of the right kind.

Each function says what it is that it did not get: names and kinds, never a value, which may be
personal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar, cast
from uuid import UUID

from pydantic import BaseModel

from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, NothingToSend
from onrecord.domain.head import Head

KindT = TypeVar("KindT")

_LAST_VERSION: Final = 2**63 - 1
"""Databases count no further."""


def key_given(value: object) -> str:
    """Return the key; InvalidContent if it is blank or no text."""
    if not text_given("a key", value).strip():
        raise InvalidContent("a conversation needs a key: give it a name that is not blank")
    return cast("str", value)


def text_given(what: str, value: object) -> str:
    """Return the text; InvalidContent for anything else, and for what no request could carry."""
    if not isinstance(value, str):
        raise InvalidContent(f"{what} is a text (str), not {kind_of(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidContent(
            f"{what} holds half a surrogate pair, which is no character: decode it with "
            'errors="replace"'
        ) from None
    return value


def call_given(value: object) -> str:
    """Return the id of a call; InvalidContent for anything but a text.

    A model's server made it, so it may hold half a surrogate pair: what is open can be answered.
    """
    if not isinstance(value, str):
        raise InvalidContent(f"a call's id is a text (str), not {kind_of(value)}")
    return value


def text_if_given(what: str, value: object) -> str | None:
    """Return the text, or None for None; InvalidContent for anything else."""
    return None if value is None else text_given(what, value)


def reason_given(value: object) -> str:
    """Return the reason of an erasure; InvalidContent if it is blank or no text."""
    if not text_given("a reason", value).strip():
        raise InvalidContent("an erasure needs a reason: say why, without the names of who asked")
    return cast("str", value)


LONGEST_NAME: Final = 500
"""Characters of the name of somebody who acts."""


def name_given(what: str, value: object) -> str:
    """Return the name of somebody; InvalidContent if it is blank, too long or no text."""
    name = text_given(what, value)
    if not name.strip():
        raise InvalidContent(f"{what} has a name that is not blank: leave it out, or say who it is")
    if len(name) > LONGEST_NAME:
        raise InvalidContent(
            f"{what} has a name of {len(name):,} characters, and it may have {LONGEST_NAME}: name it by "
            "something shorter, such as an id"
        )
    return name


LONGEST_VERSION: Final = 128
"""Characters of what names a version of a policy, or a deployment."""

_VERSION: Final = re.compile(rf"[A-Za-z0-9._:/@+-]{{1,{LONGEST_VERSION}}}")


def version_named(what: str, value: object) -> str:
    """Return what names a version of a policy, or a deployment; InvalidContent for other characters.

    It stands in clear in headers, which are never erased: what may name a person is refused where
    it has spaces or letters that are not ASCII.
    """
    name = text_given(what, value)
    if not _VERSION.fullmatch(name):
        raise InvalidContent(
            f"{what} is named by 1 to {LONGEST_VERSION} letters, digits and ._:/@+- of ASCII, such as "
            "2026-11 or eu-1@4f9c2d1: no person's name"
        )
    return name


def id_given(what: str, value: object) -> UUID:
    """Return the id; InvalidContent for anything but a UUID."""
    if isinstance(value, UUID):
        return value
    raise InvalidContent(f"{what} is named by an id (uuid.UUID), not {kind_of(value)}")


def folds_given(value: object) -> int:
    """Return how many bytes of folds may be kept; InvalidContent for anything but 0 or more."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise InvalidContent("folds= is how many bytes may be kept: an integer, 0 for none")


def version_given(value: object) -> int:
    """Return the version; InvalidContent for anything but an integer that a log may count to."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value <= _LAST_VERSION:
            raise InvalidContent("there is no such version: it is 0 or more, and below 2 ** 63")
        return value
    raise InvalidContent(f"a version is an integer, not {kind_of(value)}")


def version_if_given(value: object) -> int | None:
    """Return the version, or None for None; InvalidContent for anything but an integer."""
    return None if value is None else version_given(value)


def version_asked(head: Head, at: int | None) -> int:
    """Return the version that is meant: the last one, or the one that is asked for.

    NothingToSend where nothing was said yet, InvalidContent where there is no such version.
    """
    if head.version == 0:
        raise NothingToSend("nothing was said in this conversation yet: say something first")
    if at is not None and not 1 <= version_given(at) <= head.version:
        raise InvalidContent(f"there is no version {at}: the conversation is at {head.version}")
    return head.version if at is None else at


def labels_given(value: object) -> dict[str, str]:
    """Return the labels; InvalidContent for anything but a dict of texts."""
    if isinstance(value, dict):
        labels = cast("dict[object, object]", value)
        if all(isinstance(part, str) for label in labels.items() for part in label):
            json_given("a label", labels)
            return cast("dict[str, str]", labels)
    raise InvalidContent('labels are texts under texts: write {"reviewed": "yes"}')


def of_kind(kind: type[KindT], what: str, value: object) -> KindT:
    """Return the value; InvalidContent for anything but one of that kind."""
    if isinstance(value, kind):
        return value
    raise InvalidContent(f"{what} is of the type {kind.__name__}, not {kind_of(value)}")


def json_given(what: str, value: object) -> None:
    """Raise InvalidContent where a text in JSON is none, or where it is nested too deeply."""
    deepest = jsontext.DEEPEST
    # Depth first: what holds itself ends there.
    waiting = [(value, 0)]
    while waiting:
        outer, depth = waiting.pop()
        if depth > deepest:
            raise InvalidContent(f"{what} is nested more than {deepest} levels deep: flatten it")
        waiting.extend((part, depth + 1) for part in _parts(what, outer))


def _parts(what: str, value: object) -> list[object]:
    """Return what stands directly in an object or a list; InvalidContent for what is no text."""
    if isinstance(value, str):
        text_given(what, value)
    if isinstance(value, dict):
        members = cast("dict[object, object]", value)
        return [*members, *members.values()]
    return list(cast("Sequence[object]", value)) if isinstance(value, list | tuple) else []


def several(what: str, value: object) -> tuple[object, ...]:
    """Return what a list holds; InvalidContent for what is one thing, not a list of them."""
    if _is_one_thing(value):
        raise InvalidContent(f"{what} are a list, not {kind_of(value)}: write {what}=[...]")
    return tuple(cast("Iterable[object]", value))


def kind_of(value: object) -> str:
    """Return the name of a value's type."""
    return type(value).__name__


def _is_one_thing(value: object) -> bool:
    return not isinstance(value, Iterable) or isinstance(value, str | bytes | dict | BaseModel)
