"""What tools of providers did, as people read it."""

from uuid import UUID

import onrecord
from onrecord.domain import events
from onrecord.domain.content import Native
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history.timeline import Row, timeline

API = "anthropic-messages"
RESPONSE = UUID("01932f1e-5d00-7000-8000-0000000000aa")


def rows(*happened: Event) -> list[Row]:
    chat = onrecord.connect("memory://").conversation("talk")
    chat.log.append(*happened)
    return list(timeline(chat.log.read(after=1)))


def server_call(api: str, value: JsonObject, name: str) -> Event:
    return events.ServerToolCallRecorded(
        response=RESPONSE, index=0, call_id="s", name=name, content=Native(api=api, value=value)
    )


def test_what_a_providers_tool_gave_is_told_with_its_call() -> None:
    value = {"type": "bash_code_execution_tool_result", "tool_use_id": "s"}
    ran = {"type": "bash_code_execution_result", "stdout": "a", "stderr": "b", "return_code": 2}
    call: JsonObject = {
        "type": "server_tool_use",
        "id": "s",
        "name": "bash_code_execution",
        "input": {},
    }
    asked, gave = rows(
        server_call(API, call, "code_execution"),
        events.ServerToolResultRecorded(
            response=RESPONSE,
            index=1,
            call_id="s",
            content=Native(api=API, value={**value, "content": ran}),
        ),
    )
    assert (asked.kind, asked.text) == ("server call", "code_execution {}")
    assert (gave.speaker, gave.text) == ("provider", "code_execution: a; b; return code 2")
    assert (gave.marks, gave.answers) == (("error",), asked.version)


def test_an_item_that_holds_its_result_is_two_rows() -> None:
    url = "data:image/png;base64,AAAA"
    ran = {
        "type": "code_interpreter_call",
        "id": "s",
        "code": "1+1",
        "outputs": [{"type": "logs", "logs": "2"}, {"type": "image", "url": url}],
    }
    asked, gave = rows(server_call("openai-responses", ran, "code_execution"))
    assert asked.text == 'code_execution {"code":"1+1"}'
    assert (gave.text, gave.answers) == ("code_execution: 2; image/png", asked.version)


def test_an_item_that_tells_nothing_of_its_result_is_one_row() -> None:
    searched = {"type": "web_search_call", "id": "s", "action": {"type": "search", "query": "q"}}
    (asked,) = rows(server_call("openai-responses", searched, "web_search"))
    assert asked.text == 'web_search {"type":"search","query":"q"}'
