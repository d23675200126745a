"""What docs/adding-a-provider.md promises of its toy API: a program for whoever installed it.

`python -m tests.toy_program NAME` runs one of the functions, in an empty folder.
"""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx

import onrecord
from onrecord.adapters.demo.services.connection import Listener, Received, Reply
from onrecord.adapters.histories.foreign_history import History
from onrecord.adapters.histories.intake import take_in
from onrecord.adapters.histories.json_files import transcribe
from onrecord.adapters.wire.wires import WIRES, endpoint_of
from onrecord.domain.errors import UnknownApi
from onrecord.domain.events import RequestSent, ResponseInterrupted
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import FOLDERS

ASKED: JsonObject = {"by": "me", "text": "What is 1 + 2?"}
THINKS: JsonObject = {"by": "you", "text": "I add them.", "mood": None}
CALLS: JsonObject = {"by": "you", "call": "c1", "tool": "add", "with": {"b": 2, "a": 1}}
GAVE: JsonObject = {"by": "tool", "call": "c1", "gave": "3"}
TOLD: JsonObject = {"by": "you", "text": "It is 3."}
SAID = [ASKED, THINKS, CALLS, GAVE, TOLD]
RULES = "Be brief."
ADD: JsonObject = {"tool": "add", "takes": {"type": "object", "properties": {}}}
URL = "sqlite:///talks.db"
SECRET = "sk-0123456789abcdef"


def answer(request: JsonObject) -> JsonObject:
    lines, end = ([TOLD], "stop") if GAVE in request["lines"] else ([THINKS, CALLS], "call")
    used = {"in": 9, "out": 4}
    return {"id": "t1", "model": "toy-1", "lines": lines, "end": end, "used": used}


def streamed(said: JsonObject) -> bytes:
    """An answer as a stream of lines, its texts in pieces of four characters."""
    told: list[JsonObject] = []
    for line in said["lines"]:
        text = line.get("text", "")
        told.append({"line": {**line, "text": ""} if text else line})
        told += [{"more": text[at : at + 4]} for at in range(0, len(text), 4)]
    told.append({name: value for name, value in said.items() if name != "lines"})
    return b"".join(json.dumps(each).encode() + b"\n" for each in told)


@contextmanager
def service(sent: int | None = None) -> Generator[str]:
    """The toy's service on this machine; yields where it is asked. Streams end after `sent` bytes."""
    closing = Event()

    def reply(received: Received) -> Reply:
        request = json.loads(received.body)
        said = answer(request)
        if request.get("stream"):
            lines = streamed(said)[:sent]
            return Reply(200, {"content-type": "application/x-ndjson"}, lines, chunked=True)
        return Reply(200, {"content-type": "application/json"}, json.dumps(said).encode())

    listener = Listener(reply, closing)
    thread = Thread(target=listener.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}/toy/talk"
    finally:
        closing.set()
        listener.shutdown()
        thread.join()
        listener.server_close()


def talked(chat: onrecord.Conversation, url: str, *, stream: bool) -> None:
    """Ask, run the tool that is called, and ask again."""
    chat.instruct(RULES)
    chat.user(ASKED["text"])
    ask(chat, url, stream=stream)
    (call,) = chat.open_calls()
    assert (call.id, call.name, call.arguments) == ("c1", "add", {"a": 1, "b": 2})
    chat.tool_result(call.id, "3")
    ask(chat, url, stream=stream)


def ask(chat: onrecord.Conversation, url: str, *, stream: bool) -> None:
    request = {"model": "toy-1", "stream": stream, "api_key": SECRET, **chat.request("toy")}
    with chat.recording():
        assert httpx.post(url, json=request).status_code == 200


def a_call_is_recorded_streamed_as_whole() -> None:
    with onrecord.connect(URL) as store, service() as url:
        told: list[list[tuple[str, JsonObject]]] = []
        for stream in (False, True):
            chat = store.conversation(f"stream {stream}")
            talked(chat, url, stream=stream)
            assert chat.request("toy")["lines"] == SAID
            assert json.dumps(chat.request("toy")["lines"]) == json.dumps(SAID)
            assert str(chat.request("toy").report) == "everything goes as it was recorded"
            told.append([(event.type, without_names(event.event())) for event in chat.log.read()])
        assert told[0] == told[1]
        assert [name for name, _ in told[0]].count("response.completed") == 2
        assert store.verify().is_whole
        assert command("replay", "stream True", "--verify").count("rendered again") == 2
    assert not [file for file in Path().iterdir() if SECRET.encode() in file.read_bytes()]


def without_names(event: Any) -> JsonObject:
    """An event without what differs from call to call: ids, sizes and digests."""
    fleeting = {"response", "request", "key", "parent", "template", "recipe"}
    return {name: value for name, value in event if name not in fleeting}


def what_came_of_a_cut_answer_stays() -> None:
    sent = streamed(answer({"lines": []})).index(b"d th") + len(b'd th"}\n')
    with onrecord.connect(URL) as store, service(sent) as url:
        chat = store.conversation("cut")
        chat.user(ASKED["text"])
        ask(chat, url, stream=True)
        assert [event.type for event in chat.log.read()][-1] == "response.interrupted"
        chat.user("Go on.")
        begun = {"by": "you", "text": "I add th", "mood": None}
        assert chat.request("toy")["lines"] == [ASKED, begun, {"by": "me", "text": "Go on."}]


def a_program_may_keep_its_own_list() -> None:
    with onrecord.connect(URL) as store, service() as url:
        chat = store.conversation("own")
        lines = [ASKED]
        with chat.recording():
            for more in ([GAVE], []):
                said = httpx.post(url, json={"model": "toy-1", "lines": lines, "tools": [ADD]})
                lines = [*lines, *said.json()["lines"], *more]
        assert chat.request("toy") == {"lines": SAID, "tools": [ADD]}
        told = [event.event() for event in chat.log.read()]
        sent = [event for event in told if isinstance(event, RequestSent)]
        assert [event.relation for event in sent] == ["extends", "extends"]


def what_is_said_is_kept_word_for_word() -> None:
    said: JsonObject = {"by": "me", "text": f"Why is https://a.test/?api_key={SECRET} refused?"}
    with onrecord.connect(URL) as store, service() as url:
        chat = store.conversation("own")
        with chat.recording():
            httpx.post(url, json={"model": "toy-1", "lines": [said], "token": SECRET})
        assert chat.request("toy")["lines"][0] == said
        (sent,) = [event.event() for event in chat.log.read() if event.type == "request.sent"]
        assert isinstance(sent, RequestSent)
        assert sent.template.cut == ("/token",)


def it_crosses_to_every_api_and_back() -> None:
    with onrecord.connect("memory://") as store, service() as url:
        chat = store.conversation("toy")
        chat.tools.declare([{"name": "add", "description": "Adds.", "input_schema": ADD["takes"]}])
        talked(chat, url, stream=True)
        for api in FOLDERS:
            there = chat.request(api)
            assert onrecord.check_request(api, there).violations == (), api
            body = there.body

            def hears(listener: Any, api: str = api, body: Any = body) -> Any:
                return transcribe(api, dict(body), listener)

            taken = take_in(store, History("the body", None, hears), f"from {api}")
            assert taken.outcome == "recorded", taken.why
            back = store.get(f"from {api}").request("toy")
            assert onrecord.check_request("toy", back).violations == (), api
            assert [meant(line) for line in back["lines"]] == [meant(line) for line in SAID], api
            assert (back["rules"], back["tools"]) == (RULES, [ADD]), api


def meant(line: JsonObject) -> JsonObject:
    """What a line says, whatever the id of its call, and less what only the toy can read."""
    return {name: line[name] for name in ("by", "text", "tool", "with", "gave") if name in line}


def the_commands_know_it() -> None:
    Path("said.json").write_text(json.dumps({"rules": RULES, "lines": SAID}))
    assert "recorded" in command("import", "said.json", "--api", "toy", "--key", "kept")
    shown = command("show", "kept")
    assert all(word in shown for word in (RULES, "What is 1 + 2?", "add", "It is 3."))
    made = command("request", "kept", "--api", "toy", "--json")
    assert json.loads(made)["request"] == {"rules": RULES, "lines": SAID}
    assert command("check-request", "said.json", "--api", "toy")
    (known,) = map(json.loads, command("capabilities", "toy", "toy-1", "--json").splitlines())
    assert (known["entry"], known["context_tokens"]) == ("toy-*", 8192)
    Path("open.json").write_text(json.dumps({"lines": [ASKED, CALLS]}))
    assert "T1" in command("check-request", "open.json", "--api", "toy", code=1)


def command(name: str, *arguments: str, code: int = 0) -> str:
    program = "from onrecord.adapters.cli import main; main()"
    url = [] if name in ("check-request", "capabilities") else ["--url", URL]
    done = subprocess.run(
        [sys.executable, "-c", program, name, *arguments, *url],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def no_bytes_make_it_raise() -> None:
    body = streamed(answer({"lines": []}))
    [begin] = WIRES["toy"].streams.values()
    for at in range(len(body)):
        stream = begin()
        assert not stream.feed(body[:at].rpartition(b"\n")[0])
        assert not stream.finish().is_complete
        broken = body[:at] + b"\xff" + body[at:]
        stream = begin()
        stream.feed(broken)
        assert stream.finish().needs_raw
        assert WIRES["toy"].read_body(broken, "malformed", None).interruption == "malformed"


def what_its_wire_cannot_read_is_kept() -> None:
    with onrecord.connect(URL) as store, service() as url:
        for stream in (False, True):
            chat = store.conversation(f"stream {stream}")
            chat.user(ASKED["text"])
            ask(chat, url, stream=stream)
            closing = list(chat.log.read())[-1].event()
            assert isinstance(closing, ResponseInterrupted)
            assert closing.reason == "malformed"
            assert closing.raw is not None
            said = answer({"lines": []})
            sent = streamed(said) if stream else json.dumps(said).encode()
            assert chat.blob(closing.raw) == sent


def without_rules_nothing_is_checked() -> None:
    with onrecord.connect("memory://") as store, service() as url:
        chat = store.conversation("toy")
        talked(chat, url, stream=True)
        try:
            onrecord.check_request("toy", chat.request("toy"))
        except UnknownApi as error:
            assert "'toy' cannot be checked" in str(error)
        else:
            raise AssertionError


def a_request_needs_no_wire() -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("toy")
        chat.user(ASKED["text"])
        assert chat.request("toy") == {"lines": [ASKED]}


def without_a_wire_nothing_is_recorded() -> None:
    a_request_needs_no_wire()
    assert "toy" not in WIRES
    with onrecord.connect(URL) as store, service() as url:
        chat = store.conversation("own")
        with chat.recording():
            httpx.post(url, json={"model": "toy-1", "lines": [ASKED]})
        assert not list(chat.log.read())


def the_first_request_on_the_wire_is_read() -> None:
    assert endpoint_of("POST", "/toy/talk").api == "toy"


PROMISES = (
    "a_call_is_recorded_streamed_as_whole",
    "what_came_of_a_cut_answer_stays",
    "a_program_may_keep_its_own_list",
    "what_is_said_is_kept_word_for_word",
    "it_crosses_to_every_api_and_back",
    "the_commands_know_it",
    "no_bytes_make_it_raise",
)

if __name__ == "__main__":
    globals()[sys.argv[1]]()
