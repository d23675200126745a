"""What the tools of an agent leave unsaid: what they are for, and what they give back.

The rules agent-tool-documentation and agent-tool-output-key of bpmnlint-plugin-camunda-compat; their
names are kept. Both only warn: such a tool is called, by its name alone or without an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from onrecord.adapters.bpmn.lint import Finding
from onrecord.adapters.bpmn.model import Element, model_of
from onrecord.adapters.bpmn.process_tools import tool_elements
from onrecord.adapters.bpmn.wiring import RESULT, ElementFlows, Write, writes_of

_ACTIVITIES: Final = frozenset(
    (
        *("task", "userTask", "serviceTask", "sendTask", "receiveTask", "manualTask"),
        *("businessRuleTask", "scriptTask", "callActivity"),
        *("subProcess", "transaction", "adHocSubProcess"),
    )
)
_IN_ANY_CASE: Final = re.compile(rf"\b{RESULT}\b", re.IGNORECASE)
_ADDS: Final = re.compile(rf"=?\s*context\s+put\s*\(\s*{RESULT}\s*,")
"""What takes the result so far and puts something into it."""


def lint_tools(model: Path | bytes) -> tuple[Finding, ...]:
    """Return what the tools of agents leave unsaid in a BPMN file or its bytes, in its order.

    Of processes that an engine executes. InvalidModel for what is no BPMN.
    """
    return tuple(
        finding
        for process in model_of(model).processes
        if process.is_executable
        for sub_process in process.below()
        if sub_process.is_agentic
        for finding in _tools_of(sub_process)
    )


def _tools_of(sub_process: Element) -> Iterator[Finding]:
    flows = ElementFlows(sub_process)
    for tool in tool_elements(sub_process, "process"):
        if tool.kind in _ACTIVITIES:
            yield from _undocumented(tool)
            yield from _unreturned(tool, flows)


def _undocumented(tool: Element) -> Iterator[Finding]:
    if tool.documentation is None:
        why = "it has no documentation: say what it is for, so that the model knows when to call it"
        yield Finding(tool.id, "agentToolDocumentationMissing", why)


def _unreturned(tool: Element, flows: ElementFlows) -> Iterator[Finding]:
    """Look at what a tool writes, wherever it leads to; of those that miss the result, the first."""
    writes = [write for step in flows.steps(tool) for write in writes_of(step)]
    spellings = [_spelling(write) for write in writes]
    if not writes:
        why = f"it gives nothing back: write {RESULT}, if only that it is done"
        yield Finding(tool.id, "agentToolResultMissing", why)
    elif RESULT not in spellings:
        at = next((at for at, spelling in enumerate(spellings) if spelling is not None), None)
        if at is None:
            why = f"what it writes is not given back: write {RESULT}"
            yield Finding(writes[0].element.id, "agentToolOutputKeyInvalid", why)
        else:
            why = f"{spellings[at]} is not given back: write {RESULT}"
            yield Finding(writes[at].element.id, "agentToolOutputKeyCasingInvalid", why)
    elif all(_is_linear(element, flows) for element in flows.reached(tool)):
        yield from _overwritten([write for write in writes if _replaces(write)])


def _overwritten(writes: list[Write]) -> Iterator[Finding]:
    for before, write in pairwise(writes):
        name = before.element.name or before.element.id
        why = (
            f"it overwrites the {RESULT} of '{name}': write a part of it, or put it into a context"
        )
        yield Finding(write.element.id, "agentToolOutputKeyOverwrite", why)


def _is_linear(element: Element, flows: ElementFlows) -> bool:
    """Whether no choice is at an element nor within it: of two ways only one may be taken."""
    inner = ElementFlows(element)
    starts = sum(not each.has_incoming for each in element.elements)
    return (
        flows.is_linear_at(element)
        and starts < 2
        and all(_is_linear(each, inner) for each in element.elements)
    )


def _spelling(write: Write) -> str | None:
    """Return how a write spells the result, in whatever case; None where it writes something else.

    bpmnlint takes more for a result than `wiring_of` does, and so does this: any expression that names
    it, such as `={answer: toolCallResult}`, and a variable that a job names by a path.
    """
    if write.way == "expression":
        spellings: list[str] = _IN_ANY_CASE.findall(write.source)
        return RESULT if RESULT in spellings else next(iter(spellings), None)
    name = write.target.partition(".")[0]
    return name if name.lower() == RESULT.lower() else None


def _replaces(write: Write) -> bool:
    """Whether what was the result before is lost: a part leaves the rest as it is."""
    if write.way == "expression":
        return _spelling(write) == RESULT
    return write.target == RESULT and _ADDS.match(write.source) is None
