"""A breach of a provider's rule: where it is, what the provider says of it, what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from onrecord.domain import jsontext

Path: TypeAlias = tuple[str | int, ...]
"""The way from a request to a part of it: names of members and places in lists."""

Found: TypeAlias = tuple[Path, str]
"""Where a rule is broken, and the provider's words for it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A breach of a provider's rule."""

    where: str
    """A JSON pointer (RFC 6901) into the request; "" is all of it."""
    rule: str
    """The rule's name, as docs/rendering.md and docs/checking.md list it."""
    said: str
    """What the provider answers, as far as its words are known."""
    advice: str
    """What to do about it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a provider: its name, what to do where it is broken, and the look for that."""

    name: str
    advice: str
    breaches: Callable[[Mapping[str, Any]], Iterator[Found]]


def violations(rules: tuple[Rule, ...], request: Mapping[str, Any]) -> tuple[Violation, ...]:
    """Return each breach of the rules in a request, in the order of the rules."""
    return tuple(
        Violation(jsontext.pointer(path), rule.name, words, rule.advice)
        for rule in rules
        for path, words in rule.breaches(request)
    )


def dotted(path: Path) -> str:
    """Return a path as Anthropic spells it: `messages.1.content.0`."""
    return ".".join(str(step) for step in path)


def bracketed(path: Path) -> str:
    """Return a path as OpenAI spells it: `messages[1].tool_calls[0].id`."""
    path_text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return path_text.removeprefix(".")


# Images and files that are sent as data URLs, as both of OpenAI's APIs want them.

_IMAGES: Final = ("image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp")


def unread_image(path: Path, url: Any) -> Iterator[Found]:
    """Find an image of another kind than png, jpeg, gif and webp (the vision guide's list)."""
    media_type = media_type_of(url)
    if media_type is not None and media_type not in _IMAGES:
        message = (
            "You uploaded an unsupported image. Please make sure your image has of one the "
            "following formats: ['png', 'jpeg', 'gif', 'webp']."
        )
        yield path, message


def no_data_url(path: Path, data: Any, wanted: str) -> Iterator[Found]:
    """Find a file that is no data URL."""
    if isinstance(data, str) and media_type_of(data) is None:
        yield path, f"{_expected(path, wanted)}, but got a value without the 'data:' prefix."


def unread_file(path: Path, data: Any, wanted: str) -> Found:
    """Return what the service says of a file of a kind that it does not read."""
    words = f"{_expected(path, wanted)}, but got unsupported MIME type '{media_type_of(data)}'."
    return path, words


def media_type_of(url: Any) -> str | None:
    """Return the media type of a data URL; None for anything else."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    return url.removeprefix("data:").partition(",")[0].partition(";")[0]


def _expected(path: Path, wanted: str) -> str:
    return (
        f"Invalid file data: '{bracketed(path)}'. Expected a base64-encoded data URL with {wanted}"
    )


# Names and ids, as both of OpenAI's APIs want them.

_PATTERN: Final = "^[a-zA-Z0-9_-]+$"
_LONGEST_NAME: Final = 64


def malformed_name(path: Path, name: Any) -> Iterator[Found]:
    """Find a name that has other characters than these, or too many of them."""
    if not isinstance(name, str):
        return
    if not re.fullmatch(_PATTERN, name):
        message = (
            f"Invalid '{bracketed(path)}': string does not match pattern. Expected a string that "
            f"matches the pattern '{_PATTERN}'."
        )
        yield path, message
    elif len(name) > _LONGEST_NAME:
        yield path, too_long(path, len(name), _LONGEST_NAME)


def too_long(path: Path, length: int, longest: int) -> str:
    """Return what the service says of a text that is longer than it may be."""
    return (
        f"Invalid '{bracketed(path)}': string too long. Expected a string with maximum length "
        f"{longest}, but got a string with length {length} instead."
    )


def too_short(path: Path) -> str:
    """Return what the service says of an id that has no character."""
    return (
        f"Invalid '{bracketed(path)}': empty string. Expected a string with minimum length 1, but "
        "got an empty string instead."
    )


def repeated_tools(names: Sequence[tuple[int, str]]) -> Iterator[Found]:
    """Find each tool whose name another one before it has; "" is none."""
    seen: set[str] = set()
    for place, name in names:
        if name and name in seen:
            yield ("tools", place), f"Duplicate tool name found: '{name}'."
        seen.add(name)
