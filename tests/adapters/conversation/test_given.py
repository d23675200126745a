"""What nobody can record is refused with advice, before anything is recorded or stored."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic import ValidationError

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.store import backend_of
from onrecord.domain import encoding, errors
from onrecord.domain.content import Document, ToolResult
from tests.factories import BECAUSE, prompt

Step = Callable[[Any], object]

REFUSED: dict[str, tuple[Step, str]] = {
    "a prompt that is no text": (lambda chat: chat.user(5), r"text .* not int"),
    "a prompt with a part that is no text": (
        lambda chat: chat.user(("Ada", 5)),
        r"text .* not int",
    ),
    "a prompt of parts in parts": (lambda chat: chat.user(["a", ["b"]]), r"text .* not list"),
    "a prompt of nothing": (lambda chat: chat.user(), "needs content"),
    "an empty prompt": (lambda chat: chat.user(""), "blank"),
    "a blank prompt": (lambda chat: chat.user(" \n"), "blank"),
    "a message id that is a number": (lambda chat: chat.user("a", message_id=5), "message_id"),
    "a version that is a text": (lambda chat: chat.user("a", expected_version="1"), "version"),
    "a version that is a truth": (lambda chat: chat.user("a", expected_version=True), "version"),
    "a path as text": (lambda chat: chat.user("a", documents=["Ada.pdf"]), r"pathlib\.Path"),
    "a path alone": (lambda chat: chat.user("a", documents=Path("Ada.pdf")), r"documents=\["),
    "a text for documents": (lambda chat: chat.user("a", documents="Ada.pdf"), r"documents=\["),
    "bytes for documents": (lambda chat: chat.user("a", documents=b"%PDF Ada"), r"documents=\["),
    "a number for documents": (lambda chat: chat.user("a", documents=5), r"documents=\["),
    "a number as a document": (lambda chat: chat.user("a", documents=[b"", 5]), r"pathlib\.Path"),
    "a document of no media type": (
        lambda chat: chat.user("a", documents=[Document(media_type="Ada", url="https://a/b")]),
        "type/subtype",
    ),
    "a document of nothing": (
        lambda chat: chat.user("a", documents=[b"%PDF", Document(media_type="a/b", name="Ada")]),
        "`url`",
    ),
    "a result with a document of no media type": (
        lambda chat: chat.tool_result("a", {"b": Document(media_type="Ada", url="https://a/b")}),
        "type/subtype",
    ),
    "no instructions": (lambda chat: chat.instruct(None), r"text .* not NoneType"),
    "a name for tools": (lambda chat: chat.tools.declare("Ada"), "list"),
    "a number for tools": (lambda chat: chat.tools.declare(5), "list"),
    "a name for a tool": (lambda chat: chat.tools.declare(["Ada"]), "input_schema"),
    "a tool that is no JSON": (
        lambda chat: chat.tools.declare([{"name": "a", "input_schema": {"b": object()}}]),
        "JSON",
    ),
    "a call that is a number": (lambda chat: chat.tool_result(5, "a"), r"text .* not int"),
    "a call of no name": (lambda chat: chat.tool_result("", "a"), "id of its call"),
    "a result that is no JSON": (lambda chat: chat.tool_result("a", {"Ada"}), "JSON"),
    "a cancelled number": (lambda chat: chat.cancel(5), r"text .* not int"),
    "labels that are numbers": (lambda chat: chat.annotate({"Ada": 1}), "labels"),
    "a label that is a text": (lambda chat: chat.annotate("Ada"), "labels"),
    "half a character as a label": (lambda chat: chat.annotate({"a": "\ud800"}), "surrogate"),
    "half a character as a label's name": (
        lambda chat: chat.annotate({"\ud800": "a"}),
        "surrogate",
    ),
    "a remark on a text": (lambda chat: chat.annotate({"a": "b"}, "1"), "version"),
    "a redacted text": (lambda chat: chat.redact("Ada"), "version"),
    "a reason that is a number": (lambda chat: chat.end(5), "reason"),
    "bytes of a text": (lambda chat: chat.blob("Ada"), "type Blob, not str"),
    "a fork of a number": (lambda chat: chat.fork(5), "key"),
    "a blank fork": (lambda chat: chat.fork(" "), "key"),
    "a request at a text": (lambda chat: chat.request("anthropic-messages", at="1"), "version"),
    "a request of a number": (lambda chat: chat.request(5), "API"),
    "a window that is a number": (
        lambda chat: chat.request("anthropic-messages", window=5),
        r"onrecord\.Window",
    ),
    "a word for thinking": (
        lambda chat: chat.request("anthropic-messages", thinking="Ada"),
        r'^thinking is not what a request takes: give "keep" or "drop"$',
    ),
    "a word for calls without results": (
        lambda chat: chat.request("anthropic-messages", missing="Ada"),
        r'^missing .* give "cancel", "refuse" or "drop"$',
    ),
    "a function that is no tool yet": (
        lambda chat: chat.tools.declare([len]),
        r"onrecord\.tool\(function\)",
    ),
}


def shown(exc: BaseException) -> str:
    """What a traceback says beside lines of code: the error, its notes, and what led to it."""
    told = traceback.TracebackException.from_exception(exc)
    chain = [told]
    while earlier := chain[-1].__cause__ or (
        None if chain[-1].__suppress_context__ else chain[-1].__context__
    ):
        chain.append(earlier)
    return "".join(line for each in chain for line in each.format_exception_only())


each_refused = pytest.mark.parametrize(("deed", "advice"), REFUSED.values(), ids=REFUSED)


@each_refused
def test_what_cannot_be_recorded_is_refused_with_advice(deed: Step, advice: str) -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    chat.user("Hello")
    with pytest.raises(errors.InvalidInput, match=advice) as caught:
        deed(chat)
    assert "Ada" not in shown(caught.value)
    assert chat.head().version == 2


@each_refused
def test_what_is_refused_stores_nothing(deed: Step, advice: str) -> None:
    store = onrecord.connect("memory://")
    with pytest.raises(errors.OnrecordError):
        deed(store.conversation("support/4711"))
    assert list(store.conversations()) == []
    assert backend_of(store).sweep_blobs(2**62) == 0


@pytest.mark.parametrize("key", [5, None, "", " \t", b"support"])
def test_a_key_that_names_nothing_is_refused_at_once(key: Any) -> None:
    store = onrecord.connect("memory://")
    with pytest.raises(errors.InvalidContent, match="key"):
        store.conversation(key)
    with pytest.raises(errors.InvalidContent, match="key"):
        store.forget(key, **BECAUSE)


def test_a_document_needs_no_text() -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    chat.user(documents=[b"%PDF"])
    chat.user("", documents=[b"%PDF"])
    assert chat.head().exchange == 2


def test_a_document_of_the_users_has_a_harmless_name_and_the_usual_spelling_of_its_type() -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    given = Document(media_type="Image/PNG", name="../../a.png", url="https://example.com/a.png")
    chat.user(documents=[given])
    (held,) = chat.documents()
    assert (held.document.media_type, held.document.name) == ("image/png", "a.png")


def test_a_pipe_is_no_document(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    chat = onrecord.connect("memory://").conversation("support/4711")
    with pytest.raises(errors.InvalidContent, match="no regular file"):
        chat.user(documents=[tmp_path / "pipe"])


def test_a_value_of_the_wrong_kind_is_not_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        ToolResult.model_validate({"call_id": ("Ada",), "content": ["Ada"], "Ada": 1.5})
    assert "input_value" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        b'{"role":"user","content":[{"kind":"text","text":["Ada"]}]}',
        b'{"role":"user","content":[{"kind":"Ada","text":"a"}]}',
        b'{"role":"user","content":[],"Ada":1}',
        b'{"role":"user","content":["\xffAda"]}',
    ],
)
def test_a_damaged_body_is_not_shown(body: bytes) -> None:
    with pytest.raises(errors.CorruptRecord) as caught:
        encoding.decode("message.recorded", 1, body)
    assert "Ada" not in shown(caught.value)


@pytest.mark.parametrize("block", [b'{"kind":"Ada"}', b'{"kind":"text","text":["Ada"]}', b'"Ada"'])
def test_a_request_of_a_damaged_body_does_not_show_it(block: bytes) -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    known = stream_of(chat).draft(prompt())
    stream_of(chat).append_drafted(
        (known._replace(body=b'{"role":"user","content":[%s]}' % block),)
    )
    with pytest.raises(errors.CorruptRecord) as caught:
        chat.request("anthropic-messages")
    assert "Ada" not in shown(caught.value)


DAMAGED = '{"kind":"document","media_type":"image/png","url":"https://a.example/a.png","Ada":1}'
CALLED = (
    '{"response":"00000000-0000-0000-0000-000000000007","index":0,"call_id":"c1","name":"look",'
    '"content":{"kind":"native","api":"anthropic-messages",'
    '"value":{"type":"tool_use","id":"c1","name":"look","input":{}}}}'
)
CALL = ("tool_call.recorded", CALLED)
RESULT = (
    '{"call_id":"c1","content":{"kind":"tool_result","call_id":"c1",'
    '"content":[{"kind":"text","text":"See:"},%s]}}'
)


@pytest.mark.parametrize(
    "bodies",
    [
        [("document.extracted", f'{{"document":{DAMAGED}}}')],
        [CALL, ("tool_result.recorded", RESULT % DAMAGED)],
        [CALL, ("tool_result.recorded", RESULT % '{"kind":"text","text":["Ada"]}')],
        [
            CALL,
            ("tool_result.recorded", RESULT % '{"kind":"text","text":"here"}'),
            ("document.extracted", f'{{"document":{DAMAGED},"call_id":"c1","path":"/1"}}'),
            ("content.redacted", '{"version":5}'),
        ],
    ],
    ids=["document", "result", "text", "redacted"],
)
def test_a_damaged_document_or_text_is_an_error_of_ours(bodies: list[tuple[str, str]]) -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    chat.user("Look.")
    for name, body in bodies:
        known = stream_of(chat).draft(prompt())
        stream_of(chat).append_drafted((known._replace(type=name, body=body.encode()),))
    with pytest.raises(errors.CorruptRecord, match="does not have its shape") as caught:
        chat.request("anthropic-messages")
    assert "Ada" not in shown(caught.value)


def test_a_forked_conversation_is_not_begun_where_its_origin_is_not_there() -> None:
    store = onrecord.connect("memory://")
    with pytest.raises(errors.NothingToSend):
        store.conversation(str(uuid4())).fork("another")
    assert list(store.conversations()) == []


def test_a_document_of_another_conversation_is_refused_and_nothing_is_stored() -> None:
    store = onrecord.connect("memory://")
    store.conversation("one").user(documents=[b"%PDF"])
    (held,) = store.conversation("one").documents()
    deeds: tuple[Step, ...] = (
        lambda chat: chat.user("See:", documents=[b"new", held.document]),
        lambda chat: chat.tool_result("call_1", {"new": b"new", "it": held.document}),
        lambda chat: chat.signal({"it": held.document}),
        lambda chat: chat.signal("See:", documents=[held.document]),
    )
    for deed in deeds:
        with pytest.raises(errors.InvalidContent, match="not in this conversation"):
            deed(store.conversation("two"))
    assert backend_of(store).sweep_blobs(2**62) == 0


def test_a_document_of_the_conversation_itself_or_of_its_origin_is_taken() -> None:
    chat = onrecord.connect("memory://").conversation("one")
    chat.user(documents=[b"%PDF-1.7"])
    (held,) = chat.documents()
    chat.tool_result("call_1", {"it": held.document})
    fork = chat.fork("two")
    fork.user("See:", documents=[held.document])
    assert fork.request("anthropic-messages")
    assert {each.short_id for each in fork.documents()} == {held.short_id}
