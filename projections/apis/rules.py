"""A breach of a provider's rule: where it is, what the provider says of it, what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

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
        Violation(pointer(path), rule.name, said, rule.advice)
        for rule in rules
        for path, said in rule.breaches(request)
    )


def pointer(path: Path) -> str:
    """Return a path as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def dotted(path: Path) -> str:
    """Return a path as Anthropic spells it: `messages.1.content.0`."""
    return ".".join(str(step) for step in path)


def bracketed(path: Path) -> str:
    """Return a path as OpenAI spells it: `messages[1].tool_calls[0].id`."""
    spelled = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return spelled.removeprefix(".")
