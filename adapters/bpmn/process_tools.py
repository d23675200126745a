"""The tools of an ad-hoc sub-process: which of its elements they are, and what a model is told.

Two flavours, as Camunda has them. `process`: the engine says which elements there are, and reads what
goes into them. `task`: a connector reads the file, takes what the engine would not (starts, ends,
event sub-processes), and reads what comes out of them too. How results come back is in `wiring`.

An engine may have deployed the models: then they are asked for by the keys that it gave them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from onrecord.adapters.bpmn.from_ai import (
    NAMESPACE,
    Parameter,
    checked_namespace,
    declares,
    parameters_of,
    schema_of,
)
from onrecord.adapters.bpmn.gateways import MCP_GATEWAY, Gateway, check_mcp_elements
from onrecord.adapters.bpmn.model import Element, Mapping, Model, bytes_of, model_of
from onrecord.adapters.inputs.arguments import kind_of
from onrecord.domain.errors import InvalidInput, InvalidModel
from onrecord.domain.tools import ToolDefinition, ToolSource

Flavour: TypeAlias = Literal["process", "task"]

NOT_FOUND: Final = "AD_HOC_SUB_PROCESS_NOT_FOUND"
INVALID_DEFINITION: Final = "AD_HOC_TOOL_DEFINITION_INVALID"

_GATEWAY_TYPE: Final = "io.camunda.agenticai.gateway.type"


@dataclass(frozen=True, slots=True)
class ResolvedTools:
    """What a sub-process offers: `conversation.tools.declare(resolved.tools, sources=[resolved.source])`."""

    tools: tuple[ToolDefinition, ...]
    gateways: tuple[Gateway, ...]
    source: ToolSource
    warnings: tuple[str, ...] = ()


def tools_of(
    model: Path | bytes,
    sub_process_id: str | None = None,
    *,
    flavour: Flavour = "process",
    gateways: bool = True,
    namespace: str = NAMESPACE,
) -> ResolvedTools:
    """Return the tools of an ad-hoc sub-process of a BPMN file, or of its bytes.

    Without an id it is the only one of the model that is an agent's, else the only one. With
    `gateways=False` those are plain tools, as nobody asks what they offer. InvalidModel, whose `code`
    is the engine's, where it is not there or a tool is not well defined. `namespace` is the variable
    whose members the parameters are. The same bytes are resolved once for each way to ask.
    """
    own_namespace = checked_namespace(namespace)
    resolved = _tools_of(bytes_of(model), sub_process_id, flavour, bool(gateways), own_namespace)
    # Schemas are plain dicts: whoever writes into them shall not write into what others are given.
    own = tuple(tool.model_copy(deep=True) for tool in resolved.tools)
    return replace(resolved, tools=own)


@lru_cache(maxsize=64)
def _tools_of(
    data: bytes, sub_process_id: str | None, flavour: Flavour, has_gateways: bool, namespace: str
) -> ResolvedTools:
    model = model_of(data)
    sub_process = sub_process_of(model, sub_process_id)
    elements = tool_elements(sub_process, flavour)
    _check_ids(sub_process.id, elements)
    gateways = {each.name: each for each in map(_gateway, elements if has_gateways else ()) if each}
    check_mcp_elements(each.name for each in gateways.values() if each.type == MCP_GATEWAY)
    plain = [element for element in elements if element.id not in gateways]
    tools = tuple(_tool(element, flavour, namespace) for element in plain)
    return ResolvedTools(
        tools=tools,
        gateways=tuple(gateways.values()),
        source=_source(model, sub_process, tools),
        warnings=tuple(_warnings(elements, flavour)),
    )


def sub_process_of(model: Model, sub_process_id: str | None) -> Element:
    """Return the ad-hoc sub-process of an id, or the one that can only be meant."""
    sub_processes = tuple(model.ad_hoc_sub_processes())
    if sub_process_id is None:
        return _only(sub_processes)
    if not sub_process_id.strip():
        raise InvalidModel("adHocSubProcessId cannot be null or empty")
    for sub_process in sub_processes:
        if sub_process.id == sub_process_id:
            return sub_process
    raise InvalidModel(
        "Unable to resolve tool elements. "
        f"Ad-hoc sub-process with ID '{sub_process_id}' was not found.",
        NOT_FOUND,
    )


def _only(sub_processes: tuple[Element, ...]) -> Element:
    meant = [each for each in sub_processes if each.is_agentic] or sub_processes
    if len(meant) == 1:
        return meant[0]
    if not sub_processes:
        raise InvalidModel("the model has no ad-hoc sub-process", NOT_FOUND)
    ids = ", ".join(each.id for each in meant)
    raise InvalidModel(f"the model has several ad-hoc sub-processes: name one of {ids}", NOT_FOUND)


def tool_elements(sub_process: Element, flavour: Flavour) -> tuple[Element, ...]:
    """Return the elements that stand for tools: those that no sequence flow leads to, in order.

    InvalidInput for another flavour than there is.
    """
    if flavour not in get_args(Flavour):
        raise InvalidInput(f"a flavour is {' or '.join(map(repr, get_args(Flavour)))}")
    return tuple(each for each in sub_process.elements if _is_tool(each, flavour))


def _is_tool(element: Element, flavour: Flavour) -> bool:
    if element.has_incoming or element.kind == "boundaryEvent":
        return False
    return flavour == "task" or not (
        element.kind in {"startEvent", "endEvent"} or element.is_triggered_by_event
    )


def _check_ids(sub_process_id: str, elements: tuple[Element, ...]) -> None:
    ids = [element.id for element in elements]
    if "" in ids:
        raise InvalidModel(f"an element of '{sub_process_id}' has no id: a tool is named by it")
    if twice := next((each for each, count in Counter(ids).items() if count > 1), None):
        raise InvalidModel(f"two elements of '{sub_process_id}' have the id '{twice}': rename one")


def _gateway(element: Element) -> Gateway | None:
    kind = element.property(_GATEWAY_TYPE)
    if kind is None or not kind.strip():
        return None
    return Gateway(kind, element.id, element.description)


def _tool(element: Element, flavour: Flavour, namespace: str) -> ToolDefinition:
    parameters = tuple(_parameters(element, flavour))
    return ToolDefinition(
        name=element.id,
        description=element.description,
        input_schema=schema_of(element.id, parameters, namespace),
    )


def _parameters(element: Element, flavour: Flavour) -> Iterator[Parameter]:
    for direction, mapping in mappings_of(element, flavour):
        expression = mapping.expression
        if expression is not None:
            try:
                yield from parameters_of(expression)
            except InvalidModel as exc:
                raise _invalid(element, direction, mapping, flavour, exc) from exc


def mappings_of(element: Element, flavour: Flavour) -> Iterator[tuple[str, Mapping]]:
    """Give the mappings that declare parameters, those into the element first, by their direction."""
    yield from (("input", mapping) for mapping in element.inputs)
    if flavour == "task":
        yield from (("output", mapping) for mapping in element.outputs)


def _invalid(
    element: Element, direction: str, mapping: Mapping, flavour: Flavour, exc: InvalidModel
) -> InvalidModel:
    """Say it as the engine or the connector does; the engine does not name the mapping."""
    if flavour == "process":
        message = f"Failed to extract ad-hoc activity parameters for element '{element.id}'. {exc}"
    else:
        message = (
            f"Invalid ad-hoc tool definition for element '{element.id}' "
            f"on {direction} mapping '{mapping.target}': {exc}"
        )
    return InvalidModel(message, INVALID_DEFINITION)


def _warnings(elements: tuple[Element, ...], flavour: Flavour) -> Iterator[str]:
    """Give what is not as it was meant: `fromAi` in outputs, which the engine does not read."""
    if flavour == "task":
        return
    for element in elements:
        for mapping in element.outputs:
            if declares(mapping.expression):
                yield (
                    f"fromAi() in output mapping '{mapping.target}' of '{element.id}' declares "
                    "nothing: move it to an input mapping"
                )


def _source(model: Model, sub_process: Element, tools: tuple[ToolDefinition, ...]) -> ToolSource:
    process = next(each for each in model.processes if sub_process in each.below())
    return ToolSource(
        origin="bpmn",
        name=f"{process.id}/{sub_process.id}",
        version=process.version_tag,
        sha256=model.sha256,
        tools=tuple(tool.name for tool in tools),
    )


# The models that a process engine has deployed, by the keys that it gave them.


class DeployedModels:
    """Models by their process definition keys; safe to share between threads.

    `fetch` asks the engine for the XML of a key: the only way to it, and its errors are raised as they
    are. What a key stands for never changes in an engine, so the 64 models used last are kept. Several
    threads that need the same one at the same time may each ask for it.
    """

    def __init__(self, fetch: Callable[[int], bytes]) -> None:
        """Ask by `fetch`, which takes a key and returns the bytes of the file."""

        def fetched(number: int) -> bytes:
            return bytes_of(fetch(number))

        # An engine may be slow: this cache holds no lock while it is asked, and keeps no errors.
        self._model = lru_cache(maxsize=64)(fetched)

    def model(self, key: int) -> bytes:
        """Return the file of a process definition key; InvalidInput, as engines say it, for none."""
        return self._model(_key(key))

    def tools_of(
        self,
        key: int,
        sub_process_id: str | None = None,
        *,
        flavour: Flavour = "process",
        gateways: bool = True,
        namespace: str = NAMESPACE,
    ) -> ResolvedTools:
        """Return the tools of an ad-hoc sub-process of the model of a key, as `tools_of` does."""
        return tools_of(
            self.model(key),
            sub_process_id,
            flavour=flavour,
            gateways=gateways,
            namespace=namespace,
        )


def _key(value: object) -> int:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value <= 0):
        raise InvalidInput("Process definition key must not be null or negative")
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise InvalidInput(f"a process definition key is a number, not {kind_of(value)}")
