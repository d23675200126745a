"""Names of tools as their callers gave them, where models were told of them under others.

A name that an API refuses goes to it spelled anew (projections/history/tool_names.py), so that is
the name that the model calls. Which tool it means is told by the tools in force.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from onrecord.domain.content import Native
from onrecord.domain.events import ToolsDeclared
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import tool_of

# Names of tools as services take them: letters, digits, `_` and `-`, not too many.
#
# "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches
# the pattern '^[a-zA-Z0-9_-]+$'.", and at most 64 of them at OpenAI; "tools.0.custom.name: String
# should match pattern '^[a-zA-Z0-9_-]{1,128}$'" at Anthropic.

OPENAI: Final = 64
"""The longest name that OpenAI takes."""

ANTHROPIC: Final = 128
"""The longest name that Anthropic takes."""

LENGTHS: Final = frozenset({OPENAI, ANTHROPIC})
"""The longest names that there are services for."""

_ANEW: Final = re.compile(r"_[0-9a-f]{8}\Z")
_GEMINI: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_-]")
_DIGITS: Final = 8


@lru_cache(maxsize=256)
def name_for(own_name: str, longest: int) -> str:
    """Return the name under which a tool goes: its own if it fits.

    Else it is spelled anew and ends with digits of a digest of the given one, so that two names
    that differ stay apart, and a tool and its calls stay together in each request.
    """
    if 0 < len(own_name) <= longest and not _UNFIT.search(own_name):
        return own_name
    return _anew(own_name, longest)


@lru_cache(maxsize=256)
def name_for_gemini(own_name: str) -> str:
    """Return the name under which a tool goes to Gemini, as `name_for` does to others.

    "Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or
    contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
    """
    if _GEMINI.fullmatch(own_name):
        return own_name
    name = _anew(own_name, OPENAI - 1)
    return name if _GEMINI.fullmatch(name) else f"_{name}"


def _anew(own_name: str, longest: int) -> str:
    digest = hashlib.sha256(own_name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    stem = _UNFIT.sub("_", own_name)[: longest - _DIGITS - 1]
    return f"{stem}_{digest}" if stem else f"tool_{digest}"


def is_spelled_anew(name: str) -> bool:
    """Whether a name may be one that was made in place of another."""
    return bool(_ANEW.search(name))


def renamed(own_name: str, name: str) -> str:
    """Return why a tool goes under another name, for the report."""
    return f"the service does not take the name {own_name!r}: the tool goes as {name!r}"


def given_names(defined: ToolsDeclared | None) -> Mapping[str, str]:
    """Return the caller's own name of each tool that goes under another one, by that."""
    own_names = set(_names(defined)) if defined else set[str]()
    renamings = {(name_for(name, longest), name) for name in own_names for longest in LENGTHS}
    renamings |= {(name_for_gemini(name), name) for name in own_names}
    return {other: name for other, name in sorted(renamings) if other not in own_names}


def _names(defined: ToolsDeclared) -> Iterable[str]:
    for tool in defined.tools:
        definition = tool_of(tool) if isinstance(tool, Native) else tool
        if isinstance(definition, ToolDefinition):
            yield definition.name
