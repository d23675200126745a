from __future__ import annotations

from datetime import datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.header import (
    ClientHeader,
    body_digest,
    header_bytes,
    leaf,
    parse_header,
    recorded_header,
    timestamp,
)
from onrecord.domain.jsontext import read_object, write_canonical

headers = st.builds(
    ClientHeader,
    event_id=st.uuids(),
    tenant=st.uuids(),
    conversation_id=st.uuids(),
    type=st.sampled_from(["message.recorded", "future.thing"]),
    schema_version=st.integers(1, 9),
    occurred_at=st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1)).map(
        lambda moment: round(moment.timestamp()) * 1_000_000 + moment.microsecond
    ),
    key_id=st.none() | st.text(min_size=1),
    actor=st.none() | st.text(min_size=1),
    correlation_id=st.none() | st.uuids(),
    causation_id=st.none() | st.uuids(),
    metadata=st.dictionaries(st.text(), st.text(), max_size=3),
)

PLAIN = ClientHeader(
    event_id=UUID(int=1),
    tenant=UUID(int=0),
    conversation_id=UUID(int=2),
    type="message.recorded",
    schema_version=1,
    occurred_at=1,
)


@given(headers)
def test_a_header_reads_back_the_same(header: ClientHeader) -> None:
    assert parse_header(header_bytes(header)) == header


def test_a_header_is_sorted_ascii_json_without_absent_fields() -> None:
    assert header_bytes(PLAIN) == (
        b'{"codec":"json","conversation":"00000000-0000-0000-0000-000000000002",'
        b'"event":"00000000-0000-0000-0000-000000000001","format":1,'
        b'"occurred_at":"1970-01-01T00:00:00.000001Z","schema":1,'
        b'"tenant":"00000000-0000-0000-0000-000000000000","type":"message.recorded"}'
    )


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"format":1}'])
def test_bytes_that_are_no_header_are_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptRecord, match="not an event's header"):
        parse_header(data)


@pytest.mark.parametrize("member", ["event", "tenant", "conversation", "occurred_at", "causation"])
@pytest.mark.parametrize("value", [1, [], {}])
def test_a_header_with_a_member_of_another_kind_is_corrupt(member: str, value: object) -> None:
    members = read_object(header_bytes(PLAIN)) | {member: value}
    with pytest.raises(CorruptRecord, match="not an event's header"):
        parse_header(write_canonical(members))


def test_a_header_of_a_newer_format_asks_for_an_upgrade() -> None:
    newer = header_bytes(PLAIN).replace(b'"format":1', b'"format":2')
    with pytest.raises(CorruptRecord, match="upgrade"):
        parse_header(newer)


def test_what_the_log_gave_is_three_big_endian_numbers_behind_the_client_header() -> None:
    assert (
        recorded_header(b"h", 1, 2, -1)
        == b"h" + bytes(7) + b"\x01" + bytes(7) + b"\x02" + b"\xff" * 8
    )


def test_a_leaf_commits_to_header_version_position_time_salt_and_body() -> None:
    def of(version: int = 1, position: int = 1, at: int = 1, salt: bytes = b"s") -> bytes:
        return leaf(recorded_header(b"h", version, position, at), body_digest(salt, b"b"))

    leaves = {of(), of(version=2), of(position=2), of(at=2), of(salt=b"t")}
    assert len(leaves) == 5


def test_times_are_written_in_utc_with_six_digits() -> None:
    assert timestamp(1_795_209_824_000_001) == "2026-11-20T21:23:44.000001Z"
