"""Which tools were declared, and when: read from the log by the head's pointer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onrecord.adapters.amendments import amendments
from onrecord.adapters.lineage import Stretch
from onrecord.adapters.reading import blob_among, in_force
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import Native
from onrecord.domain.log import Backend, Log, RecordedEvent
from onrecord.domain.registry import Erased, Unrecognised
from onrecord.projections.apis.declared_tools import Declared
from onrecord.projections.apis.declared_tools import Tool
from onrecord.projections.apis.declared_tools import declared_in


def declared(backend: Backend, stretches: tuple[Stretch, ...]) -> Declared:
    """Return the tools in force at the end of these stretches, each whole."""
    redacted = amendments(backend, stretches).redacted
    found = in_force(backend, stretches, "tools", redacted)
    return Declared() if found is None else declaration(backend, stretches, found)


def declaration(
    backend: Backend, stretches: tuple[Stretch, ...], recorded: RecordedEvent
) -> Declared:
    """Return what a recorded declaration put in force; nothing where it was erased."""
    event = recorded.event()
    if isinstance(event, Erased | Unrecognised):
        return Declared()
    told = declared_in(event, recorded.version, recorded.conversation_id)
    return replace(told, tools=tuple(_whole(backend, stretches, tool) for tool in told.tools))


def declarations(log: Log, stretches: tuple[Stretch, ...]) -> Iterator[RecordedEvent]:
    """Yield all that were made in these stretches, the last one first; reads nothing else."""
    for stretch in reversed(stretches):
        found = in_force(log, (stretch,), "tools")
        while found is not None:
            yield found
            before = replace(stretch, until=found.version - 1, head=None)
            found = in_force(log, (before,), "tools")


def _whole(backend: Backend, stretches: tuple[Stretch, ...], tool: Tool) -> Tool:
    """Return a tool with the strings that were moved to blobs."""
    if not isinstance(tool, Native):
        return tool
    blobs = tuple(referenced(tool.value))
    if not blobs:
        return tool
    held = {blob.sha256: blob_among(backend, stretches, blob) for blob in blobs}
    return Native(api=tool.api, value=restore(tool.value, held))
