"""What is wrong in the model of a process, by the rules of bpmnlint on agents and their tools.

bpmnlint-plugin-camunda-compat has the rules for the engine's flavour; its names are kept. The first is
agent-fromai-contract, on calls of `fromAi`. Beside its names are `agentFeelExpressionInvalid`,
`agentFeelKeyRestricted` and `agentFeelArgumentInvalid`: a call that has no finding is one that
resolving takes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from onrecord.adapters.bpmn.feel import (
    Call,
    Node,
    Null,
    Number,
    Operation,
    Reference,
    String,
    parse,
    walk,
)
from onrecord.adapters.bpmn.from_ai import (
    FUNCTION,
    META,
    NAMESPACE,
    arguments_of,
    calls_in,
    checked_namespace,
    declares,
    parameter_of,
    schema_with,
)
from onrecord.adapters.bpmn.model import AD_HOC_SUB_PROCESS, Element, Flow, Mapping, model_of
from onrecord.adapters.bpmn.process_tools import Flavour, mappings_of, tool_elements
from onrecord.adapters.bpmn.wiring import RESULT, ElementFlows, Write, writes_of
from onrecord.domain.errors import InvalidModel

Rule: TypeAlias = Literal[
    "agentFeelArgumentInvalid",
    "agentFeelDescriptionTypeInvalid",
    "agentFeelExpressionInvalid",
    "agentFeelFunctionNameInvalid",
    "agentFeelKeyDuplicate",
    "agentFeelKeyMissing",
    "agentFeelKeyPrefixMissing",
    "agentFeelKeyRestricted",
    "agentFeelKeySegmentsInvalid",
    "agentFeelKeyTypeInvalid",
    "agentFeelNonEntryElement",
    "agentFeelWrongContext",
    "agentToolDocumentationMissing",
    "agentToolOutputKeyCasingInvalid",
    "agentToolOutputKeyInvalid",
    "agentToolOutputKeyOverwrite",
    "agentToolResultMissing",
]
_Fault: TypeAlias = tuple[Rule, str]

_NOT_ENTRY: Final[_Fault] = (
    "agentFeelNonEntryElement",
    "fromAi() declares nothing here: move it to the element that the tool begins with",
)
_IN_OUTPUT: Final[_Fault] = (
    "agentFeelWrongContext",
    "fromAi() declares nothing in an output mapping: move it to an input mapping",
)
_IN_CONDITION: Final[_Fault] = (
    "agentFeelWrongContext",
    "fromAi() declares nothing in a flow's condition: move it to an input mapping of the tool",
)
_ARITHMETIC: Final = frozenset(
    {"Addition", "Subtraction", "Multiplication", "Division", "Exponentiation"}
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: of which element or flow, by its id, against which rule, and why."""

    element: str
    rule: Rule
    message: str


class _Reading(NamedTuple):
    """By which flavour a model is read, and in which variable a model's arguments are."""

    flavour: Flavour
    namespace: str


def lint(
    model: Path | bytes, *, flavour: Flavour = "process", namespace: str = NAMESPACE
) -> tuple[Finding, ...]:
    """Return what is wrong with the calls of `fromAi` in a BPMN file or its bytes, in its order.

    In the flavour `task` outputs declare parameters, and no sub-process has to say that it is an
    agent's: what names it stands elsewhere. `namespace` is as in `tools_of`. InvalidModel for what is
    no BPMN.
    """
    reading = _Reading(flavour, checked_namespace(namespace))
    found = (_within(process, None, reading) for process in model_of(model).processes)
    return tuple(finding for findings in found for finding in findings)


def _within(container: Element, around: Element | None, reading: _Reading) -> Iterator[Finding]:
    """Look at all that a process or sub-process holds; `around` is the ad-hoc one that it is in."""
    ad_hoc = container if container.kind == AD_HOC_SUB_PROCESS else around
    tools = tool_elements(container, reading.flavour) if ad_hoc is container else ()
    entries = {tool.id for tool in tools}
    for element in container.elements:
        yield from _element(element, ad_hoc, element.id in entries, reading)
        yield from _within(element, ad_hoc, reading)
    for flow in container.flows:
        yield from _flow(flow, ad_hoc, reading.flavour)


def _element(
    element: Element, ad_hoc: Element | None, is_entry: bool, reading: _Reading
) -> Iterator[Finding]:
    misplaced = _misplaced(ad_hoc, reading.flavour) or (None if is_entry else _NOT_ENTRY)
    if misplaced is not None:
        yield from _misplaced_calls(element.id, (*element.inputs, *element.outputs), misplaced)
        return
    yield from _declarations(element, reading)
    if reading.flavour == "process":
        yield from _misplaced_calls(element.id, element.outputs, _IN_OUTPUT)


def _flow(flow: Flow, ad_hoc: Element | None, flavour: Flavour) -> Iterator[Finding]:
    if flow.condition is not None:
        condition = Mapping(flow.condition, "condition")
        fault = _misplaced(ad_hoc, flavour) or _IN_CONDITION
        yield from _misplaced_calls(flow.id, (condition,), fault)


def _misplaced(ad_hoc: Element | None, flavour: Flavour) -> _Fault | None:
    if ad_hoc is None:
        return "agentFeelWrongContext", "fromAi() belongs into an agent's ad-hoc sub-process"
    if flavour == "process" and not ad_hoc.is_agentic:
        name = ad_hoc.name or ad_hoc.id
        why = (
            f"nothing says that '{name}' is an agent's: set its property "
            "io.camunda.agenticai.toolContainer to true, or give it an agent's template"
        )
        return "agentFeelWrongContext", why
    return None


def _misplaced_calls(id: str, mappings: tuple[Mapping, ...], fault: _Fault) -> Iterator[Finding]:
    for mapping in mappings:
        if declares(mapping.expression):
            yield Finding(id, *fault)


def _declarations(element: Element, reading: _Reading) -> Iterator[Finding]:
    """Look at the calls of a tool, each by itself and then all together."""
    keys: Counter[str] = Counter()
    for _, mapping in mappings_of(element, reading.flavour):
        if mapping.expression is None:
            continue
        try:
            tree = parse(mapping.expression)
        except InvalidModel as exc:
            yield Finding(element.id, "agentFeelExpressionInvalid", str(exc))
            continue
        keys.update(_keys(tree))
        yield from (Finding(element.id, *fault) for fault in _faults(tree, reading.namespace))
    for key in (key for key, count in keys.items() if count > 1):
        message = f"{key} is declared more than once by one tool: declare it once, then refer to it"
        yield Finding(element.id, "agentFeelKeyDuplicate", message)


def _keys(tree: Node) -> Iterator[str]:
    for call in calls_in(tree):
        value = arguments_of(call).get("value")
        if isinstance(value, Reference):
            yield ".".join(value.segments)


def _faults(tree: Node, namespace: str) -> Iterator[_Fault]:
    for call in walk(tree, is_entered=lambda _: True):
        if isinstance(call, Call) and _is_misspelled(call.name):
            yield "agentFeelFunctionNameInvalid", f"there is no {call.name}(): write {FUNCTION}"
    for call in calls_in(tree):
        faults = tuple(_named_faults(call, namespace))
        yield from faults or _other_faults(call, namespace)


def _named_faults(call: Call, namespace: str) -> Iterator[_Fault]:
    arguments = arguments_of(call)
    fault = _key_fault(arguments.get("value"), namespace)
    if fault is not None:
        yield fault
    if not isinstance(arguments.get("description", String("")), String):
        yield "agentFeelDescriptionTypeInvalid", "the description is a text between quotes"


def _other_faults(call: Call, namespace: str) -> Iterator[_Fault]:
    """Give what bpmnlint has no name for: what resolving would say of type, schema and options."""
    try:
        schema_with([parameter_of(call)], namespace)
    except InvalidModel as exc:
        yield "agentFeelArgumentInvalid", str(exc)


def _is_misspelled(name: str) -> bool:
    """Whether it is `fromAi` in other letters, or behind a word that was not meant as its name."""
    last = name.split(" ")[-1]
    return name != FUNCTION and last.lower() == FUNCTION.lower()


def _key_fault(value: Node | None, namespace: str) -> _Fault | None:
    match value:
        case None:
            return "agentFeelKeyMissing", f"fromAi() says no key: write {namespace}. and a name"
        case Reference(segments=segments):
            return _segments_fault(segments, namespace)
        case _:
            what = _kind(value)
            return (
                "agentFeelKeyTypeInvalid",
                f"the key is a path, {namespace}. and a name, not {what}",
            )


def _segments_fault(segments: tuple[str, ...], namespace: str) -> _Fault | None:
    if segments[0] != namespace or len(segments) == 1:
        found = ".".join(segments)
        return "agentFeelKeyPrefixMissing", f"the key begins with {namespace}., {found} does not"
    match segments[1:]:
        case (str(name),) if name == META:
            restricted = f"{namespace}.{META}"
            return (
                "agentFeelKeyRestricted",
                f"{restricted} is the engine's own: choose another name",
            )
        case (_,):
            return None
        case _:
            return (
                "agentFeelKeySegmentsInvalid",
                f"the key has one name behind {namespace}: write {namespace}.{segments[-1]}",
            )


def _kind(node: Node) -> str:
    match node:
        case String():
            return "a text between quotes"
        case Null():
            return "null"
        case Number() | Operation(kind="ArithmeticNegation"):
            return "a number"
        case Operation(kind="Filter"):
            return "one in brackets"
        case Operation(kind="If"):
            return "a choice between two"
        case Operation(kind=kind) if kind in _ARITHMETIC:
            return "a calculation"
        case _:
            return "another expression"


# What the tools of an agent leave unsaid: what they are for, and what they give back.
#
# The rules agent-tool-documentation and agent-tool-output-key. Both only warn: such a tool is called,
# by its name alone or without an answer.

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
