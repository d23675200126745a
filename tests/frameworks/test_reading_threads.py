"""A thread of LangGraph goes on at each API, as it stands at its latest checkpoint."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

import onrecord
from onrecord.adapters.store import Store
from onrecord.frameworks.langgraph import OnrecordSaver
from tests.frameworks.test_reading_across import must_go_on_everywhere
from tests.frameworks.threads import Chat, config, graph_of, prompt, put, values_of

PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)


def tracked(state: Chat) -> Any:
    if len(state["messages"]) > 2:
        return {"messages": [AIMessage("Yes.")]}
    call: Any = {"id": "call_1", "name": "track", "args": {"parcel": "NW-1"}}
    return {
        "messages": [
            AIMessage("Let me look.", tool_calls=[call]),
            ToolMessage("in depot North", tool_call_id="call_1"),
            AIMessage("In depot North."),
        ]
    }


def conversation_of(store: Store) -> onrecord.Conversation:
    return store.conversation(OnrecordSaver(store).conversation_key("one"))


def texts(conversation: onrecord.Conversation) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in conversation.history() if turn.text]


def test_a_thread_goes_on_everywhere(store: Store) -> None:
    app = graph_of(OnrecordSaver(store), tracked)
    app.invoke({"messages": [SystemMessage("Be short."), HumanMessage("Where is it?")]}, config())
    shown = {"type": "image", "base64": PICTURE, "mime_type": "image/png"}
    app.invoke(
        {"messages": [HumanMessage([{"type": "text", "text": "Is this it?"}, shown])]}, config()
    )
    app.invoke(prompt("And NW-2?"), config())
    conversation = conversation_of(store)
    must_go_on_everywhere(
        conversation,
        *("Be short.", "Where is it?", "Let me look.", "track", "NW-1", "in depot North"),
        *("In depot North.", "Is this it?", "Yes.", "And NW-2?"),
    )
    assert PICTURE in str(conversation.request("anthropic-messages").body)


def test_a_thread_that_was_pruned_or_deleted_is_told_as_langgraph_has_it(store: Store) -> None:
    saver = OnrecordSaver(store)
    app = graph_of(saver)
    for text in ("one", "two"):
        app.invoke(prompt(text), config())
    told = [
        (each.type.replace("human", "user").replace("ai", "assistant"), each.content)
        for each in app.get_state(config()).values["messages"]
    ]
    conversation = conversation_of(store)
    assert texts(conversation) == told
    saver.prune(["one"])
    assert texts(conversation) == told
    saver.delete_thread("one")
    assert texts(conversation) == []


def test_a_message_that_is_redacted_where_it_was_written_is_in_no_request(store: Store) -> None:
    secret = "The key of depot North is under the third stone from the left. " * 4

    messages = [
        HumanMessage("one", id="one"),
        AIMessage(secret, id="a1"),
        HumanMessage("two", id="two"),
        AIMessage("Yes.", id="a3"),
    ]
    # A graph puts writes by other threads: the checkpoint of a quick step may come before its write.
    saver = OnrecordSaver(store)
    put(saver, 1, {"messages": []})
    for number, message in enumerate(messages, start=1):
        saver.put_writes(config(at=f"{number:04}"), [("messages", [message])], f"task {number}")
        put(saver, number + 1, {"messages": messages[:number]}, parent=number)
    conversation = conversation_of(store)
    (written,) = (
        event.version for event in conversation.log.read() if secret in str(event.event())
    )
    conversation.redact(written)
    assert texts(conversation) == [("user", "one\ntwo"), ("assistant", "Yes.")]
    request = conversation.request("openai-chat")
    assert secret not in str(request.body)
    assert "a message that was redacted" in {note.why for note in request.report}
    assert values_of(saver.get_tuple(config())) == {"messages": messages}


def test_a_message_that_is_redacted_where_it_is_told_is_in_no_request(store: Store) -> None:
    app = graph_of(OnrecordSaver(store))
    app.invoke(prompt("one"), config())
    app.invoke(prompt("two"), config())
    conversation = conversation_of(store)
    told = next(turn for turn in conversation.history() if turn.text == "answer 1")
    conversation.redact(told.blocks[0].version)
    assert texts(conversation) == [("user", "one\ntwo"), ("assistant", "answer 3")]
    assert "answer 1" not in str(conversation.request("openai-chat").body)


def test_a_thread_is_told_from_the_checkpoint_that_it_went_on_from(store: Store) -> None:
    saver = OnrecordSaver(store)
    app = graph_of(saver)
    app.invoke(prompt("one"), config())
    before = app.get_state(config()).config
    app.invoke(prompt("two"), config())
    app.invoke(prompt("three"), before)
    said = [text for role, text in texts(conversation_of(store)) if role == "user"]
    assert said == ["one", "three"]
