"""Which conversations ran under a rule: a version of a policy, a deployment, instructions, tools, a model.

They are found in the rows of the view `audit`: of each event it has the rules that the event names.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from onrecord.domain import jsontext
from onrecord.domain.events import InstructionsSet, ToolsDeclared
from onrecord.domain.header import time_of
from onrecord.domain.tools import tools_digest
from onrecord.projections.views.view import Row, members_in

RULES: Final = {"instructions": "instructions.set", "tools": "tools.declared"}
"""Rules that are known by a digest of what they say, and the events that put them in force."""


@dataclass(frozen=True, slots=True)
class InForce:
    """A conversation that ran under a rule: its events that name the rule.

    There are `events` of them, from `first_version` to `last_version`, recorded from `first_at` to
    `last_at` (microseconds since 1970-01-01 UTC). Of instructions and tools these are the events that
    put them in force. `key` is the conversation's, None once it was forgotten.
    """

    conversation_id: UUID
    first_version: int
    last_version: int
    first_at: int
    last_at: int
    events: int
    key: str | None = None

    @property
    def first_time(self) -> datetime:
        """Return `first_at` as a datetime, in UTC."""
        return time_of(self.first_at)

    @property
    def last_time(self) -> datetime:
        """Return `last_at` as a datetime, in UTC."""
        return time_of(self.last_at)


def in_force(row: Row) -> InForce:
    """Return which conversation ran under a rule, of a row of a page."""
    return InForce(**members_in(row, InForce.__dataclass_fields__, ids=("conversation_id",)))


def rule_digest(event: InstructionsSet | ToolsDeclared) -> str:
    """Return the digest, in hex, by which instructions or tools are known in every conversation.

    It is the SHA-256 of the canonical JSON of `content` of instructions, and of tools `sha256` of
    their declaration.
    """
    if isinstance(event, ToolsDeclared):
        return event.sha256 or tools_digest(event.tools)
    content = event.content
    plain = content if isinstance(content, str) else content.model_dump(mode="json")
    return hashlib.sha256(jsontext.write_canonical(plain)).hexdigest()
