"""A conversation as its users hold it: its verbs, and its log for those who build on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from onrecord.adapters.conversation import approvals, history_edits
from onrecord.adapters.conversation.conversation_log import ConversationLog
from onrecord.adapters.conversation.conversation_tools import ConversationTools, carried, carry
from onrecord.adapters.conversation.tails import awaited_calls
from onrecord.adapters.inputs.arguments import (
    call_given,
    labels_given,
    of_kind,
    text_given,
    text_if_given,
    version_asked,
    version_given,
    version_if_given,
)
from onrecord.adapters.inputs.document_inputs import (
    GivenDocument,
    PromptPart,
    prompt,
    prompt_of_engine,
    stored_prompt,
)
from onrecord.adapters.recording.tenancy import Tenancy
from onrecord.adapters.streams.results import ResultDone, record_result
from onrecord.adapters.streams.stream import Done, Stream, stored_again
from onrecord.adapters.wire.clients.conversation_wire import ConversationRecording
from onrecord.domain import conversation
from onrecord.domain.content import Blob, ToolCall
from onrecord.domain.head import Head
from onrecord.domain.log import RecordedEvent
from onrecord.domain.new_events import NOBODY, Attribution
from onrecord.domain.tool_context import ToolCallContext
from onrecord.projections.history.windows import MessageWindow, Window

if TYPE_CHECKING:
    from onrecord.adapters.conversation.approvals import ApprovalQuestion, PendingApproval
    from onrecord.adapters.conversation.program_answers import AssistantCall
    from onrecord.projections.apis.capabilities import CapabilityOverride
    from onrecord.projections.apis.request import Request
    from onrecord.projections.history.causes import Explanation
    from onrecord.projections.history.held_documents import HeldDocument
    from onrecord.projections.history.history import NextInput, Turn
    from onrecord.projections.matching.request_diff import RequestDiff


class Conversation(ConversationRecording):
    """One conversation. Cheap to make; safe to share between threads.

    Nothing is kept but its id and what it goes on from: the log answers. What renders is imported late.
    """

    def __init__(
        self, tenancy: Tenancy, key: str, holder: Attribution = NOBODY, subjects: Iterable[str] = ()
    ) -> None:
        """Hold the conversation of a key, in which `holder` acts, about subjects; InvalidInput for no key."""
        super().__init__(tenancy, key, holder, subjects)
        self.key: Final = self._stream.key
        self.tools: Final = ConversationTools(self._stream)
        self.log: Final = ConversationLog(self._stream)

    def __repr__(self) -> str:
        """Say its key, and its version if the log can be asked."""
        return f"Conversation({self.key!r}, version={self._stream.version_if_known()})"

    @property
    def conversation_id(self) -> UUID:
        """The conversation's id; asking for it makes one if the key is new."""
        return self._stream.conversation_id

    def user(
        self,
        *content: PromptPart | Sequence[PromptPart] | None,
        documents: Iterable[GivenDocument] = (),
        message_id: str | None = None,
        expected_version: int | None = None,
    ) -> Done:
        """Record a user's prompt: texts and documents in their order, `documents` behind them.

        A `message_id` makes it idempotent: the same message again changes nothing.
        """
        checked_id = text_if_given("message_id", message_id)
        version = version_if_given(expected_version)
        parts = prompt(content, documents)

        def record() -> Done:
            blocks = stored_prompt(parts, self._stream)
            decided = conversation.say(self._stream.known_head(), blocks, message_id=checked_id)
            return self._stream.append(*decided, expected_version=version)

        return stored_again(record)

    def assistant(
        self,
        text: str | None = None,
        *,
        calls: Iterable[AssistantCall | ToolCall] = (),
        message_id: str | None = None,
        expected_version: int | None = None,
    ) -> Done:
        """Record what your program says for the model: a text, calls of tools, or a text and calls.

        Requests have it as the model's own words; the calls await results as the model's do. A
        `message_id` makes it idempotent: the same again changes nothing.
        """
        from onrecord.adapters.conversation.program_answers import record_program_answer

        return record_program_answer(self._stream, text, calls, message_id, expected_version)

    def signal(
        self,
        content: Any = None,
        *,
        name: str | None = None,
        interrupts: bool = False,
        documents: Iterable[GivenDocument] = (),
        message_id: str | None = None,
    ) -> Done:
        """Record a message from outside, no user's and no tool's: a timer, a webhook.

        It waits for the results of open calls, or `interrupts`: these are given up with it.
        """
        from onrecord.adapters.conversation.signals import record_signal

        return record_signal(self._stream, content, documents, name, interrupts, message_id)

    def ingest(
        self,
        inputs: Iterable[Any],
        *,
        prompt: PromptPart | Sequence[PromptPart] | None = None,
        documents: Iterable[GivenDocument] = (),
        message_id: str | None = None,
        behaviour: Literal["wait", "interrupt"] = "wait",
    ) -> NextInput:
        """Record what a process engine hands over at once (docs/signals.md); return `next_input`.

        The prompt is as `user` takes it; a blank one is none, and so is any while calls are open, or
        beside results of this conversation's calls.
        """
        from onrecord.adapters.conversation.ingest import Prompt, ingest

        checked_id = text_if_given("message_id", message_id)
        of_user = Prompt(prompt_of_engine(prompt, documents), checked_id)
        return ingest(self._stream, inputs, of_user, behaviour)

    def next_input(self) -> NextInput:
        """Return "ready" to ask the model, "deferred" while results are awaited, else "nothing"."""
        from onrecord.adapters.conversation.ingest import next_input_of

        return next_input_of(self._stream)

    def instruct(self, text: str) -> Done:
        """Put other instructions (a system prompt) in force."""
        instructions = text_given("an instruction", text)
        return self.log.append(*conversation.instruct(self._stream.known_head(), instructions))

    def tool_result(self, call_id: str, content: Any, *, is_error: bool = False) -> ResultDone:
        """Record what a tool gave: text, JSON, paths, bytes, documents, or a nesting of these.

        Durable when it returns. A call has one result: the same again changes nothing, another is kept
        beside the history. The answer says so, or that there is no such call (docs/documents.md).
        """
        from onrecord.adapters.conversation.tool_results import give_result

        return give_result(self._stream, call_given(call_id), content, is_error=bool(is_error))

    def approve(
        self,
        call_id: str,
        *,
        reason: str | None = None,
        actor: str | None = None,
        question: ApprovalQuestion | None = None,
    ) -> None:
        """Let a call be made that waits for a person: the next run of a `ToolRunner` makes it, once.

        `question`, as `approvals` lists it, names one of several calls of an id (docs/tool-runner.md).
        """
        approvals.approve(self._stream, call_id, reason, actor, question)

    def deny(
        self,
        call_id: str,
        *,
        reason: str,
        actor: str | None = None,
        question: ApprovalQuestion | None = None,
    ) -> ResultDone:
        """Let a call that waits not be made: the model reads the reason. The rest is as in `approve`."""
        return approvals.deny(self._stream, call_id, reason, actor, question)

    def cancel(self, call_id: str) -> ResultDone:
        """Record that a call was given up without a result."""
        (result,) = conversation.cancel_call(self._stream.known_head(), call_given(call_id))
        return record_result(self._stream, result)

    def redact(self, version: int, reason: str | None = None) -> Done:
        """Leave the event at a version out of every request from here on; the record keeps it."""
        why = text_if_given("a reason", reason)
        return self.log.append(*conversation.redact(self.head(), version_given(version), why))

    def retract_answer(self, *, expected_version: int | None = None) -> Done:
        """Give up the last answer: the next request asks again, byte for byte as before.

        That is all behind the last prompt, or the last results of tools: InvalidContent where
        something was said since, or nothing was answered. The record keeps what is given up.
        """
        expected = version_if_given(expected_version)
        return history_edits.retell(self._stream, history_edits.retracted, expected)

    def edit_message(
        self,
        version: int,
        *content: PromptPart | Sequence[PromptPart] | None,
        documents: Iterable[GivenDocument] = (),
        expected_version: int | None = None,
    ) -> Done:
        """Put another prompt in the place of the one at a version; what followed it is given up.

        It is given as `user` takes it. InvalidContent where there is no prompt that is history.
        """
        at, expected = version_given(version), version_if_given(expected_version)
        parts = prompt(content, documents)
        return stored_again(lambda: history_edits.edit(self._stream, at, parts, expected))

    def compact(
        self, summary: str, *, until: int | None = None, expected_version: int | None = None
    ) -> Done:
        """Let your own summary stand, in every request from here on, for all up to a version.

        `until` is not amid an answer or a round of tool calls (InvalidContent); by default it is
        where the exchanges that are over end. Redact the event to have all back.
        """
        at, expected = version_if_given(until), version_if_given(expected_version)
        checked_summary = text_given("a summary", summary)
        decide = partial(history_edits.compacted, summary=checked_summary, until=at)
        return history_edits.retell(self._stream, decide, expected)

    def set_tool_context(
        self, context: Mapping[str, Any] | ToolCallContext, *, persist: Iterable[str]
    ) -> Done:
        """Record what the calls of tools carry from here on: of this context, what `persist` names.

        It stands in a header, in clear and for good: short texts, no secret, nothing personal.
        """
        return carry(self._stream, context, persist)

    def annotate(self, labels: dict[str, str], version: int | None = None) -> Done:
        """Put a remark beside an event, or beside the whole conversation."""
        about = version_if_given(version)
        return self.log.append(*conversation.annotate(self.head(), labels_given(labels), about))

    def end(self, reason: str | None = None) -> Done | None:
        """End the conversation; None if it has ended before."""
        decided = conversation.close(self.head(), text_if_given("a reason", reason))
        done = self.log.append(*decided) if decided else None
        self._stream.look_again()
        return done

    def head(self) -> Head:
        """Return where the conversation stands."""
        return self._stream.head()

    def events(self, *, after: int = 0, until: int | None = None) -> list[RecordedEvent]:
        """Return the events with after < version <= until, in order."""
        self._tenancy.count("events")
        return self._stream.events(version_given(after), version_if_given(until))

    def history(self, *, at: int | None = None, since: int = 0) -> tuple[Turn, ...]:
        """Return what was said, by turns: all, or only what is new since a version.

        A turn has its `text`, its `blocks`, and of the answers in it the `stop_reason` and `usage`.
        All results of a round are in one turn of the user's, in the order of their calls. `at` is
        the version to tell it at.
        """
        from onrecord.adapters.conversation.history_queries import turns_since

        self._tenancy.count("history")
        return turns_since(self._stream, at, version_given(since))

    def blob(self, blob: Blob) -> bytes:
        """Return the bytes of a blob of this conversation, or of one that it was forked from."""
        self._tenancy.count("blob")
        return self._stream.blob(of_kind(Blob, "a blob", blob))

    def open_calls(self) -> list[ToolCall]:
        """Return the calls that await a result, in the order in which they were made."""
        head = self.head()
        return awaited_calls(self._stream.backend, self._stream.lineage(head.version, head), head)

    def approvals(self) -> tuple[PendingApproval, ...]:
        """Return the open calls that wait until a person grants or denies them, in their order."""
        return approvals.pending_approvals(self._stream)

    def tool_context(self) -> ToolCallContext:
        """Return what the conversation carries for its tools, as far as it was recorded."""
        return carried(self._stream)

    def documents(self, *, at: int | None = None) -> tuple[HeldDocument, ...]:
        """Return all documents, in order: whose each is, what it is, and which event holds it.

        Those of prompts and signals, of results of tools, and those that providers' tools made; `at` is
        the version to tell it at.
        """
        from onrecord.adapters.conversation.history_queries import documents_held, main_branch

        self._tenancy.count("documents")
        return documents_held(self._stream.backend, main_branch(self._stream, at))

    def request(
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
        """Return what the API accepts as this conversation's history: `create(**request, ...)`.

        `at` is the version to render it at (what would have been sent then), `window` what it
        keeps (docs/windows.md). `thinking="drop"` leaves out signed reasoning, `cache` places cache
        marks. `model` is the model that the request is for, if not the one that answered before.
        `missing` is what becomes of calls without a result (docs/signals.md). `tags` and
        `capability_override` say how documents go (docs/documents.md). What is bound to another key
        than that of the client recorded here is left out. `secrets` are what the record never has
        (docs/recording.md). Its `.report` says what was repaired, left out or translated.
        """
        from onrecord.adapters.conversation.current_requests import ask_for
        from onrecord.adapters.conversation.rendering import options_given
        from onrecord.adapters.conversation.request_secrets import with_secrets

        self._tenancy.count("request")
        options = options_given(
            self._tenancy.matrix,
            api=api,
            window=window,
            thinking=thinking,
            cache=cache,
            model=model,
            missing=missing,
            tags=tags,
            capabilities=capability_override,
            account=self._wire.account(api),
        )
        rendered = ask_for(self._stream, at, options, self._tenancy)
        self._wire.remember(rendered)
        return with_secrets(rendered.request, secrets, self._stream.backend.digest)

    def diff(
        self, a: int, b: int, *, api: str, window: Window | MessageWindow | None = None
    ) -> RequestDiff:
        """Return what changed from the request at `a` to that at `b`, by events; NothingToSend for none."""
        from onrecord.adapters.conversation.history_queries import diff_of

        self._tenancy.count("diff")
        return diff_of(self, a, b, api, window)

    def why(self, version: int, *, to_start: bool = False) -> Explanation:
        """Return why the event at a version is there: a call, a result, or another part of an answer.

        That is the request that it came from, with the prompts, results and signals that were new to it,
        and who did each. `to_start` goes on with the requests before it, to the first. Where the record
        does not know, it says so. InvalidContent where there is no such version.
        """
        from onrecord.adapters.conversation.explanations import explain

        self._tenancy.count("why")
        return explain(self._stream, version_given(version), to_start=to_start)

    def fork(self, key: str, *, at: int | None = None, reason: str | None = None) -> Conversation:
        """Return a new conversation that goes on from this one, or from it at `at`; copies nothing."""
        forked = Conversation(self._tenancy, key, self._stream.holder)
        why, version = text_if_given("a reason", reason), version_asked(self.head(), at)
        decided = conversation.fork(forked.head(), self.conversation_id, version, why)
        forked._stream.append(*decided, expected_version=0)
        return forked


def stream_of(conversation: Conversation) -> Stream:
    """Return the stream of a conversation: for what is built on both, not for its users."""
    return conversation._stream  # pyright: ignore[reportPrivateUsage]  # its own module's


def tenancy_of(conversation: Conversation) -> Tenancy:
    """Return what a conversation shares with its tenant's others: for what is built on both."""
    return conversation._tenancy  # pyright: ignore[reportPrivateUsage]  # its own module's
