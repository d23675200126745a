"""Routes of tools: which are in force, which calls are open, what becomes of a call."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter
from starlette.responses import Response

from onrecord.adapters.conversation.approvals import ApprovalQuestion
from onrecord.adapters.service.message_parts import Parts, prompt_parts
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.route import Call, Route, answered, reading
from onrecord.adapters.service.routes.conversation_paths import CONVERSATION, writing
from onrecord.adapters.service.routes.conversations import At, begun, conversation_of
from onrecord.adapters.service.routes.messages import RecordedAt, recorded
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.adapters.streams.results import Rejected, ResultDone, Unmatched
from onrecord.domain.content import Native, ToolCall
from onrecord.domain.header import timestamp
from onrecord.domain.log import Recorded
from onrecord.domain.tools import BuiltinTool, ToolDefinition

Name = Annotated[str, Field(min_length=1, max_length=500)]
Json = dict[str, Any]


class CallersTool(Model):
    """A tool of the caller's, told to any model."""

    kind: Literal["tool"]
    """What it is: a tool of the caller's."""

    name: Name
    """Its name, by which the model calls it."""

    description: str | None = None
    """What it does, for the model to read."""

    input_schema: Json
    """The JSON Schema of its arguments."""

    title: str | None = None
    """Its name for people."""

    output_schema: Json | None = None
    """The JSON Schema of what it gives."""

    annotations: Json | None = None
    """Hints on what it does, as the Model Context Protocol has them."""


class ProvidersTool(Model):
    """A tool that providers run themselves, by the name that all APIs share, such as `web_search`."""

    kind: Literal["builtin"]
    """What it is: a tool of the provider's."""

    name: Name
    """Its name, whatever each API calls it."""

    version: str | None = None
    """Its version, where an API has versions of it."""

    options: dict[str, Json] = Field(default_factory=dict)
    """Its options by the name of the API, as that spells them."""


class NativeTool(Model):
    """A tool that only one API knows, in its own JSON."""

    kind: Literal["native"]
    """What it is: JSON of one API."""

    api: Name
    """The name of the API."""

    value: Json
    """The tool as that API takes it."""


Tool = Annotated[CallersTool | ProvidersTool | NativeTool, Field(discriminator="kind")]
_TOOLS: Final[TypeAdapter[list[Tool]]] = TypeAdapter(list[Tool])


class Declaration(Model):
    """The tools that are in force from here on, in place of those before."""

    tools: Annotated[list[Tool], Field(max_length=10_000)]
    """All tools; none at all is a declaration too."""


class ToolsInForce(Model):
    """The tools that are in force."""

    tools: list[Tool]
    """The tools, as they were declared."""

    version: int
    """The version that declared them; 0 where none did."""

    sha256: str | None
    """The SHA-256 of the tools, in hex digits; null where none were declared."""


class OpenCall(Model):
    """A call that awaits its result."""

    id: str
    """The id that its result is given under."""

    name: str
    """The name of the tool that is called."""

    arguments: Any
    """The arguments, as the model gave them."""


class OpenCalls(Model):
    """The calls that await their results."""

    calls: list[OpenCall]
    """They are in the order in which they were made."""


class Result(Model):
    """What a tool gave: its `content`, or `parts` in their order."""

    content: Any = None
    """A text, or any JSON; null is a result that says nothing."""

    parts: Parts | None = None
    """Texts and documents in their order, in place of `content`."""

    is_error: bool = False
    """Whether the tool failed, and this says why."""


class ResultAt(RecordedAt):
    """What became of a result, and where it is recorded."""

    outcome: Literal["recorded", "duplicate", "rejected", "unmatched"]
    """`duplicate`: it was recorded before. `rejected`: the call has another result, so this one is kept
    beside the history. `unmatched`: it is recorded, but no such call is known."""


Question = Annotated[str, Field(max_length=40)]


class Decision(Model):
    """What a person decided about a call."""

    reason: Annotated[str, Field(min_length=1, max_length=10_000)] | None = None
    """Why; a model is told the reason of a denial."""

    question: Question | None = None
    """The question that is decided, as the list of approvals has it: a later call may have the same id."""


class Denial(Model):
    """That a person does not let a call be made."""

    reason: Annotated[str, Field(min_length=1, max_length=10_000)]
    """Why; the model is told."""

    question: Question | None = None
    """The question that is decided, as `approve` has it."""


class Approved(Model):
    """That a call may be made."""

    call_id: str
    """The id of the call."""


class PendingApproval(OpenCall):
    """A call that waits until a person lets it be made."""

    unsure: bool
    """Whether it was begun before, and nobody knows whether it was made."""

    requested_at: str
    """Since when it waits (RFC 3339)."""

    question: Question
    """Which question about a call of that id it is, such as `3:0`: to decide this one and no later one."""


class PendingApprovals(Model):
    """The calls that wait for a person."""

    approvals: list[PendingApproval]
    """They are in the order in which they were made."""


async def declare(call: Call[Empty, Declaration]) -> Response:
    """Put other tools in force; what is in force already is not recorded again."""
    tools = [_declared(tool) for tool in call.body.tools]
    return recorded(await conversation_of(call).tools.declare(tools))


async def in_force(call: Call[At, Empty]) -> Response:
    """Return the tools in force."""
    conversation, _ = await begun(call)
    declared = await conversation.tools.in_force(at=call.query.at)
    tools = _TOOLS.validate_python([tool.model_dump(mode="json") for tool in declared.tools])
    return answered(ToolsInForce(tools=tools, version=declared.version, sha256=declared.sha256))


async def open_calls(call: Call[Empty, Empty]) -> Response:
    """Return the calls that await their results."""
    conversation, _ = await begun(call)
    calls = [OpenCall(**_members(each)) for each in await conversation.open_calls()]
    return answered(OpenCalls(calls=calls))


async def result(call: Call[Empty, Result]) -> Response:
    """Record what a tool gave."""
    given = call.body
    if given.content is not None and given.parts is not None:
        raise Problem(INVALID, "a result has either content or parts")
    content = given.content if given.parts is None else prompt_parts(given.parts)
    done = await conversation_of(call).tool_result(
        call.path["call_id"], content, is_error=given.is_error
    )
    return _result_at(done)


async def cancel(call: Call[Empty, Empty]) -> Response:
    """Record that a call was given up without a result."""
    conversation, _ = await begun(call)
    return _result_at(await conversation.cancel(call.path["call_id"]))


async def approvals(call: Call[Empty, Empty]) -> Response:
    """Return the calls that wait for a person."""
    conversation, _ = await begun(call)
    waiting = [
        PendingApproval(
            **_members(each.call),
            unsure=each.unsure,
            requested_at=timestamp(each.requested_at),
            question=str(each.question),
        )
        for each in await conversation.approvals()
    ]
    return answered(PendingApprovals(approvals=waiting))


async def approve(call: Call[Empty, Decision]) -> Response:
    """Let a call be made."""
    conversation, _ = await begun(call)
    call_id: str = call.path["call_id"]
    question = _question(call.body.question)
    await conversation.approve(call_id, reason=call.body.reason, question=question)
    return answered(Approved(call_id=call_id))


async def deny(call: Call[Empty, Denial]) -> Response:
    """Let a call not be made; its result tells the model the reason."""
    conversation, _ = await begun(call)
    question = _question(call.body.question)
    done = await conversation.deny(call.path["call_id"], reason=call.body.reason, question=question)
    return _result_at(done)


def _question(text: str | None) -> ApprovalQuestion | None:
    return None if text is None else ApprovalQuestion.parse(text)


def _declared(tool: Tool) -> ToolDefinition | BuiltinTool | Native:
    members = dict(tool)
    match tool:
        case CallersTool():
            return ToolDefinition(**members)
        case ProvidersTool():
            return BuiltinTool(**members)
        case NativeTool():
            return Native(**members)


def _members(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def _result_at(done: ResultDone) -> Response:
    match done:
        case Recorded():
            outcome: Literal["recorded", "duplicate", "rejected", "unmatched"] = "recorded"
        case Rejected():
            outcome = "rejected"
        case Unmatched():
            outcome = "unmatched"
        case _:
            outcome = "duplicate"
    at = ResultAt(first=done.first, last=done.last, is_new=outcome != "duplicate", outcome=outcome)
    return answered(at, 201)


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    writing(
        *("/tools", "declareTools", "Put other tools in force."),
        *(declare, RecordedAt),
        body=Declaration,
    ),
    reading(
        *(CONVERSATION + "/tools", "tools", "Which tools are in force?"),
        *(in_force, ToolsInForce),
        query=At,
    ),
    reading(
        *(CONVERSATION + "/calls", "openCalls", "Which calls await their results?"),
        *(open_calls, OpenCalls),
    ),
    writing(
        *("/calls/{call_id}/result", "toolResult", "Record what a tool gave."),
        *(result, ResultAt),
        body=Result,
    ),
    writing(
        *("/calls/{call_id}/cancel", "cancelCall", "Record that a call was given up."),
        *(cancel, ResultAt),
    ),
    reading(
        *(CONVERSATION + "/approvals", "approvals", "Which calls wait for a person?"),
        *(approvals, PendingApprovals),
    ),
    writing(
        *("/calls/{call_id}/approve", "approveCall", "Let a call be made that waits for a person."),
        *(approve, Approved),
        body=Decision,
        status=200,
    ),
    writing(
        *("/calls/{call_id}/deny", "denyCall", "Let a call not be made that waits for a person."),
        *(deny, ResultAt),
        body=Denial,
    ),
)
