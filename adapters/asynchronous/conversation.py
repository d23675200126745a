"""A conversation whose verbs are awaited: `await store.conversation(key).user("Hello")`.

Each verb is that of `Conversation`, which says what it means, takes, gives and raises.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeVar, Unpack
from uuid import UUID

from onrecord.adapters.asynchronous.conversation_tools import AsyncConversationTools
from onrecord.adapters.asynchronous.iteration import awaited_each
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.conversation.conversation_log import ConversationLog
from onrecord.adapters.storage.steps import Steps
from onrecord.adapters.streams.scopes import within_scopes

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from onrecord.adapters.conversation.approvals import ApprovalQuestion, PendingApproval
    from onrecord.adapters.conversation.program_answers import AssistantCall
    from onrecord.adapters.inputs.document_inputs import GivenDocument, PromptPart
    from onrecord.adapters.recording.actor_names import AttributionNames
    from onrecord.adapters.streams.results import ResultDone
    from onrecord.adapters.streams.stream import Done
    from onrecord.domain.content import Blob, ToolCall
    from onrecord.domain.events import Event
    from onrecord.domain.head import Head
    from onrecord.domain.log import RecordedEvent
    from onrecord.domain.tool_context import ToolCallContext
    from onrecord.projections.apis.capabilities import CapabilityOverride
    from onrecord.projections.apis.request import Options, Request
    from onrecord.projections.history.causes import Explanation
    from onrecord.projections.history.held_documents import HeldDocument
    from onrecord.projections.history.history import NextInput, Turn
    from onrecord.projections.history.windows import MessageWindow, Window
    from onrecord.projections.matching.request_diff import RequestDiff

ClientT = TypeVar("ClientT")
P = ParamSpec("P")
T = TypeVar("T")


class AsyncConversation:
    """One conversation, as `Conversation`; what waits is awaited. Share it between tasks."""

    def __init__(self, conversation: Conversation, steps: Steps) -> None:
        """Await the verbs of a conversation."""
        self._conversation = conversation
        self._steps = steps
        self.key: Final = conversation.key
        self.tools: Final = AsyncConversationTools(conversation.tools, steps)
        self.log: Final = AsyncConversationLog(conversation.log, steps)

    def __repr__(self) -> str:
        """Say its key."""
        return f"AsyncConversation({self.key!r})"

    @property
    async def conversation_id(self) -> UUID:
        """The conversation's id; asking for it makes one if the key is new."""
        return await self._steps.run(within_scopes(lambda: self._conversation.conversation_id))

    # -- saying ------------------------------------------------------------------------------

    async def user(
        self,
        *content: PromptPart | Sequence[PromptPart] | None,
        documents: Iterable[GivenDocument] = (),
        message_id: str | None = None,
        expected_version: int | None = None,
    ) -> Done:
        """Record a user's prompt, as `Conversation.user` does."""
        return await self._run(
            self._conversation.user,
            *content,
            documents=documents,
            message_id=message_id,
            expected_version=expected_version,
        )

    async def assistant(
        self,
        text: str | None = None,
        *,
        calls: Iterable[AssistantCall | ToolCall] = (),
        message_id: str | None = None,
        expected_version: int | None = None,
    ) -> Done:
        """Record what your program says for the model, as `Conversation.assistant` does."""
        return await self._run(
            self._conversation.assistant,
            text,
            calls=calls,
            message_id=message_id,
            expected_version=expected_version,
        )

    async def signal(
        self,
        content: Any = None,
        *,
        name: str | None = None,
        interrupts: bool = False,
        documents: Iterable[GivenDocument] = (),
        message_id: str | None = None,
    ) -> Done:
        """Record a message from outside, as `Conversation.signal` does."""
        return await self._run(
            self._conversation.signal,
            content,
            name=name,
            interrupts=interrupts,
            documents=documents,
            message_id=message_id,
        )

    async def ingest(
        self,
        inputs: Iterable[Any],
        *,
        prompt: PromptPart | Sequence[PromptPart] | None = None,
        documents: Iterable[GivenDocument] = (),
        message_id: str | None = None,
        behaviour: Literal["wait", "interrupt"] = "wait",
    ) -> NextInput:
        """Record what a process engine hands over at once, as `Conversation.ingest` does."""
        return await self._run(
            self._conversation.ingest,
            inputs,
            prompt=prompt,
            documents=documents,
            message_id=message_id,
            behaviour=behaviour,
        )

    async def next_input(self) -> NextInput:
        """Return whether to ask the model, as `Conversation.next_input` does."""
        return await self._run(self._conversation.next_input)

    async def instruct(self, text: str) -> Done:
        """Put other instructions in force, as `Conversation.instruct` does."""
        return await self._run(self._conversation.instruct, text)

    async def tool_result(
        self, call_id: str, content: Any, *, is_error: bool = False
    ) -> ResultDone:
        """Record what a tool gave, as `Conversation.tool_result` does."""
        return await self._run(self._conversation.tool_result, call_id, content, is_error=is_error)

    async def approve(
        self,
        call_id: str,
        *,
        reason: str | None = None,
        actor: str | None = None,
        question: ApprovalQuestion | None = None,
    ) -> None:
        """Let a call be made that waits for a person, as `Conversation.approve` does."""
        await self._run_in_thread(
            self._conversation.approve, call_id, reason=reason, actor=actor, question=question
        )

    async def deny(
        self,
        call_id: str,
        *,
        reason: str,
        actor: str | None = None,
        question: ApprovalQuestion | None = None,
    ) -> ResultDone:
        """Let a call that waits for a person not be made, as `Conversation.deny` does."""
        return await self._run_in_thread(
            self._conversation.deny, call_id, reason=reason, actor=actor, question=question
        )

    async def cancel(self, call_id: str) -> ResultDone:
        """Record that a call was given up without a result."""
        return await self._run(self._conversation.cancel, call_id)

    async def redact(self, version: int, reason: str | None = None) -> Done:
        """Leave an event out of every request from here on, as `Conversation.redact` does."""
        return await self._run(self._conversation.redact, version, reason)

    async def retract_answer(self, *, expected_version: int | None = None) -> Done:
        """Give up the last answer, as `Conversation.retract_answer` does."""
        return await self._run(self._conversation.retract_answer, expected_version=expected_version)

    async def edit_message(
        self,
        version: int,
        *content: PromptPart | Sequence[PromptPart] | None,
        documents: Iterable[GivenDocument] = (),
        expected_version: int | None = None,
    ) -> Done:
        """Put another prompt in the place of one, as `Conversation.edit_message` does."""
        return await self._run(
            self._conversation.edit_message,
            version,
            *content,
            documents=documents,
            expected_version=expected_version,
        )

    async def compact(
        self, summary: str, *, until: int | None = None, expected_version: int | None = None
    ) -> Done:
        """Let your own summary stand for what was said, as `Conversation.compact` does."""
        return await self._run(
            self._conversation.compact, summary, until=until, expected_version=expected_version
        )

    async def set_tool_context(
        self, context: Mapping[str, Any] | ToolCallContext, *, persist: Iterable[str]
    ) -> Done:
        """Record what the calls of tools carry, as `Conversation.set_tool_context` does."""
        return await self._run(self._conversation.set_tool_context, context, persist=persist)

    async def annotate(self, labels: dict[str, str], version: int | None = None) -> Done:
        """Put a remark beside an event, or beside the whole conversation."""
        return await self._run(self._conversation.annotate, labels, version)

    async def end(self, reason: str | None = None) -> Done | None:
        """End the conversation; None if it has ended before."""
        return await self._run(self._conversation.end, reason)

    # -- asking ------------------------------------------------------------------------------

    async def head(self) -> Head:
        """Return where the conversation stands."""
        return await self._run(self._conversation.head)

    async def events(self, *, after: int = 0, until: int | None = None) -> list[RecordedEvent]:
        """Return the events with after < version <= until, in order."""
        return await self._run(self._conversation.events, after=after, until=until)

    async def history(self, *, at: int | None = None, since: int = 0) -> tuple[Turn, ...]:
        """Return what was said, by turns, as `Conversation.history` does."""
        return await self._run(self._conversation.history, at=at, since=since)

    async def blob(self, blob: Blob) -> bytes:
        """Return the bytes of a blob of this conversation, or of one that it was forked from."""
        return await self._run(self._conversation.blob, blob)

    async def open_calls(self) -> list[ToolCall]:
        """Return the calls that await a result, in the order in which they were made."""
        return await self._run(self._conversation.open_calls)

    async def approvals(self) -> tuple[PendingApproval, ...]:
        """Return the open calls that wait until a person grants or denies them, in their order."""
        return await self._run(self._conversation.approvals)

    async def tool_context(self) -> ToolCallContext:
        """Return what the conversation carries for its tools, as far as it was recorded."""
        return await self._run(self._conversation.tool_context)

    async def documents(self, *, at: int | None = None) -> tuple[HeldDocument, ...]:
        """Return all documents, in order, as `Conversation.documents` does."""
        return await self._run(self._conversation.documents, at=at)

    async def request(
        self,
        api: str,
        *,
        at: int | None = None,
        window: Window | MessageWindow | None = None,
        thinking: Literal["keep", "drop"] = "keep",
        cache: bool = False,
        model: str | None = None,
        missing: Literal["cancel", "refuse", "drop"] = "cancel",
        tags: Literal["short-id", "doc-reference"] = "short-id",
        capability_override: CapabilityOverride | None = None,
        secrets: Mapping[str, object] | None = None,
    ) -> Request:
        """Return what the API accepts as this conversation's history, as `Conversation.request` does."""
        return await self._run(
            self._conversation.request,
            api,
            at=at,
            window=window,
            thinking=thinking,
            cache=cache,
            model=model,
            missing=missing,
            tags=tags,
            capability_override=capability_override,
            secrets=secrets,
        )

    async def diff(
        self, a: int, b: int, *, api: str, window: Window | MessageWindow | None = None
    ) -> RequestDiff:
        """Return what changed from one request to another, as `Conversation.diff` does."""
        return await self._run(self._conversation.diff, a, b, api=api, window=window)

    async def why(self, version: int, *, to_start: bool = False) -> Explanation:
        """Return why the event at a version is there, as `Conversation.why` does."""
        return await self._run(self._conversation.why, version, to_start=to_start)

    async def fork(
        self, key: str, *, at: int | None = None, reason: str | None = None
    ) -> AsyncConversation:
        """Return a new conversation that goes on from this one, as `Conversation.fork` does."""
        forked = await self._run(self._conversation.fork, key, at=at, reason=reason)
        return AsyncConversation(forked, self._steps)

    async def record_request(
        self, request: Mapping[str, Any] | bytes | str, *, api: str, model: str | None = None
    ) -> Done:
        """Record a request that goes by another way, as `Conversation.record_request` does."""
        return await self._run_in_thread(
            self._conversation.record_request, request, api=api, model=model
        )

    async def record_response(
        self,
        native: object,
        *,
        api: str,
        request: Mapping[str, Any] | bytes | str | int | Done | None = None,
        model: str | None = None,
    ) -> Done:
        """Record a provider's answer that you have in hand, as `Conversation.record_response` does."""
        return await self._run_in_thread(
            self._conversation.record_response, native, api=api, request=request, model=model
        )

    async def record(
        self, client: ClientT, *, after: int | None = None, splice: bool = False
    ) -> ClientT:
        """Return a client of the same type that is recorded here, as `Conversation.record` does."""
        return await self._run(self._conversation.record, client, after=after, splice=splice)

    @property
    async def headers(self) -> dict[str, str]:
        """What binds one call of a recorded client, as `Conversation.headers` is: `await chat.headers`."""
        return await self._steps.run(within_scopes(lambda: self._conversation.headers))

    def recording(self, **names: Unpack[AttributionNames]) -> AbstractContextManager[None]:
        """Return a scope: `with chat.recording():`, as `Conversation.recording` does; it never waits."""
        return self._conversation.recording(**names)

    async def _run(self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._steps.run(within_scopes(verb, *args, **kwargs))

    async def _run_in_thread(self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._steps.run_in_thread(within_scopes(verb, *args, **kwargs))


def conversation_of(conversation: AsyncConversation) -> Conversation:
    """Return the conversation that one awaits: for what is built on both, not for its users."""
    return conversation._conversation  # pyright: ignore[reportPrivateUsage]  # its own module's


class AsyncConversationLog:
    """The events of one conversation: `conversation.log`, awaited."""

    def __init__(self, log: ConversationLog, steps: Steps) -> None:
        """Await the verbs of a conversation's log."""
        self._log = log
        self._steps = steps

    async def append(
        self, *events: Event, expected_version: int | None = None, causation_id: UUID | None = None
    ) -> Done:
        """Record events, all or none, as `ConversationLog.append` does.

        Where the caller is cancelled they may be recorded or not: `head()` tells.
        """
        append = within_scopes(
            self._log.append, *events, expected_version=expected_version, causation_id=causation_id
        )
        return await self._steps.run(append)

    def read(self, *, after: int = 0, until: int | None = None) -> AsyncIterator[RecordedEvent]:
        """Yield events with after < version <= until, in order: `async for event in log.read()`."""
        return awaited_each(self._steps, lambda: self._log.read(after=after, until=until))

    async def render(self, version: int, options: Options) -> Request:
        """Return the request that the conversation makes at a version, under these options."""
        return await self._steps.run(lambda: self._log.render(version, options))
