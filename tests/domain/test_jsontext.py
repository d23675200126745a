from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain import jsontext
from onrecord.domain.errors import MalformedJson

texts = st.text(st.characters(codec=None, exclude_categories=()))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(values)
def test_what_is_written_reads_back_the_same(value: object) -> None:
    back = jsontext.read(jsontext.write(value))
    assert back == value
    assert json.dumps(back) == json.dumps(value)


def test_lone_surrogates_and_huge_integers_survive() -> None:
    text = b'{"half":"\\ud83d","big":123456789012345678901234567890,"null":null,"f":1.0}'
    assert jsontext.write(jsontext.read(text)) == text


@given(values)
def test_a_text_gives_back_what_was_written(value: object) -> None:
    text = jsontext.write(value)
    assert jsontext.gives_back(text, value) is (jsontext.read(text) == value)
    assert not jsontext.gives_back(text, [value])


@pytest.mark.parametrize("lost", [(1, 2), {1: "a"}, {None: 1}, "\ud83d\ude00", ["\ud83d\ude00"]])
def test_a_text_does_not_give_back_what_json_does_not_tell(lost: object) -> None:
    assert not jsontext.gives_back(jsontext.write(lost), lost)


def test_a_text_that_could_not_be_read_later_gives_back_nothing() -> None:
    for text in (b'{"1":"a","1":"a"}', b"[" * 201 + b"]" * 201):
        with pytest.raises(MalformedJson):
            jsontext.gives_back(text, {1: "a", "1": "a"})


def test_keys_keep_their_order() -> None:
    assert list(jsontext.read(b'{"b":1,"a":2}')) == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (b"{", "line 1, column 2"),
        (b"\xff{}", "not UTF-8 at byte 0"),
        (b'{"a":NaN}', "NaN is not JSON"),
        (b'{"a":-Infinity}', "-Infinity is not JSON"),
        (b'{"a":1e999}', "too large for a double"),
        (b'{"a":1,"a":2}', "same key twice"),
        (b"[" * 200_000, "nested too deeply"),
        (b"9" * 10_000, "number is too long"),
    ],
)
def test_what_cannot_be_kept_without_loss_is_refused_with_advice(text: bytes, advice: str) -> None:
    with pytest.raises(MalformedJson, match=advice):
        jsontext.read(text)


def test_an_error_says_where_but_not_what() -> None:
    with pytest.raises(MalformedJson) as caught:
        jsontext.read(b'{"secret": "4711" oops}')
    assert "4711" not in str(caught.value)


def test_only_an_object_is_an_object() -> None:
    with pytest.raises(MalformedJson, match="found list"):
        jsontext.read_object(b"[]")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"bytes"])
def test_what_has_no_json_form_is_not_written(value: object) -> None:
    with pytest.raises(MalformedJson, match="not representable"):
        jsontext.write(value)


def test_canonical_json_does_not_depend_on_the_order_of_keys() -> None:
    assert jsontext.write_canonical({"b": "é", "a": 1}) == b'{"a":1,"b":"\\u00e9"}'


def test_what_is_nested_deeper_than_every_reader_follows_is_refused() -> None:
    deepest, deeper = ("[" * count + "]" * count for count in (200, 201))
    assert jsontext.read_bounded(deepest) == json.loads(deepest)
    with pytest.raises(MalformedJson, match="nested more than 200 levels deep"):
        jsontext.read_bounded(deeper)


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ((), ""),
        (("foo", 0), "/foo/0"),
        (("",), "/"),
        (("a/b",), "/a~1b"),
        (("m~n",), "/m~0n"),
        (("~1",), "/~01"),
    ],
)
def test_a_pointer_is_spelled_as_its_rfc_has_it(path: tuple[str | int, ...], pointer: str) -> None:
    assert jsontext.pointer(path) == pointer
    assert jsontext.pointer_path(pointer) == [*map(str, path)]


@given(st.lists(texts))
def test_any_pointer_is_read_as_the_path_that_it_was_made_of(path: list[str]) -> None:
    assert jsontext.pointer_path(jsontext.pointer(path)) == path


def count(value: object) -> int:
    """How many values there are, an empty one counted twice."""
    if isinstance(value, dict):
        within = list(cast("dict[str, object]", value).values())
    elif isinstance(value, list):
        within = cast("list[object]", value)
    else:
        return 1
    return 1 + sum(map(count, within)) + (not within)


@given(values, st.integers(-2, 2))
def test_values_are_counted_before_they_are_read(value: object, more: int) -> None:
    most = max(count(value) + more, 0)
    assert jsontext.has_more_values(jsontext.write(value), most) is (count(value) > most)


@pytest.mark.parametrize(
    "text", [b'"' + b'\\"' * 500_000, b'["' * 500_000, b'"' * 1_000_000, b'[,"\\' * 250_000]
)
def test_what_is_no_json_is_counted_in_the_same_time(text: bytes) -> None:
    # One that went back to where it was would take hours, and run into the limit of a test.
    jsontext.has_more_values(text + b"," * 250_000, 250_000)
