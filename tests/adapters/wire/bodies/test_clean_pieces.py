"""Bytes are cleaned piece by piece as they would be whole."""

from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.bodies.clean import in_lines, in_windows
from tests.anthropic_wire import chunks


@given(
    data=st.text("abk-\n", max_size=60).map(str.encode),
    size=st.integers(1, 7),
    sought=st.lists(st.text("abk-", min_size=1, max_size=4).map(str.encode), max_size=1),
)
def test_windows_find_what_the_whole_has(data: bytes, size: int, sought: list[bytes]) -> None:
    def clean(window: bytes) -> bytes:
        for text in sought:
            window = window.replace(text, b"!")
        return window

    # What overlaps itself may be found at another place first; it is gone either way.
    found = b"".join(in_windows(chunks(data, [size]), sought, clean))
    assert all(text not in found for text in sought)
    assert found.count(b"!") <= data.count(b"-") + len(data)
    if all(len(set(text)) == len(text) for text in sought):
        assert found == clean(data)


def test_a_secret_that_overlaps_itself_for_long_is_cut_out_without_a_tower_of_calls() -> None:
    secret = b"aaaaaaaa"
    pieces = [b"x" + b"a" * 20_000, b"a" * 20_000 + b"x"]
    cleaned = b"".join(in_windows(pieces, [secret], lambda window: window.replace(secret, b"")))
    assert cleaned == b"".join(pieces).replace(secret, b"")


@given(data=st.text("ab\n", max_size=60).map(str.encode), size=st.integers(1, 7))
def test_lines_are_those_of_the_whole_but_for_long_ones(data: bytes, size: int) -> None:
    def clean(line: bytes) -> bytes:
        return line.upper()

    assert b"".join(in_lines(chunks(data, [size]), clean)) == data.upper()
    short = b"".join(in_lines(chunks(data, [size]), clean, longest=3))
    for line, original in zip(short.split(b"\n"), data.split(b"\n"), strict=True):
        assert line.upper() == original.upper()
        assert len(original) > 3 or line == original.upper()
