"""Whatever people say in whatever order: each thing led to one request, the next one that was made."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import onrecord

NAMES = ("ana", "bob", "cleo")
SAID = st.tuples(st.sampled_from(("user", "signal")), st.sampled_from(NAMES))
STEPS = st.lists(st.one_of(SAID, st.just(("ask", "agent"))), min_size=1, max_size=12)


def asked(chat: onrecord.Conversation, number: int) -> None:
    body: dict[str, Any] = {"model": "gpt-5", **chat.request("openai-chat")}
    sent = chat.record_request(body, api="openai-chat")
    message = {"role": "assistant", "content": f"Answer {number}", "refusal": None}
    native: Any = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1767225600,
        "model": "gpt-5",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    chat.record_response(native, api="openai-chat", request=sent)


@settings(deadline=None, max_examples=60)
@given(STEPS)
def test_each_thing_that_was_said_is_new_to_the_next_request_alone(
    steps: list[tuple[str, str]],
) -> None:
    store = onrecord.connect("memory://")
    chat = store.conversation("talk", actor="agent")
    waiting, expected = list[tuple[str, str]](), list[list[tuple[str, str]]]()
    for number, (step, name) in enumerate(steps):
        actor = store.conversation("talk", actor=name)
        if step == "user":
            actor.user(f"{name} {number}")
            waiting.append(("prompt", f"{name} {number}"))
        elif step == "signal":
            actor.signal(f"{name} {number}")
            waiting.append(("signal", f"{name} {number}"))
        elif waiting:
            asked(chat, number)
            expected.append(waiting)
            waiting = []
            explanation = chat.why(chat.head().version, to_start=True)
            told = [
                [(cause.kind, cause.text) for cause in request.causes]
                for request in explanation.requests
            ]
            assert told[::-1] == expected
            assert all(cause.text.startswith(cause.who) for cause in explanation.causes)
            assert explanation.is_exact
