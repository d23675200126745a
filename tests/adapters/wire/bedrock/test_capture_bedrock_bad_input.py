"""Streams of Bedrock's Converse API that are not as they should be: what stays, and what is noted."""

import pytest

from tests.adapters.wire.bedrock.bedrock_streams import (
    METADATA,
    START,
    answered,
    blocks,
    delta,
    fed,
    odd,
    read,
    start,
    stop,
    stopped,
)
from tests.bedrock_wire import (
    USAGE,
    JsonObject,
    events,
    frame,
    text,
)

TOOL = {"toolUse": {"toolUseId": "tooluse_1", "name": "look"}}


class TestOddities:
    def test_an_event_of_an_unknown_kind_is_noted(self) -> None:
        answer = answered(START, {"weatherReport": {"rain": True}}, stopped(), METADATA)
        assert odd(answer) == ["an event of unknown type weatherReport"]
        assert answer.anomalies[0].raw == b'{"rain":true}'
        assert answer.is_complete

    def test_a_block_of_an_unknown_kind_is_kept(self) -> None:
        answer = read(start(0, {"hologram": {"depth": 3}}), stop(0))
        assert blocks(answer) == [{"hologram": {"depth": 3}}]
        assert odd(answer) == []

    def test_a_delta_of_an_unknown_kind_is_noted(self) -> None:
        answer = read(delta(0, text="Hi"), delta(0, smell={"of": "tar"}), stop(0))
        assert blocks(answer) == [text("Hi")]
        assert odd(answer) == ["a delta of smell that does not fit its block"]

    def test_a_block_that_only_unknown_deltas_made_is_noted(self) -> None:
        answer = read(delta(0, smell={"of": "tar"}), stop(0), delta(1, text="Hi"), stop(1))
        assert blocks(answer) == [text("Hi")]
        assert odd(answer) == [
            "a delta of unknown kind smell",
            "a contentBlockStop of no open block",
            "no block at index 0",
        ]

    @pytest.mark.parametrize(
        ("opened", "told"),
        [
            (TOOL, {"toolUse": {"input": 5}}),
            (TOOL, {"toolUse": {"input": "{}", "more": 1}}),
            (TOOL, {"text": "Hi"}),
            ({"toolResult": {"toolUseId": "t"}}, {"toolResult": "Hi"}),
            ({"image": {"format": "png"}}, {"image": {"format": "gif"}}),
            ({"image": {"format": "png"}}, {"text": "Hi"}),
            ({"hologram": {}}, {"hologram": {}}),
        ],
    )
    def test_a_delta_that_does_not_fit_leaves_its_block_as_it_was(
        self, opened: JsonObject, told: JsonObject
    ) -> None:
        plain = read(start(0, opened), stop(0), stop_reason="tool_use")
        answer = read(start(0, opened), delta(0, **told), stop(0), stop_reason="tool_use")
        assert blocks(answer) == blocks(plain)
        assert odd(answer) == [f"a delta of {next(iter(told))} that does not fit its block"]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ({"text": "Hm."}, {"redactedContent": "YQ=="}),
            ({"redactedContent": "YQ=="}, {"text": "Hm."}),
            ({"redactedContent": "YQ=="}, {"signature": "c2ln"}),
            ({"text": "Hm."}, {"mood": "gloomy"}),
            ({"text": "Hm."}, {"text": 5}),
        ],
    )
    def test_reasoning_is_plain_or_encrypted(self, first: JsonObject, second: JsonObject) -> None:
        alone = read(delta(0, reasoningContent=first), stop(0))
        both = read(delta(0, reasoningContent=first), delta(0, reasoningContent=second), stop(0))
        assert blocks(both) == blocks(alone)
        assert odd(both) == ["a delta of reasoningContent that does not fit its block"]

    def test_members_that_nobody_knows_of_an_event_are_noted_once(self) -> None:
        first = delta(0, text="Hi")
        first["contentBlockDelta"]["mood"] = "glad"
        answer = read(first, first, stop(0))
        assert blocks(answer) == [text("HiHi")]
        assert odd(answer) == ["an unknown member mood of an event"]

    def test_a_member_that_is_told_twice_and_not_alike_is_noted(self) -> None:
        other: JsonObject = {"metadata": {"usage": {"inputTokens": 1}}}
        answer = answered(START, METADATA, METADATA, other, stopped())
        assert answer.envelope["usage"] == USAGE
        assert odd(answer) == ["more than one value of usage"]

    def test_a_second_start_before_anything_is_noted(self) -> None:
        answer = answered(START, START, delta(0, text="Hi"), stop(0), stopped(), METADATA)
        assert (blocks(answer), odd(answer)) == ([text("Hi")], ["a second messageStart"])
        assert answer.is_complete

    def test_a_start_of_another_message_ends_what_is_known(self) -> None:
        answer = answered(START, delta(0, text="Hi"), START, delta(0, text="Ho"), stopped())
        assert answer.interruption == "malformed"
        assert [one.partial for one in answer.unfinished] == ["Hi"]

    @pytest.mark.parametrize(
        "told", [start(-1, TOOL), {"contentBlockStart": {"start": TOOL}}, start(0, TOOL)]
    )
    def test_a_start_out_of_place_ends_what_is_known(self, told: JsonObject) -> None:
        assert read(start(0, TOOL), told, stop(0)).interruption == "malformed"

    @pytest.mark.parametrize(
        "told", [delta(0, text="!"), delta(-1, text="!"), {"contentBlockDelta": {}}, stop(0)]
    )
    def test_what_belongs_to_no_open_block_is_noted(self, told: JsonObject) -> None:
        answer = read(delta(0, text="Hi"), stop(0), told)
        assert blocks(answer) == [text("Hi")]
        assert len(odd(answer)) == 1
        assert answer.is_complete

    def test_a_frame_after_the_last_one_is_noted(self) -> None:
        answer = answered(START, stopped(), METADATA, START)
        assert (answer.is_complete, odd(answer)) == (True, ["a frame after the last one"])

    def test_a_second_stop_is_noted(self) -> None:
        answer = answered(START, stopped("end_turn"), stopped("tool_use"), METADATA)
        assert (answer.stop_reason, odd(answer)) == ("end_turn", ["a second messageStop"])

    def test_a_stop_without_a_reason_is_noted(self) -> None:
        answer = answered(START, {"messageStop": {}}, METADATA)
        assert odd(answer) == ["a messageStop without a stop reason"]

    def test_an_event_that_is_no_json_is_malformed(self) -> None:
        broken = frame({":message-type": "event", ":event-type": "messageStop"}, b"stop")
        answer = fed(events(START, delta(0, text="Hi"), stop(0)), broken, events(METADATA)).finish()
        assert answer.interruption == "malformed"
        assert blocks(answer) == [text("Hi")]

    def test_a_damaged_frame_keeps_what_came_before_it(self) -> None:
        damaged = bytearray(events(stopped()))
        damaged[-9] ^= 1
        stream = fed(events(START, delta(0, text="Hi"), stop(0)), bytes(damaged), events(METADATA))
        answer = stream.finish()
        assert answer.interruption == "malformed"
        assert answer.detail == "the checksum of a frame does not hold"
        assert blocks(answer) == [text("Hi")]
        assert answer.anomalies[0].raw.startswith(bytes(damaged))

    @pytest.mark.parametrize("damaged", [True, False])
    def test_an_answer_that_stopped_is_whole_whatever_follows(self, damaged: bool) -> None:
        last = bytearray(events(METADATA))
        last[-9] ^= damaged
        odd_one = bytes(last) if damaged else frame({":event-type": "metadata"}, b"{")
        stream = fed(events(START, delta(0, text="Hi"), stop(0), stopped()), odd_one, b"more")
        answer = stream.finish()
        assert (answer.is_complete, answer.needs_raw) == (True, True)
        # What follows a frame that can be read is a frame that broke off.
        assert len(odd(answer)) == (1 if damaged else 2)
