"""Calls without ids are told apart by what they call, the same way wherever they are read."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.blocks import UnnamedCalls

NAMES = st.sampled_from(["look", "find"])
ARGUMENTS = st.sampled_from([{}, {"a": 1}, {"b": [None, 0.5]}])


def test_an_id_is_the_name_and_a_digest_of_name_and_arguments() -> None:
    digest = hashlib.sha256(b'["look",{"a":1,"b":2}]').hexdigest()[:12]
    assert UnnamedCalls().call("look", {"b": 2, "a": 1}) == f"look-{digest}"


def test_arguments_that_are_absent_are_none() -> None:
    assert UnnamedCalls().call("look", None) == UnnamedCalls().call("look", {})


def test_equal_calls_of_a_turn_are_counted() -> None:
    calls = UnnamedCalls()
    first, second, third = (calls.call("look", {}) for _ in range(3))
    assert (second, third) == (f"{first}-2", f"{first}-3")


def test_a_call_that_has_an_id_keeps_it() -> None:
    calls = UnnamedCalls()
    assert calls.call("look", {}, "call_1") == "call_1"
    assert calls.result("look") == "call_1"


def test_a_result_is_of_the_first_call_of_its_name_that_has_none() -> None:
    calls = UnnamedCalls()
    first, other, second = calls.call("a", {}), calls.call("b", {}), calls.call("a", {"x": 1})
    assert [calls.result(name) for name in ("a", "a", "b", "a")] == [first, second, other, None]


def test_a_result_that_names_its_call_takes_it_from_those_without() -> None:
    calls = UnnamedCalls()
    first, second = calls.call("a", {}), calls.call("a", {})
    assert calls.result("a", second) == second
    assert calls.result("a") == first


@given(st.lists(st.tuples(NAMES, ARGUMENTS), max_size=9))
def test_all_ids_of_a_turn_are_different_and_the_same_each_time(
    made: list[tuple[str, dict[str, object]]],
) -> None:
    once, again = UnnamedCalls(), UnnamedCalls()
    ids = [once.call(name, arguments) for name, arguments in made]
    assert len(set(ids)) == len(ids)
    assert ids == [again.call(name, arguments) for name, arguments in made]
