"""Hansard: the verbatim record of what agents said and did.

``hansard.connect(url)`` gives a `Store`, ``store.conversation(key)`` a `Talk`; both say the rest.
"""

from hansard.adapters.app import connect
from hansard.adapters.store import Store
from hansard.adapters.talk import Talk
from hansard.domain.content import Document, Native, Text
from hansard.domain.errors import (
    ConversationClosed,
    ConversationNotFound,
    HansardError,
    IdempotencyMismatch,
    InvalidInput,
    NotRecorded,
    StorageError,
    VersionConflict,
)
from hansard.domain.tools import ToolDefinition
from hansard.projections.window import Window

__version__ = "0.1.0"

__all__ = [
    "ConversationClosed",
    "ConversationNotFound",
    "Document",
    "HansardError",
    "IdempotencyMismatch",
    "InvalidInput",
    "Native",
    "NotRecorded",
    "StorageError",
    "Store",
    "Talk",
    "Text",
    "ToolDefinition",
    "VersionConflict",
    "Window",
    "__version__",
    "connect",
]
