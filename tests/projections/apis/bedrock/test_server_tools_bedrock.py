"""What tools that Bedrock runs were asked and gave, in the form that all APIs share."""

from typing import Any

import pytest

from onrecord.domain.content import Document, ServerToolCall, ServerToolResult, Text, Url
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.bedrock.read import called, gave

FOUND = {"source": "https://a", "title": "A", "content": [{"text": "said"}]}
PICTURE = {"format": "png", "source": {"bytes": "AA=="}}
REPORT = {"format": "pdf", "name": "report", "source": {"bytes": "AA=="}}


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("nova_grounding", "web_search"),
        ("nova_code_interpreter", "code_execution"),
        ("of_next_year", "of_next_year"),
    ],
)
def test_a_call_that_bedrock_runs_has_the_name_that_all_apis_share(name: str, shared: str) -> None:
    use = {"type": "server_tool_use", "toolUseId": "t", "name": name, "input": {"q": 1}}
    assert called({"toolUse": use}) == ServerToolCall(id="t", name=shared, arguments={"q": 1})


RESULTS: list[tuple[Any, Any]] = [
    ([{"text": "a"}, {"json": {"b": 1}}], (Text(text="a"), Text(text='{"b":1}'))),
    (
        [{"image": PICTURE}],
        (Document(media_type="image/png", url="data:image/png;base64,AA=="),),
    ),
    (
        [{"document": REPORT}],
        (
            Document(
                media_type="application/pdf",
                name="report",
                url="data:application/pdf;base64,AA==",
            ),
        ),
    ),
    ([{"document": {"source": {"text": "plain"}}}], (Text(text="plain"),)),
    ([{"searchResult": FOUND}], (Url(url="https://a", title="A"), Text(text="said"))),
    ([{"of_next_year": {}}, 7], ()),
    (None, ()),
]


@pytest.mark.parametrize(("content", "parts"), RESULTS)
def test_a_result_has_the_parts_that_all_apis_share(content: Any, parts: Any) -> None:
    value = {"toolResult": {"toolUseId": "t", "type": "nova_grounding_result", "content": content}}
    assert gave(value) == ServerToolResult(call_id="t", name="web_search", content=parts)


def test_a_result_says_whether_it_failed() -> None:
    value = {"toolResult": {"toolUseId": "t", "status": "error", "content": [{"text": "no"}]}}
    assert gave(value) == ServerToolResult(
        call_id="t",
        name="",
        content=(Text(text="no"),),
        is_error=True,
        metadata={"status": "error"},
    )


@pytest.mark.parametrize(
    "value", [{"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}, {"text": "x"}]
)
def test_other_blocks_are_no_doing_of_the_service(value: JsonObject) -> None:
    assert called(value) is None
    assert gave(value) is None
