"""The service keeps to its document, whatever is asked: made-up requests for each operation of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given
from schemathesis import GenerationMode
from schemathesis.specs.openapi import checks

from onrecord.adapters.service.document import document
from onrecord.adapters.service.routes.table import ROUTES
from tests.adapters.service.served import Served, served
from tests.search import examples

FORM: Any = checks
"""Its types say less than they are, and so do those of the document."""

CHECKS: list[Any] = [
    FORM.content_type_conformance,
    FORM.response_headers_conformance,
    FORM.response_schema_conformance,
    FORM.status_code_conformance,
]
ENDLESS = {route.name for route in ROUTES if route.media_type == "text/event-stream"}
SCHEMA: Any = schemathesis.openapi.from_dict(document(ROUTES, "1"))
OPERATIONS: dict[str, Any] = {
    found.ok().definition.raw["operationId"]: found.ok() for found in SCHEMA.get_all_operations()
}


@pytest.fixture(scope="module")
def open_service() -> Iterator[Served]:
    with served() as answering:
        for key in ("a", "0"):
            path = f"/v1/conversations/{key}/prompts"
            assert answering.ask("POST", path, {"text": "Hallo"}).status == 201
        yield answering


ASKED: dict[str, Any] = {name: each for name, each in OPERATIONS.items() if name not in ENDLESS}
TAKING: set[str] = {
    name
    for name, each in ASKED.items()
    if "requestBody" in each.definition.raw
    or any(parameter["in"] != "header" for parameter in each.definition.raw["parameters"])
}
"""Operations that can be asked wrongly: a header may say anything."""
CASES: list[tuple[str, GenerationMode]] = [
    *((name, GenerationMode.POSITIVE) for name in sorted(ASKED)),
    *((name, GenerationMode.NEGATIVE) for name in sorted(TAKING)),
]


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_each_answer_is_one_that_the_document_has(
    open_service: Served, name: str, mode: GenerationMode
) -> None:
    @examples(100, [HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture])
    @given(case=OPERATIONS[name].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        answer = case.call_and_validate(base_url=open_service.url, checks=CHECKS)
        assert answer.status_code < 500

    ask()
