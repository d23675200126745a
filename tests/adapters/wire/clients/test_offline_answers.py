"""An answer in hand is recorded once and whole, or not at all."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.domain.log import Verdict
from tests.adapters.every_spelling import EVERY
from tests.adapters.recorded_calls import GREETING, HELLO, Counting, Recorded, calling
from tests.adapters.recording.own_history import Spelling
from tests.adapters.wire.clients.offline_exchanges import (
    ANSWERED,
    API,
    MODEL,
    asked,
    body_of,
    message,
    pieces,
    prompted,
    texts,
    types,
)
from tests.contract.samples import BOTH, Sample


@pytest.fixture
def chat() -> onrecord.Conversation:
    return prompted()


# An answer is recorded once.


def test_the_same_answer_again_changes_nothing(chat: onrecord.Conversation) -> None:
    chat.request(API)
    chat.record_response(message("msg_1"), api=API)
    for request in (None, 4, asked(chat)):
        again = chat.record_response(message("msg_1"), api=API, request=request)
        assert again == onrecord.Duplicate(5, 6)
    respelled = json.dumps(message("msg_1"), indent=2).encode()
    assert chat.record_response(respelled, api=API) == onrecord.Duplicate(5, 6)
    assert types(chat) == ANSWERED


@pytest.mark.parametrize("name", ["\u00e9", 'a"b\\c', "\ud800", "\u2028", " "])
def test_an_id_may_be_any_text(chat: onrecord.Conversation, name: str) -> None:
    chat.request(API)
    chat.record_response(message(name), api=API)
    again = chat.record_response(message(name), api=API)
    assert again == onrecord.Duplicate(5, 6)


def test_the_same_answer_again_after_many_others_changes_nothing(
    chat: onrecord.Conversation,
) -> None:
    chat.request(API)
    chat.record_response(message("msg_1"), api=API)
    for number in range(300):
        chat.annotate({"number": str(number)})
    version = chat.head().version
    assert chat.record_response(message("msg_1"), api=API, request=4) == onrecord.Duplicate(5, 6)
    assert chat.head().version == version


def test_an_answer_that_crossed_the_wire_is_not_recorded_again(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    with calling(recorded, [GREETING]) as calls:
        answer = calls.ask(HELLO)
    version = recorded.chat.head().version
    again = recorded.chat.record_response(answer, api=API)
    assert isinstance(again, onrecord.Duplicate)
    assert again.last == version == recorded.chat.head().version


@pytest.mark.parametrize("other", [message("msg_1", "Other."), message("msg_1", "Hello.", "c")])
def test_another_answer_under_the_same_id_is_refused_and_not_lost_in_silence(
    chat: onrecord.Conversation, other: dict[str, Any]
) -> None:
    chat.request(API)
    chat.record_response(message("msg_1"), api=API)
    chat.user("And then?")
    chat.request(API)
    with pytest.raises(onrecord.IdempotencyMismatch, match="leave the id out"):
        chat.record_response(other, api=API)
    del other["id"]
    assert isinstance(chat.record_response(other, api=API), onrecord.Recorded)


def paying(call: str, arguments: dict[str, Any], tool: str = "pay") -> dict[str, Any]:
    answer = message("msg_1", "Hello.", call)
    answer["content"][1] |= {"name": tool, "input": arguments}
    return answer


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (paying("c", {"a": 1}), paying("c", {"a": 1000})),
        (paying("c", {"a": 1}), paying("d", {"a": 1})),
        (paying("c", {"a": 1}), paying("c", {"a": 1}, "refund")),
        (paying("c", {"a": "A" * 100_000}), paying("c", {"a": "B" * 100_000})),
        (message("msg_1", "A" * 3_000_000), message("msg_1", "B" * 3_000_000)),
        (message("msg_1", "A" * 3_000_000), message("msg_1", "A")),
        (message("msg_1", "A"), message("msg_1", "A" * 3_000_000)),
    ],
    ids=["arguments", "id", "tool", "long arguments", "long texts", "shorter", "longer"],
)
def test_what_a_call_is_given_and_every_letter_of_a_long_text_tell_answers_apart(
    chat: onrecord.Conversation, first: dict[str, Any], other: dict[str, Any]
) -> None:
    chat.request(API)
    chat.record_response(first, api=API)
    version = chat.head().version
    with pytest.raises(onrecord.IdempotencyMismatch, match="leave the id out"):
        chat.record_response(other, api=API)
    assert isinstance(chat.record_response(first, api=API), onrecord.Duplicate)
    assert chat.head().version == version


def test_arguments_in_another_order_are_the_same(chat: onrecord.Conversation) -> None:
    chat.request(API)
    chat.record_response(paying("c", {"a": 1, "b": "B" * 100_000}), api=API)
    again = chat.record_response(paying("c", {"b": "B" * 100_000, "a": 1}), api=API)
    assert isinstance(again, onrecord.Duplicate)


@pytest.mark.parametrize(("stream", "body"), BOTH, ids=str)
def test_an_answer_is_the_same_streamed_and_whole(stream: Sample, body: Sample) -> None:
    chat = prompted()
    asked_of = body_of(chat, body.api)
    given: dict[str, Any] = {"api": body.api, "request": asked_of, "model": MODEL}
    first = chat.record_response(body.data, **given)
    again = chat.record_response(stream.data, **given)
    recorded = [each.event() for each in chat.events(until=first.last)]
    has_id = any(getattr(event, "provider_id", None) for event in recorded)
    assert isinstance(again, onrecord.Duplicate if has_id else onrecord.Recorded)


UNNAMED: dict[str, Callable[[str], dict[str, Any]]] = {
    "ollama": lambda text: {
        "model": "m",
        "message": {"role": "assistant", "content": text},
        "done": True,
    },
    "bedrock-converse": lambda text: {
        "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    },
}


@pytest.mark.parametrize("api", UNNAMED)
@pytest.mark.parametrize("way", ["rendered", "recorded", "given"])
def test_an_answer_without_an_id_is_known_by_its_request(
    chat: onrecord.Conversation, api: str, way: str
) -> None:
    answer = UNNAMED[api]("Yes.")

    for number in (1, 2):
        chat.user(f"Is it {number}?")
        given: dict[str, Any] = {}
        if way == "recorded":
            chat.record_request(body_of(chat, api), api=api, model=MODEL)
        elif way == "given":
            given = {"request": body_of(chat, api)}
        else:
            chat.request(api)
        first = chat.record_response(answer, api=api, model=MODEL, **given)
        again = chat.record_response(answer, api=api, model=MODEL, **given)
        assert isinstance(first, onrecord.Recorded)
        assert isinstance(again, onrecord.Duplicate)
        assert again.last == first.last == chat.head().version
    assert texts(chat)[-3::2] == ["Yes.", "Yes."]


def test_an_answer_of_boto_is_known_by_the_id_of_its_call(chat: onrecord.Conversation) -> None:
    call = {"RequestId": "7", "HTTPStatusCode": 200}
    answer = {**UNNAMED["bedrock-converse"]("Yes."), "ResponseMetadata": call}
    chat.request("bedrock-converse")
    chat.record_response(answer, api="bedrock-converse", model=MODEL)
    closing = chat.events()[-1].event()
    assert isinstance(closing, onrecord.ResponseCompleted)
    assert closing.request_id == "7"
    assert "ResponseMetadata" not in closing.envelope
    again = chat.record_response(answer, api="bedrock-converse", model=MODEL)
    assert again == onrecord.Duplicate(5, 6)


# Answers that are not whole, or none, or in a line of a batch's results.


def in_batch(api: str, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """A line of results that has an answer, and one that has an error."""
    if api == API:
        failed = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}
        lines = [{"type": "succeeded", "message": answer}, {"type": "errored", "error": failed}]
        return [{"custom_id": "a", "result": line} for line in (*lines, {"type": "expired"})]
    if api == "gemini":
        return [{"key": "a", "response": answer}]
    said: dict[str, Any] = {"status_code": 200, "request_id": "r", "body": answer}
    refused: dict[str, Any] = {
        "status_code": 429,
        "request_id": "r",
        "body": {"error": {"message": "Busy"}},
    }
    return [
        {"id": "b", "custom_id": "a", "response": said, "error": None},
        {"id": "b", "custom_id": "a", "response": refused, "error": None},
        {"id": "b", "custom_id": "a", "response": None, "error": {"code": "batch_expired"}},
    ]


@pytest.mark.parametrize("spelling", [it for it in EVERY if it.api[:3] in ("ant", "ope", "gem")])
def test_a_line_of_a_batchs_results_is_the_answer_or_the_error_in_it(spelling: Spelling) -> None:
    chat = prompted()
    line, *failures = in_batch(spelling.api, spelling.answer("Said in a batch.", ()))
    sent = chat.record_request(body_of(chat, spelling.api), api=spelling.api, model=MODEL)
    for failure in failures:
        chat.record_response(json.dumps(failure), api=spelling.api, request=sent)
        assert isinstance(chat.events()[-1].event(), onrecord.AttemptFailed)
    chat.record_response(line, api=spelling.api, request=sent)
    assert texts(chat)[1:] == ["Said in a batch."]


def test_a_stream_that_broke_off_is_interrupted_and_the_whole_answer_takes_its_place(
    chat: onrecord.Conversation,
) -> None:
    chat.request(API)
    part = pieces("msg_1", "Hel")
    chat.record_response(part, api=API)
    assert types(chat) == ["request.sent", "response.interrupted"]
    assert texts(chat)[-1] == "Hel"
    assert isinstance(chat.record_response(part, api=API), onrecord.Duplicate)
    chat.request(API)
    chat.record_response(message("msg_1", "Hello.", "call_1"), api=API)
    assert texts(chat)[1:] == ["Hello."]
    assert [call.id for call in chat.open_calls()] == ["call_1"]
    version = chat.head().version
    for native in (part, message("msg_1", "Hello.", "call_1")):
        assert isinstance(chat.record_response(native, api=API), onrecord.Duplicate)
    assert chat.head().version == version


def test_a_part_that_the_conversation_went_on_from_stays(chat: onrecord.Conversation) -> None:
    chat.request(API)
    chat.record_response(pieces("msg_1", "Hel"), api=API)
    chat.user("Go on.")
    with pytest.raises(onrecord.IdempotencyMismatch, match="went on from that"):
        chat.record_response(message("msg_1", "Hello."), api=API)
    assert texts(chat) == ["What does the report say?", "Hel", "Go on."]


def test_an_answer_that_the_provider_goes_on_with_belongs_to_its_request(
    chat: onrecord.Conversation,
) -> None:
    api = "openai-responses"
    answer = EVERY[2].answer("Done.", ())
    queued: dict[str, Any] = {**answer, "status": "queued", "output": []}
    chat.request(api)
    chat.record_response(queued, api=api)
    chat.annotate({"seen": "yes"})
    assert isinstance(chat.record_response(queued, api=api), onrecord.Duplicate)
    chat.record_response(answer, api=api)
    assert texts(chat)[1:] == ["Done."]
    assert types(chat).count("request.sent") == 1


@pytest.mark.parametrize(
    ("native", "status"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}, None),
        ({"error": {"type": "overloaded_error", "message": "Busy"}, "trace": "x"}, None),
        ({"Error": {"Code": "Busy"}, "ResponseMetadata": {"HTTPStatusCode": 429}}, 429),
    ],
)
def test_the_body_of_an_error_is_a_failed_attempt_and_the_request_waits_on(
    chat: onrecord.Conversation, native: dict[str, Any], status: int | None
) -> None:
    chat.record_request(asked(chat), api=API)
    chat.record_response(native, api=API)
    failed = chat.events()[-1].event()
    assert isinstance(failed, onrecord.AttemptFailed)
    assert failed.status == status
    assert chat.next_input() == "ready"
    chat.record_response(message("msg_1"), api=API)
    assert texts(chat)[1:] == ["Hello."]


# Faults.


def test_what_the_store_cannot_take_is_raised_and_can_be_given_again(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    chat = recorded.chat
    chat.user("Hello")
    chat.request(API)
    long = message("msg_1", "A" * 300_000)
    recorded.counting.broken = onrecord.StorageFull("no space left")
    with pytest.raises(onrecord.StorageFull):
        chat.record_response(long, api=API)
    recorded.counting.broken = None
    recorded.spool.settle(recorded.store)  # Nothing waits there.
    assert chat.head().version == 2
    assert chat.record_response(long, api=API) == onrecord.Recorded(3, 5, 5)
    assert chat.history()[-1].text == "A" * 300_000


class LostReplies(Counting):
    """A store whose replies to what it records are lost while it is `silent`."""

    silent = False

    def append(self, appends: Any) -> list[Verdict]:
        verdicts = super().append(appends)
        if self.silent and isinstance(verdicts[0], onrecord.Recorded):
            raise onrecord.StorageUnavailable("the connection is gone")
        return verdicts


@pytest.mark.parametrize("api", [API, *UNNAMED])
def test_an_answer_whose_commit_was_not_heard_of_can_be_given_again(
    tmp_path: Path, api: str
) -> None:
    store = LostReplies()
    chat = Recorded(tmp_path, store).chat
    answer = message("msg_1", "Yes.") if api == API else UNNAMED[api]("Yes.")
    chat.user("Is it?")
    chat.request(api)
    store.silent = True
    with pytest.raises(onrecord.StorageUnavailable):
        chat.record_response(answer, api=api, model=MODEL)
    store.silent = False
    again = chat.record_response(answer, api=api, model=MODEL)
    assert isinstance(again, onrecord.Duplicate)
    assert texts(chat) == ["Is it?", "Yes."]
    assert types(chat) == ANSWERED[1:]


class LosingEvents(Counting):
    """A store that reads no events while it is `lossy`, though it knows their ids."""

    lossy = False

    def read(self, *args: Any, **kwargs: Any) -> Iterator[onrecord.RecordedEvent]:
        return iter(()) if self.lossy else super().read(*args, **kwargs)


def test_an_answer_whose_events_are_lost_is_no_duplicate(tmp_path: Path) -> None:
    store = LosingEvents()
    chat = Recorded(tmp_path, store).chat
    chat.user("Hello")
    chat.request(API)
    chat.record_response(message("msg_1"), api=API)
    store.lossy = True
    with pytest.raises(onrecord.errors.CorruptRecord, match="restore a backup"):
        chat.record_response(message("msg_1"), api=API)


def test_a_stream_that_raises_records_nothing(chat: onrecord.Conversation) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield from pieces("msg_1", "Hel")
        raise ConnectionError("gone")

    chat.request(API)
    with pytest.raises(ConnectionError):
        chat.record_response(broken(), api=API)
    assert chat.head().version == 3


def test_an_ended_conversation_takes_no_answer(chat: onrecord.Conversation) -> None:
    chat.request(API)
    chat.end()
    with pytest.raises(onrecord.ConversationClosed):
        chat.record_response(message("msg_1"), api=API)


def test_a_forgotten_conversation_takes_no_answer() -> None:
    store = onrecord.connect("memory://")
    chat = store.conversation("talk")
    chat.user("Hello")
    chat.request(API)
    store.forget("talk", reason="asked to", actor="ana")
    with pytest.raises(onrecord.OnrecordError):
        chat.record_response(message("msg_1"), api=API)
    assert b"Hello." not in b"".join(each.body or b"" for each in chat.events())
