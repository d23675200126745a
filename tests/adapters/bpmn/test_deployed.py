"""Models by the keys of an engine, and parameters in another variable than the engine's."""

from __future__ import annotations

from typing import Any

import pytest

import onrecord
from onrecord.bpmn import DeployedModels, lint, tools_of
from tests.adapters.bpmn.models import ad_hoc, definitions, desk, process, task

MODEL = desk(task("Track", "=fromAi(toolCall.number)"))


@pytest.fixture
def asked() -> list[int]:
    return []


@pytest.fixture
def models(asked: list[int]) -> DeployedModels:
    def fetch(key: int) -> bytes:
        asked.append(key)
        if key == 404:
            raise LookupError("no such definition")
        return MODEL

    return DeployedModels(fetch)


def test_the_tools_of_a_key_are_those_of_its_model(models: DeployedModels) -> None:
    assert models.tools_of(7) == tools_of(MODEL)
    assert models.tools_of(7, "Tools", flavour="task") == tools_of(MODEL, "Tools", flavour="task")


def test_each_key_is_asked_for_once(models: DeployedModels, asked: list[int]) -> None:
    for key in (1, 2, 1, 2):
        models.tools_of(key)
    assert asked == [1, 2]


def test_an_error_of_the_engine_is_raised_and_asked_for_again(
    models: DeployedModels, asked: list[int]
) -> None:
    for _ in range(2):
        with pytest.raises(LookupError):
            models.tools_of(404)
    assert asked == [404, 404]


def test_of_many_models_those_used_last_are_kept(models: DeployedModels, asked: list[int]) -> None:
    for key in (*range(1, 65), 1, 65):
        models.model(key)
    assert asked == list(range(1, 66))
    models.model(1)
    assert len(asked) == 65
    models.model(2)
    assert asked[-1] == 2


@pytest.mark.parametrize("key", [None, 0, -1])
def test_a_key_is_above_zero_in_the_engines_words(models: DeployedModels, key: Any) -> None:
    with pytest.raises(onrecord.InvalidInput) as raised:
        models.tools_of(key)
    assert str(raised.value) == "Process definition key must not be null or negative"


@pytest.mark.parametrize("key", ["7", True, 7.0])
def test_a_key_is_a_number(models: DeployedModels, key: Any) -> None:
    with pytest.raises(onrecord.InvalidInput, match="is a number"):
        models.tools_of(key)


OTHER = definitions(process(ad_hoc(task("Track", "=fromAi(request.number)"))))


def test_parameters_may_be_in_another_variable() -> None:
    (tool,) = tools_of(OTHER, namespace="request").tools
    assert list(tool.input_schema["properties"]) == ["number"]
    assert lint(OTHER, namespace="request") == ()


def test_each_namespace_is_resolved_by_itself() -> None:
    tools_of(OTHER, namespace="request")
    with pytest.raises(onrecord.InvalidModel, match=r"expected namespace 'toolCall\.'"):
        tools_of(OTHER)
    with pytest.raises(onrecord.InvalidModel, match=r"expected namespace 'request\.'"):
        tools_of(MODEL, namespace="request")
    (finding,) = lint(MODEL, namespace="request")
    assert finding.rule == "agentFeelKeyPrefixMissing"


def test_what_the_engine_sets_is_restricted_in_another_variable_too() -> None:
    model = desk(task("Track", "=fromAi(request._meta)"))
    with pytest.raises(onrecord.InvalidModel, match=r"'request\._meta' is restricted"):
        tools_of(model, namespace="request")
    (finding,) = lint(model, namespace="request")
    assert finding.rule == "agentFeelKeyRestricted"


@pytest.mark.parametrize("namespace", ["", "a.b", "toolCall.", 7])
def test_a_namespace_is_the_name_of_a_variable(namespace: Any) -> None:
    for read in (tools_of, lint):
        with pytest.raises(onrecord.InvalidInput, match="without a dot"):
            read(MODEL, namespace=namespace)


def test_an_engine_that_asks_for_another_model_or_is_slow_holds_nobody_up() -> None:
    def fetch(key: int) -> bytes:
        if key == 2:
            assert deployed[0].model(1) == MODEL
        return MODEL

    deployed = [DeployedModels(fetch)]
    assert deployed[0].model(1) == deployed[0].model(2) == MODEL
