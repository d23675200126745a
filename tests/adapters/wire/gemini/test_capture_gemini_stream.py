"""What Gemini streams is put together as it would have come at once; where it ends, and how."""

import json
from typing import Any

import pytest

from tests.adapters.wire.gemini.gemini_streams import (
    blocks,
    body,
    events,
    fed,
    odd,
    read,
    unfinished,
)
from tests.gemini_wire import (
    JsonObject,
    answer,
    call,
    candidate,
    chunks,
    event,
    failure,
    said,
    signed,
    streamed,
    text,
    thought,
)


class TestParts:
    def test_texts_go_on_over_chunks(self) -> None:
        assert blocks(read([text("Hel")], [text("lo"), text("!")])) == [text("Hello"), text("!")]

    def test_texts_of_one_chunk_are_parts_of_their_own(self) -> None:
        assert blocks(read([text("a"), text("b")])) == [text("a"), text("b")]

    def test_a_thought_and_a_text_are_never_one(self) -> None:
        told = read([thought("Hm")], [thought("m.")], [text("Yes")], [text(".")])
        assert blocks(told) == [thought("Hmm."), text("Yes.")]

    def test_a_signed_part_is_never_joined(self) -> None:
        told = read([text("a")], [signed(text("b"))], [text("c")], [signed(text(""))])
        assert blocks(told) == [text("a"), signed(text("b")), text("c"), signed(text(""))]

    def test_an_empty_text_that_is_signed_at_the_end_is_a_part(self) -> None:
        told = read([call()], [signed(text(""))])
        assert blocks(told) == [call(), signed(text(""))]

    def test_an_empty_text_without_more_goes_on_with_a_text_and_else_stays(self) -> None:
        assert blocks(read([text("a")], [text("")])) == [text("a")]
        assert blocks(read([call()], [text("")])) == [call(), text("")]

    def test_halves_of_a_character_become_one(self) -> None:
        assert blocks(read([text("\ud83d")], [text("\ude00")])) == [text("\U0001f600")]

    def test_parts_that_are_alike_but_no_texts_stay_apart(self) -> None:
        assert len(blocks(read([call()], [call()]))) == 2

    def test_a_chunk_without_content_and_one_without_parts_add_nothing(self) -> None:
        wire = event(said(text("a"), stop=None))
        wire += event(answer({"content": {"role": "model"}, "index": 0}))
        told = fed(wire + event(answer({"finishReason": "STOP", "index": 0}))).finish()
        assert (blocks(told), odd(told), told.stop_reason) == ([text("a")], [], "STOP")


def piece(path: str, **more: Any) -> JsonObject:
    return {"jsonPath": path, **more}


def calling(*pieces: JsonObject, more: bool = True, **members: Any) -> JsonObject:
    """The part of a call of which the arguments come in pieces."""
    told: JsonObject = {"partialArgs": list(pieces)} if pieces else {}
    return {"functionCall": {**members, **told, **({"willContinue": True} if more else {})}}


class TestCallsInPieces:
    def test_pieces_become_the_arguments_that_a_body_would_have(self) -> None:
        told = read(
            [signed(calling(name="write", id="c1"))],
            [calling(piece("$.items[0].name", stringValue="Ap", willContinue=True))],
            [calling(piece("$.items[0].name", stringValue="ple"))],
            [calling(piece("$.items[0].price", numberValue=0.5))],
            [
                calling(
                    piece("$.items[1].ok", boolValue=False),
                    piece("$['a b']", nullValue="NULL_VALUE"),
                )
            ],
            [calling(more=False)],
        )
        args = {"items": [{"name": "Apple", "price": 0.5}, {"ok": False}], "a b": None}
        assert blocks(told) == [
            signed({"functionCall": {"name": "write", "id": "c1", "args": args}})
        ]
        assert (odd(told), told.awaits_results) == ([], True)

    def test_the_last_piece_may_end_the_call_too(self) -> None:
        told = read(
            [calling(name="a")], [calling(piece("$.x", numberValue=1), more=False)], [call("b")]
        )
        assert blocks(told) == [{"functionCall": {"name": "a", "args": {"x": 1}}}, call("b")]

    def test_a_call_without_pieces_has_no_arguments(self) -> None:
        told = read([calling(name="a")], [{"functionCall": {}}])
        assert blocks(told) == [{"functionCall": {"name": "a"}}]

    def test_the_next_call_ends_the_one_before(self) -> None:
        told = read([calling(name="a")], [calling(name="b")], [{"functionCall": {}}], [text("")])
        assert [block.get("functionCall") for block in blocks(told)] == [
            {"name": "a"},
            {"name": "b"},
            None,
        ]

    def test_a_call_that_is_amid_its_pieces_at_the_end_is_unfinished_unless_it_stopped(
        self,
    ) -> None:
        pieces = [[calling(name="a")], [calling(piece("$.x", stringValue="y", willContinue=True))]]
        whole = {"functionCall": {"name": "a", "args": {"x": "y"}}}
        cut = read(*pieces, stop="MAX_TOKENS")
        assert (blocks(cut), unfinished(cut), cut.awaits_results) == ([], [whole], False)
        assert blocks(read(*pieces)) == [whole]

    def test_halves_of_a_character_in_pieces_become_one(self) -> None:
        halves = [
            [calling(piece("$.x", stringValue=half, willContinue=True))]
            for half in ("\ud83d", "\ude00")
        ]
        told = read([calling(name="a")], *halves, [{"functionCall": {}}])
        assert blocks(told) == [{"functionCall": {"name": "a", "args": {"x": "\U0001f600"}}}]

    @pytest.mark.parametrize(
        "odd_piece",
        [
            {"jsonPath": "x", "stringValue": "a"},
            {"jsonPath": "$", "stringValue": "a"},
            {"jsonPath": "$.x[7]", "stringValue": "a"},
            {"jsonPath": "$.x..y", "stringValue": "a"},
            {"jsonPath": "$" + ".x" * 500, "stringValue": "a"},
            {"jsonPath": "$.x"},
            {"jsonPath": "$.x", "stringValue": "a", "numberValue": 1},
            {"jsonPath": "$.x", "stringValue": "a", "hint": "b"},
            {"stringValue": "a"},
        ],
    )
    def test_a_piece_that_is_not_understood_is_noted(self, odd_piece: JsonObject) -> None:
        told = read([calling(name="a")], [calling(odd_piece)], [{"functionCall": {}}])
        assert odd(told) == ["a content with an odd partialArgs"]
        assert told.needs_raw

    def test_a_value_that_was_another_before_is_noted(self) -> None:
        pieces = [calling(piece("$.x", stringValue="a")), calling(piece("$.x", stringValue="b"))]
        told = read([calling(name="a")], *([one] for one in pieces), [{"functionCall": {}}])
        assert odd(told) == ["a content with an odd partialArgs"]


class TestMembers:
    def test_the_last_of_each_member_stays(self) -> None:
        first = answer(candidate(text("a"), stop=None, tokenCount=1), createTime="then")
        last = said(text("b"), avgLogprobs=-0.5)
        told = fed(event(first) + event(last)).finish()
        assert told.envelope == {
            **{name: value for name, value in last.items() if name != "candidates"},
            "candidates": [
                {"index": 0, "tokenCount": 1, "finishReason": "STOP", "avgLogprobs": -0.5}
            ],
            "createTime": "then",
        }
        assert odd(told) == []

    def test_a_member_that_says_less_than_before_is_noted(self) -> None:
        first, last = said(text("a"), stop=None), said(text("b"))
        told = fed(event({**first, "responseId": "other"}) + event(last)).finish()
        assert odd(told) == ["more than one value of responseId"]

    def test_a_list_that_grew_is_one_value(self) -> None:
        cited = [{"uri": "https://a"}, {"uri": "https://b"}]
        first = said(text("a"), stop=None, citationMetadata={"citations": cited[:1]})
        last = said(text("b"), citationMetadata={"citations": cited})
        assert odd(fed(event(first) + event(last)).finish()) == []

    def test_grounding_stays_out_of_the_envelope_unless_it_says_nothing(self) -> None:
        told = read([text("a")])
        empty = fed(event(said(text("a"), groundingMetadata={}))).finish()
        assert empty.envelope["candidates"][0]["groundingMetadata"] == {}
        assert blocks(empty) == blocks(told)


class TestEnd:
    def test_a_stream_is_complete_once_it_said_why_it_finished(self) -> None:
        assert read([text("a")]).is_complete
        cut = read([text("a")], [text("b")], stop=None)
        assert (cut.interruption, blocks(cut), unfinished(cut)) == ("cut", [], [text("ab")])

    def test_calls_of_a_stream_that_broke_off_came_whole_but_are_not_awaited(self) -> None:
        cut = read([call()], [text("b")], stop=None)
        assert (blocks(cut), unfinished(cut), cut.awaits_results) == ([call()], [text("b")], False)

    def test_what_follows_a_reason_to_finish_is_read(self) -> None:
        wire = event(said(text("a"))) + event(said(text("b"))) + event(said(call()))
        assert blocks(fed(wire).finish()) == [text("ab"), call()]

    def test_a_stream_does_not_say_that_it_is_over_but_that_it_may_be(self) -> None:
        stream = fed(event(said(text("a"), stop=None)))
        found = [stream.endings]
        for said_last in ("b", "c"):
            assert not stream.feed(event(said(text(said_last))))
            found.append(stream.endings)
        assert found == [0, 2, 3]

    def test_an_unspecified_reason_is_none(self) -> None:
        told = fed(streamed([text("a")], stop="FINISH_REASON_UNSPECIFIED")).finish()
        assert (told.interruption, told.stop_reason) == ("cut", None)

    def test_an_abandoned_stream_is_complete_where_it_said_why_it_finished(self) -> None:
        assert fed(streamed([text("a")])).finish("abandoned").is_complete
        assert fed(streamed([text("a")], stop=None)).finish("abandoned").interruption == "abandoned"

    def test_an_event_that_broke_off_behind_the_end_is_kept(self) -> None:
        told = fed(streamed([text("a")]) + b"data: {").finish()
        assert (told.is_complete, told.needs_raw) == (True, True)

    def test_a_blocked_prompt_is_an_answer_of_no_block(self) -> None:
        blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "responseId": "r"}
        for told in (fed(event(blocked)).finish(), body(blocked)):
            assert (told.is_complete, told.stop_reason) == (True, "PROHIBITED_CONTENT")
            assert (told.blocks, told.provider_id, odd(told)) == ((), "r", [])

    def test_other_candidates_are_alternatives(self) -> None:
        both = answer(candidate(text("a")), candidate(call(), index=1, stop="SAFETY"))
        for told in (fed(event(both)).finish(), body(both)):
            (other,) = told.alternatives
            assert (blocks(told), blocks(other)) == ([text("a")], [call()])
            assert (told.stop_reason, other.stop_reason) == ("STOP", "SAFETY")

    def test_a_stream_is_over_when_all_candidates_are(self) -> None:
        both = answer(candidate(text("a")), candidate(text("b"), index=1, stop=None))
        told = fed(event(both)).finish()
        assert (told.interruption, blocks(told)) == ("cut", [text("a")])
        assert [unfinished(other) for other in told.alternatives] == [[text("b")]]


class TestErrors:
    ERROR = failure()

    def test_an_error_event_ends_the_stream(self) -> None:
        stream = fed(streamed([call()], [text("b")], stop=None))
        assert stream.feed(event(self.ERROR))
        told = stream.finish()
        assert (told.interruption, told.error) == ("error", self.ERROR["error"])
        assert (blocks(told), unfinished(told), told.awaits_results) == (
            [call()],
            [text("b")],
            False,
        )

    @pytest.mark.parametrize("indent", [None, 2])
    @pytest.mark.parametrize("end", ["", "\n", "\r\n\r\n"])
    @pytest.mark.parametrize("listed", [False, True])
    def test_an_error_in_lines_that_are_no_event_is_one(
        self, indent: int | None, end: str, listed: bool
    ) -> None:
        spelled = json.dumps([self.ERROR] if listed else self.ERROR, indent=indent)
        stray = (spelled + end).encode()
        wire = streamed([text("a")], stop=None) + stray
        for size in (1, 7, 64, len(wire)):
            told = fed(*chunks(wire, [size])).finish()
            assert (told.interruption, told.error) == ("error", self.ERROR["error"])

    def test_an_error_in_a_body_is_one_whatever_its_status(self) -> None:
        assert body(self.ERROR).interruption == "error"
        assert body([said(text("a"), stop=None), self.ERROR]).interruption == "error"

    def test_an_event_that_cannot_be_read_makes_the_stream_malformed(self) -> None:
        told = fed(
            streamed([text("a")], stop=None) + b"data: {]\n\n" + streamed([text("b")])
        ).finish()
        assert (told.interruption, unfinished(told)) == ("malformed", [text("a")])
        assert odd(told) == [
            "an event that cannot be read",
            "an event after one that cannot be read",
        ]


class TestLists:
    def test_a_list_of_chunks_says_the_same_as_their_stream(self) -> None:
        chunks = [said(text("a"), stop=None), said(text("b"), call(), stop=None), said(text("c"))]
        assert body(chunks) == fed(b"".join(map(event, chunks))).finish()

    def test_a_list_that_broke_off_is_malformed(self) -> None:
        assert body([]).interruption == "malformed"
        assert body(["a"]).interruption == "malformed"

    def test_a_body_that_does_not_say_why_it_finished_is_complete_but_odd(self) -> None:
        told = body(said(text("a"), stop=None))
        assert (told.is_complete, odd(told)) == (True, ["a candidate without a finish reason"])


def test_a_hop_of_a_continued_answer_is_a_response_with_its_token() -> None:
    hop = read([text("a")], stop="CONTINUATION")
    told = fed(event(said(text("a"), stop="CONTINUATION", continuationToken="Abc-_="))).finish()
    assert (hop.is_complete, hop.stop_reason) == (True, "CONTINUATION")
    assert told.envelope["candidates"][0]["continuationToken"] == "Abc-_="
    assert [event.index for event in events(told)] == [0]
