"""What Gemini's own tools were asked and gave, in the form that all APIs share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.content import ServerToolCall, ServerToolResult, Text, Url
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.gemini.server_tools import called, gave, grounded_by

CALLS: dict[str, tuple[JsonObject, ServerToolCall]] = {
    "code": (
        {"executableCode": {"code": "1+1", "language": "PYTHON", "id": "c"}},
        ServerToolCall(
            id="c", name="code_execution", arguments={"code": "1+1", "language": "PYTHON"}
        ),
    ),
    "code as the SDK spells it, without an id": (
        {"executable_code": {"code": "1+1", "language": None}},
        ServerToolCall(id="", name="code_execution", arguments={"code": "1+1"}),
    ),
    "a search": (
        {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}},
        ServerToolCall(id="t", name="web_search", arguments={"queries": ["q"]}),
    ),
    "a search of files as the SDK spells it": (
        {"tool_call": {"id": "t", "tool_type": "FILE_SEARCH", "args": None}},
        ServerToolCall(id="t", name="file_search", arguments={}),
    ),
    "a page to read": (
        {"toolCall": {"id": "t", "toolType": "URL_CONTEXT"}},
        ServerToolCall(id="t", name="web_fetch", arguments={}),
    ),
    "a tool of next year": (
        {"toolCall": {"id": "t", "toolType": "TEA"}},
        ServerToolCall(id="t", name="TEA", arguments={}),
    ),
    "what was searched to ground an answer": (
        {"groundingMetadata": {"webSearchQueries": ["q", "r"]}},
        ServerToolCall(id="", name="web_search", arguments={"queries": ["q", "r"]}),
    ),
    "grounding without queries": (
        {"groundingMetadata": {}},
        ServerToolCall(id="", name="web_fetch", arguments={}),
    ),
    "pages to read": (
        {"urlContextMetadata": {}},
        ServerToolCall(id="", name="web_fetch", arguments={}),
    ),
}
DONE = "URL_RETRIEVAL_STATUS_SUCCESS"
RESULTS: dict[str, tuple[JsonObject, ServerToolResult]] = {
    "what code wrote": (
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2\n", "id": "c"}},
        ServerToolResult(
            call_id="c",
            name="code_execution",
            content=(Text(text="2\n"),),
            metadata={"outcome": "OUTCOME_OK"},
        ),
    ),
    "code that wrote nothing": (
        {"code_execution_result": {"outcome": "OUTCOME_OK"}},
        ServerToolResult(
            call_id="", name="code_execution", content=(), metadata={"outcome": "OUTCOME_OK"}
        ),
    ),
    "code that failed": (
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}},
        ServerToolResult(
            call_id="",
            name="code_execution",
            content=(Text(text="no"),),
            is_error=True,
            metadata={"outcome": "OUTCOME_FAILED"},
        ),
    ),
    "what was found in files": (
        {
            "toolResponse": {
                "id": "t",
                "toolType": "FILE_SEARCH",
                "response": {"result": [{"text": "said", "file_search_store": "s"}]},
            }
        },
        ServerToolResult(call_id="t", name="file_search", content=(Text(text="said"),)),
    ),
    "suggestions alone": (
        {
            "toolResponse": {
                "id": "t",
                "toolType": "GOOGLE_SEARCH_WEB",
                "response": {"search_suggestions": "<style>"},
            }
        },
        ServerToolResult(call_id="t", name="web_search", content=()),
    ),
    "a response of another shape": (
        {"toolResponse": {"id": "t", "toolType": "TEA", "response": {"cups": 2}}},
        ServerToolResult(call_id="t", name="TEA", content=(Text(text='{"cups":2}'),)),
    ),
    "no response": (
        {"tool_response": {"id": "t", "tool_type": "FILE_SEARCH"}},
        ServerToolResult(call_id="t", name="file_search", content=()),
    ),
    "pages that an answer rests on": (
        {
            "groundingMetadata": {
                "webSearchQueries": ["q"],
                "groundingChunks": [
                    {"web": {"uri": "https://a", "title": "A", "domain": "a"}},
                    {"web": {"uri": "", "title": "B"}},
                    {"maps": {"uri": "https://m", "title": "M", "text": "A place."}},
                ],
                "searchEntryPoint": {"renderedContent": "<style>"},
            }
        },
        ServerToolResult(
            call_id="",
            name="web_search",
            content=(
                Url(url="https://a", title="A", about={"domain": "a"}),
                Url(url="https://m", title="M"),
                Text(text="A place."),
            ),
            metadata={"queries": ["q"]},
        ),
    ),
    "files that an answer rests on": (
        {
            "groundingMetadata": {
                "groundingChunks": [{"retrievedContext": {"text": "said", "fileSearchStore": "s"}}]
            }
        },
        ServerToolResult(call_id="", name="file_search", content=(Text(text="said"),)),
    ),
    "pages that were read": (
        {
            "urlContextMetadata": {
                "urlMetadata": [
                    {"retrievedUrl": "https://a", "urlRetrievalStatus": DONE},
                    {"retrievedUrl": "https://b", "urlRetrievalStatus": "PAYWALL"},
                ]
            }
        },
        ServerToolResult(
            call_id="",
            name="web_fetch",
            content=(
                Url(url="https://a", about={"status": DONE}),
                Url(url="https://b", about={"status": "PAYWALL"}),
            ),
            metadata={"count": 2},
        ),
    ),
    "a page that could not be read": (
        {
            "url_context_metadata": {
                "url_metadata": [{"retrieved_url": "https://a", "url_retrieval_status": "ERROR"}]
            }
        },
        ServerToolResult(
            call_id="",
            name="web_fetch",
            content=(Url(url="https://a", about={"status": "ERROR"}),),
            is_error=True,
            metadata={"count": 1},
        ),
    ),
}


@pytest.mark.parametrize(("value", "asked"), CALLS.values(), ids=CALLS)
def test_a_tool_of_geminis_was_asked(value: JsonObject, asked: ServerToolCall) -> None:
    assert called(value) == asked


@pytest.mark.parametrize(("value", "told"), RESULTS.values(), ids=RESULTS)
def test_a_tool_of_geminis_gave(value: JsonObject, told: ServerToolResult) -> None:
    assert called(value) is None
    assert gave(value) == told


@pytest.mark.parametrize("value", [{"text": "x"}, {"functionCall": {"name": "f"}}, {"new": {}}])
def test_other_parts_are_no_doing_of_the_service(value: JsonObject) -> None:
    assert called(value) is None
    assert gave(value) is None


def test_grounding_is_of_the_tool_that_its_members_tell() -> None:
    assert grounded_by({"webSearchQueries": ["q"]}) == "web_search"
    assert grounded_by({"image_search_queries": ["q"]}) == "web_search"
    assert grounded_by({"retrievalQueries": ["q"]}) == "file_search"
    assert grounded_by({"groundingChunks": [{"web": {"uri": "u"}}]}) == "web_fetch"


MEMBERS = [
    "web",
    "uri",
    "id",
    "args",
    "output",
    "response",
    "result",
    "groundingChunks",
    "urlMetadata",
    "retrievedUrl",
    "toolType",
    "outcome",
    "webSearchQueries",
]

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(MEMBERS),
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)
KINDS = ["executableCode", "codeExecutionResult", "toolCall", "toolResponse", "groundingMetadata"]


@given(st.sampled_from([*KINDS, "urlContextMetadata"]), ANYTHING)
def test_no_shape_of_a_part_makes_its_reading_raise(kind: str, held: object) -> None:
    called({kind: held})
    gave({kind: held})
