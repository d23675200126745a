"""A stream of the Responses API is put together by output index, and nothing of it is guessed."""

import pytest

from onrecord.adapters.wire.openai_responses.answers import VARIANTS
from tests.adapters.wire.openai_responses.openai_responses_streams import (
    added,
    answered,
    around,
    done,
    fed,
    odd,
    told,
    values,
)
from tests.openai_responses_wire import (
    JsonObject,
    call,
    event,
    item_events,
    message,
    numbered,
    reasoning,
    response,
    stream_events,
)


def test_the_done_item_is_the_block_and_the_other_tellings_are_kept_beside() -> None:
    said = reasoning()
    begun: JsonObject = {**said, "encrypted_content": "gAAAAA-added", "summary": []}
    final = {**said, "encrypted_content": "gAAAAA-final"}
    answer = answered(around(added(0, begun), done(0, said), output=[final]))
    assert values(answer) == [said]
    assert answer.envelope[VARIANTS] == {
        "0": {
            "added": {"encrypted_content": "gAAAAA-added"},
            "final": {"encrypted_content": "gAAAAA-final"},
        }
    }


def test_an_item_that_is_told_the_same_each_time_has_no_other_telling() -> None:
    said = call()
    answer = answered(around(added(0, {**said, "arguments": ""}), done(0, said), output=[said]))
    assert VARIANTS not in answer.envelope


@pytest.mark.parametrize("output", [[], None])
def test_a_final_response_without_output_loses_nothing(output: list[JsonObject] | None) -> None:
    answer = answered(around(*item_events(0, call()), output=output))
    assert values(answer) == [call()]
    assert answer.is_complete
    assert answer.awaits_results
    assert not answer.needs_raw


def test_an_item_that_only_the_final_response_has_is_taken_from_there() -> None:
    listing: JsonObject = {
        "id": "mcpl_1",
        "type": "mcp_list_tools",
        "server_label": "docs",
        "tools": [],
    }
    answer = answered(
        around(
            added(0, {**listing, "tools": None}),
            *item_events(1, message()),
            output=[listing, message()],
        )
    )
    assert values(answer) == [listing, message()]
    assert (answer.is_complete, answer.unfinished) == (True, ())


def test_an_item_is_known_by_its_id_where_its_place_in_the_final_response_is_another() -> None:
    first, second = message("one", number=1), message("two", number=2)
    answer = answered(
        around(*item_events(0, first), *item_events(2, second), output=[first, second])
    )
    assert [(block.index, block.value) for block in answer.blocks] == [(0, first), (2, second)]
    assert odd(answer) == ["no item at 1 of the indexes, 1 the first of them"]


def test_ids_that_change_within_a_stream_part_no_item() -> None:
    begun, said = call(1, call_id="call_added", id="fc_a"), call(1, id="fc_b")
    final = call(1, id="fc_c")
    answer = answered(
        around(
            added(0, begun),
            told(0, "function_call_arguments.delta", item_id="fc_x", delta=said["arguments"]),
            done(0, said),
            output=[final],
        )
    )
    assert values(answer) == [said]
    assert answer.envelope[VARIANTS] == {
        "0": {"added": {"call_id": "call_added", "id": "fc_a"}, "final": {"id": "fc_c"}}
    }
    assert odd(answer) == []


def test_a_response_id_that_changes_is_noted_and_the_last_one_is_its_id() -> None:
    first, *rest = stream_events(response(message()))
    first["response"] = {**first["response"], "id": "resp_other"}
    answer = answered([first, *rest])
    assert answer.text("id") == "resp_01"
    assert odd(answer) == ["the response's id changes amid the stream"]
    assert answer.is_complete


def test_an_item_of_the_final_response_whose_place_is_taken_follows_the_one_before() -> None:
    answer = answered(
        around(*item_events(0, call(1)), *item_events(1, message()), output=[call(1), call(2)])
    )
    assert values(answer) == [call(1), message(), call(2)]
    assert odd(answer) == ["an item of the final response whose place is taken, at 1"]


def test_numbers_of_events_that_do_not_follow_are_noted() -> None:
    first, second, *rest = stream_events(response(message()))
    assert odd(answered([first, *rest])) == ["the numbers of events do not follow in 1 places"]
    assert odd(answered([second, *rest])) == []


def test_a_stream_without_numbers_is_nothing_odd() -> None:
    events = [
        {key: value for key, value in data.items() if key != "sequence_number"}
        for data in stream_events(response(message()))
    ]
    assert odd(answered(events)) == []


def test_a_stream_that_goes_on_where_another_broke_off_takes_the_rest_from_the_final_response() -> (
    None
):
    events = list(stream_events(response(reasoning(), call()), piece=3))
    late = answered(events[12:])
    assert values(late) == [reasoning(), call()]
    assert late.is_complete


def test_what_is_told_of_an_item_whose_beginning_was_missed_is_odd() -> None:
    answer = answered(around(told(0, "output_text.delta", delta="Hel"), output=[message()]))
    assert values(answer) == [message()]
    assert odd(answer) == ["an event of unknown type or item: response.output_text.delta"]


def test_a_cut_stream_keeps_what_was_done_and_what_was_begun() -> None:
    begun = list(item_events(1, call(2), 4))[:3]
    first = next(stream_events(response()))
    answer = answered(numbered([first, *item_events(0, message()), *begun]))
    assert answer.interruption == "cut"
    assert values(answer) == [message()]
    [broken] = answer.unfinished
    assert (broken.index, broken.partial) == (1, "")
    assert broken.value == {**call(2), "status": "in_progress", "arguments": '{"id":47'}
    assert not answer.awaits_results


def test_a_completed_response_with_an_item_that_never_became_whole_is_malformed() -> None:
    answer = answered(around(added(0, call()), output=[]))
    assert (answer.interruption, answer.detail) == (
        "malformed",
        "completed with an item that is not whole",
    )
    assert answer.needs_raw


def test_an_incomplete_response_stops_amid_an_item() -> None:
    final = response(
        message("Half", status="incomplete"),
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    )
    answer = answered(stream_events(final))
    assert (answer.is_complete, answer.stop_reason) == (True, "max_output_tokens")
    assert values(answer) == final["output"]


def test_a_call_that_is_incomplete_is_none() -> None:
    broken = call(2, arguments='{"id":', status="incomplete")
    final = response(message(), broken, status="incomplete")
    answer = answered(stream_events(final))
    assert values(answer) == [message()]
    assert [one.value for one in answer.unfinished] == [broken]
    assert not answer.awaits_results


@pytest.mark.parametrize("together", [True, False])
def test_a_failed_response_says_why_with_the_error_before_it_or_without(together: bool) -> None:
    error = {"type": "insufficient_quota", "code": "insufficient_quota", "message": "no"}
    first = next(stream_events(response()))
    failed = {**response(status="failed"), "error": {"code": "insufficient_quota"}}
    events = [first, {"type": "error", "error": error}] if together else [first]
    answer = answered(numbered([*events, {"type": "response.failed", "response": failed}]))
    assert (answer.interruption, answer.detail) == ("error", "insufficient_quota")
    assert answer.error == (error if together else failed["error"])
    assert answer.envelope["status"] == "failed"
    assert odd(answer) == []


def test_an_error_ends_a_stream() -> None:
    first = next(stream_events(response()))
    error = {"type": "error", "code": "server_error", "message": "no", "param": None}
    stream = fed(event(first))
    assert stream.feed(event(error))
    answer = stream.finish()
    assert (answer.interruption, answer.detail, answer.error) == ("error", "server_error", error)


def test_a_cancelled_response_was_abandoned() -> None:
    answer = answered(around(*item_events(0, message()), status="cancelled"))
    assert (answer.interruption, answer.detail) == ("abandoned", "cancelled")


def test_a_background_stream_that_only_said_it_waits_is_cut() -> None:
    queued = {**response(status="queued"), "background": True}
    answer = answered(
        numbered({"type": f"response.{kind}", "response": queued} for kind in ("created", "queued"))
    )
    assert answer.interruption == "cut"
    assert answer.envelope["status"] == "queued"
