"""What the header of an event says of its keys, and who its subjects are."""

from uuid import UUID

import pytest

from onrecord.domain.encryption.bodies import ENCRYPTED, is_clear, key_name_in, parted
from onrecord.domain.encryption.keys import key_name, subject_key
from onrecord.domain.encryption.subjects import (
    MOST_SUBJECTS,
    conversation_subject,
    named_subject,
    subjects_of,
)
from onrecord.domain.encryption.wrapped import (
    Wrapped,
    WrappedKey,
    context_bytes,
    context_of,
    key_of,
    plain_of,
)
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.header import ClientHeader, header_bytes

TENANT, OTHER = UUID(int=1), UUID(int=2)
CONVERSATION = UUID("01932f1e-5c00-7000-8000-000000004711")
PLAIN = ClientHeader(UUID(int=3), TENANT, CONVERSATION, "message.recorded", 1, 0)
KEYS = [subject_key(bytes([number]) * 32) for number in range(2)]


def test_a_header_names_the_keys_of_its_body() -> None:
    name = key_name([key.key_id for key in KEYS])
    header = header_bytes(PLAIN._replace(codec=ENCRYPTED, key_id=name))
    assert key_name_in(header) == name
    assert not is_clear(header)
    assert key_name_in(header_bytes(PLAIN)) is None
    assert is_clear(header_bytes(PLAIN))


def test_a_body_that_was_cut_is_refused() -> None:
    assert parted(bytes(28)) == (bytes(12), bytes(16))
    with pytest.raises(CorruptRecord, match="was cut"):
        parted(bytes(27))


def test_an_event_is_about_its_conversation_where_nobody_is_named() -> None:
    (subject,) = subjects_of(TENANT, CONVERSATION, [])
    assert subject == conversation_subject(TENANT, CONVERSATION)
    assert subjects_of(TENANT, CONVERSATION, ["ana", "bo", "ana"]) == (
        named_subject(TENANT, "ana"),
        named_subject(TENANT, "bo"),
    )


def test_no_two_subjects_are_one() -> None:
    """Whatever callers name: another tenant's, and a name that reads like a conversation."""
    named = f"conversation {TENANT} {CONVERSATION}"
    subjects = {
        conversation_subject(TENANT, CONVERSATION),
        conversation_subject(OTHER, CONVERSATION),
        named_subject(TENANT, named),
        named_subject(OTHER, named),
        named_subject(TENANT, f"{CONVERSATION}"),
    }
    assert len({subject.text for subject in subjects}) == 5


def test_space_and_the_encoding_of_an_accent_make_no_other_subject() -> None:
    names = ("Jos\u00e9", "Jose\u0301", " Jos\u00e9\n")
    assert len({named_subject(TENANT, name) for name in names}) == 1
    assert named_subject(TENANT, "jos\u00e9") != named_subject(TENANT, names[0])


def test_the_name_of_a_subject_is_not_shown() -> None:
    assert "ana" not in repr(subjects_of(TENANT, CONVERSATION, ["ana"]))


@pytest.mark.parametrize("names", [[""], [" \n"], ["x" * 1025], [f"{n}" for n in range(17)]])
def test_names_that_are_none_or_too_many_are_refused(names: list[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        subjects_of(TENANT, CONVERSATION, names)
    assert "xxx" not in str(caught.value)
    assert len(subjects_of(TENANT, CONVERSATION, [f"{n}" for n in range(16)])) == MOST_SUBJECTS


def test_what_is_unwrapped_has_to_be_the_key_of_the_record() -> None:
    one, other = KEYS
    record = WrappedKey(one.key_id, b"a" * 16, Wrapped("g", b""), 0)
    assert key_of(record, plain_of(one, b"a" * 16)) == one
    for wrong in (plain_of(other, b"a" * 16), plain_of(one, b"b" * 16), one.secret, b""):
        with pytest.raises(CorruptRecord, match="another key stands under the id") as caught:
            key_of(record, wrong)
        assert one.secret.hex() not in str(caught.value)


def test_a_context_is_one_byte_string() -> None:
    context = context_of(UUID(int=5), "k")
    assert context_bytes(context) == (
        b'{"onrecord:key":"k","onrecord:log":"00000000-0000-0000-0000-000000000005"}'
    )
