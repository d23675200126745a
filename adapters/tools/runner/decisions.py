"""What a runner does with an open call: make it, leave it, or tell why it was denied."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from copy import deepcopy
from typing import Any, Literal, TypeAlias, assert_never, cast

from onrecord.adapters.conversation.approvals import denial_text, request_approval
from onrecord.adapters.conversation.open_calls import OpenCall
from onrecord.adapters.streams.stream import Stream
from onrecord.adapters.tools.runner.calling import arguments_of
from onrecord.adapters.tools.runner.leases import LEASE
from onrecord.adapters.tools.tool import Failed, Tool
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tool_context import ToolCallContext
from onrecord.domain.tools import ToolDefinition

logger = logging.getLogger("onrecord")

NextStep: TypeAlias = Literal["make", "wait", "ask", "ask again", "deny"]
"""What comes next of a call: `ask again` where it was begun and nobody knows whether it was made."""


def next_step(open_call: OpenCall, tool: Tool, now: int) -> NextStep:
    """Return what comes next of a call; `now` is the time of the store's clock in microseconds.

    Where approval matters, raises what is wrong with the arguments.
    """
    state = open_call.state
    if state.approval == "denied":
        return "deny"
    # Whoever began it may go on though a person was asked, and decided, meanwhile.
    if state.approval == "requested" or now < state.until:
        return "wait"
    if state.approval == "granted":
        return "make"
    if not state.begun:
        return "ask" if _needs_approval(tool, open_call) else "make"
    return "make" if tool.repeatable else "ask again"


def _needs_approval(tool: Tool, open_call: OpenCall) -> bool:
    rule = tool.needs_approval
    if rule is False:
        return False
    arguments = arguments_of(open_call.call)
    # The rule decides about what the tool will get. What the model wrote may become something else:
    # the text "true" becomes True, and what is left out has a default.
    values = deepcopy(arguments) if tool.validate is None else tool.validate(arguments)
    return rule is True or _is_person_needed(tool.name, rule, values)


def _is_person_needed(
    name: str, rule: Callable[[dict[str, Any]], bool], values: dict[str, Any]
) -> bool:
    """Return what a rule says of the arguments; True where it cannot say so."""
    try:
        needed = cast("object", rule(values))
        if isinstance(needed, Coroutine):
            cast("Coroutine[Any, Any, Any]", needed).close()
            logger.warning("needs_approval of the tool %r is asynchronous: a person is asked", name)
            return True
        return bool(needed)
    except Exception as exc:  # noqa: BLE001 - no error lets a call be made
        # No message: it may quote the arguments.
        logger.warning(
            "needs_approval of the tool %r failed, so a person is asked: %s",
            name,
            type(exc).__name__,
        )
        return True


def tool_to_call(stream: Stream, open_call: OpenCall, tool: Tool, now: int) -> Tool | None:
    """Return what to call for an open call; None where nothing is to be called yet.

    Where a person is to be asked, that is recorded.
    """
    try:
        step = next_step(open_call, tool, now)
    except Exception as exc:  # noqa: BLE001 - it is the result of the call
        return _failing(tool.definition, exc)
    match step:
        case "make":
            return tool
        case "deny":
            return _denied(tool.definition, open_call.state.reason)
        case "ask" | "ask again":
            request_approval(stream, open_call, unsure=step == "ask again")
            return None
        case "wait":
            return None
        case _:
            assert_never(step)


def lease_of(open_call: OpenCall, lease: float | None) -> float | None:
    """Return for how many seconds a runner begins a call for itself; None: it needs not say so.

    A call that a person approved, or that somebody began before, is always begun by one runner.
    """
    is_sole = lease is not None or open_call.state.approval == "granted" or open_call.state.begun
    if not is_sole or open_call.state.approval == "denied":
        return None
    return LEASE if lease is None else lease


def _denied(definition: ToolDefinition, reason: str | None) -> Tool:
    failed = Failed(denial_text(reason))
    return _in_its_place(definition, lambda: failed)


def _failing(definition: ToolDefinition, exc: Exception) -> Tool:
    def fail() -> object:
        raise exc

    return _in_its_place(definition, fail)


def _in_its_place(definition: ToolDefinition, answer: Callable[[], object]) -> Tool:
    """Return what stands in for a tool that is not called: `answer` gives what the call comes to."""

    def call(_arguments: JsonObject, _context: ToolCallContext) -> object:
        return answer()

    return Tool(definition, call)
