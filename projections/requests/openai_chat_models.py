"""What differs between the models that read a Chat Completions request, by their names.

Compatible servers take the same request and disagree on details; a name such as
`deepseek/deepseek-chat` or `ft:gpt-4o:...` says whose model it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_FAMILY: Final = re.compile(r"gpt-oss|[a-z]+")
_OPENAI: Final = frozenset({"gpt", "o", "chatgpt", "codex"})
_MISTRAL: Final = frozenset(
    {"mistral", "mixtral", "ministral", "magistral", "codestral", "devstral", "pixtral", "voxtral"}
)

_ROLES: Final[tuple[tuple[re.Pattern[str], Mapping[str, str]], ...]] = (
    # "Unsupported value: 'messages[0].role' does not support 'system' with this model.", and the
    # same of 'developer'.
    (re.compile(r"o1-(mini|preview)"), {"system": "user", "developer": "user"}),
    # "unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`"
    (re.compile(r"deepseek"), {"developer": "system"}),
    # Mistral's own API knows the same four (docs.mistral.ai, "Chat completion").
    (re.compile("|".join(sorted(_MISTRAL))), {"developer": "system"}),
)
"""Roles that models refuse, each with the one to speak in."""

_MEMBERS: Final = frozenset({"role", "content", "name"})

_THINKING_ALOUD: Final = frozenset({"deepseek", "kimi", "moonshot"})
"""Families that want to see what they thought before they called a tool."""

_ANY_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,40}\Z")
_LONGEST_ID: Final = 40
_MISTRAL_ID: Final = re.compile(r"[a-zA-Z0-9]{9}\Z")


@dataclass(frozen=True, slots=True)
class Reader:
    """The model that a request is for, as far as it is known."""

    model: str | None = None

    @property
    def name(self) -> str:
        """The model's own name: without its vendor, in lower case; empty if it is not known."""
        return (self.model or "").rpartition("/")[2].lower().removeprefix("ft:")

    @property
    def is_openai(self) -> bool:
        """Whether OpenAI's own service is the one to read the request."""
        return family_of(self.model) in _OPENAI

    @property
    def is_compatible(self) -> bool:
        """Whether it is known that another service than OpenAI's is to read the request."""
        return self.model is not None and not self.is_openai

    @property
    def members(self) -> frozenset[str] | None:
        """The members that a user's message may have; None where that is not known."""
        if self.is_openai:
            return _MEMBERS
        return _MEMBERS - {"name"} if family_of(self.model) in _MISTRAL else None

    @property
    def wants_reasoning(self) -> bool:
        """Whether an answer that calls tools is refused where it tells no reasoning."""
        return family_of(self.model) in _THINKING_ALOUD

    @property
    def wants_a_word(self) -> bool:
        """Whether the user may speak only after the assistant did, once a tool gave its result."""
        return family_of(self.model) in _MISTRAL

    def role(self, role: str) -> str:
        """Return the role to speak in for one that the model may refuse."""
        name = self.name
        for pattern, roles in _ROLES:
            if pattern.match(name):
                return roles.get(role, role)
        return role

    def is_kin(self, model: str | None) -> bool:
        """Whether one of its family made an answer; of an unknown one that is taken for granted.

        OpenAI's service takes no members that it does not list, whoever made them.
        """
        own, other = family_of(self.model), family_of(model)
        return not self.is_openai and (own is None or other is None or own == other)

    def takes_id(self, call_id: str, *, is_kin: bool = False) -> bool:
        """Whether the id of a call may go as it is; `is_kin`: a server made it that is asked again.

        "Invalid 'messages[36].tool_calls[0].id': string too long. Expected a string with maximum
        length 40, but got a string with length 51"; Mistral: "Tool call id was ... but must be a-z,
        A-Z, 0-9, with a length of 9." Others take what they made: some put a signature into it.
        """
        if family_of(self.model) in _MISTRAL:
            return bool(_MISTRAL_ID.match(call_id))
        if is_kin and call_id:
            return self.model is not None or len(call_id) <= _LONGEST_ID
        return bool(_ANY_ID.match(call_id))

    def id_of(self, digest: str) -> str:
        """Return an id that may go, made of a digest in hex."""
        return digest[:9] if family_of(self.model) in _MISTRAL else f"call_{digest[:24]}"


@lru_cache(maxsize=64)
def family_of(model: str | None) -> str | None:
    """Return whose model a name is of: its first word; None where that says nothing."""
    found = _FAMILY.match(Reader(model).name) if model else None
    return found.group() if found else None
