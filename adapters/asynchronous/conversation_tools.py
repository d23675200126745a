"""The tools of a conversation whose verbs are awaited: `await chat.tools.declare([tool])`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from onrecord.adapters.conversation.conversation_tools import ConversationTools
from onrecord.adapters.storage.steps import Steps
from onrecord.adapters.streams.scopes import within_scopes

if TYPE_CHECKING:
    from onrecord.adapters.conversation.conversation_tools import DeclaredTool
    from onrecord.adapters.streams.stream import Done
    from onrecord.domain.tools import ToolSource
    from onrecord.projections.apis.declared_tools import Declared
    from onrecord.projections.history.server_tools import Activity


class AsyncConversationTools:
    """The tools of one conversation: `conversation.tools`, awaited."""

    def __init__(self, tools: ConversationTools, steps: Steps) -> None:
        """Await the verbs of a conversation's tools."""
        self._tools = tools
        self._steps = steps

    async def declare(
        self, tools: Iterable[DeclaredTool], sources: Iterable[ToolSource] = ()
    ) -> Done:
        """Put other tools in force, as `ConversationTools.declare` does."""
        return await self._steps.run(within_scopes(self._tools.declare, tools, sources))

    async def in_force(self, *, at: int | None = None) -> Declared:
        """Return the tools in force, as `ConversationTools.in_force` does."""
        return await self._steps.run(lambda: self._tools.in_force(at=at))

    async def server_calls(self, *, at: int | None = None) -> tuple[Activity, ...]:
        """Return what tools did that providers ran, as `ConversationTools.server_calls` does."""
        return await self._steps.run(lambda: self._tools.server_calls(at=at))
