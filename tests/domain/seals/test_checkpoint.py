"""A checkpoint is the text that C2SP's tlog-checkpoint describes, and is read as it is written."""

from uuid import UUID

import pytest

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.seals.checkpoint import Checkpoint, parse_checkpoint, proof_text

CHECKPOINT = Checkpoint(
    log_id=UUID(int=1),
    shard=0,
    size=1204,
    hash=bytes(range(32)),
    incarnation=UUID(int=2),
    sealed_at=1_795_000_000_000_001,
)
TEXT = """\
onrecord.log/00000000-0000-0000-0000-000000000001/0
1204
AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
incarnation 00000000-0000-0000-0000-000000000002
sealed 2026-11-18T11:06:40.000001Z
"""


def test_a_checkpoint_is_read_as_it_is_written() -> None:
    assert CHECKPOINT.text() == TEXT
    assert parse_checkpoint(TEXT) == CHECKPOINT


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("onrecord.log", "example.com"),
        ("/0\n", "/00\n"),
        ("/0\n", "/100000\n"),
        ("1204", "01204"),
        ("1204", "-1"),
        ("1204", "٣"),
        ("Hh8=", "Hh9="),
        ("AAEC", ""),
        ("incarnation", "Incarnation"),
        ("sealed ", "sealed"),
        ("sealed 2026", "sealed 2026\nsealed 2026"),
        ("01Z\n", "01Z\nmore\n"),
        ("01Z\n", "01Z"),
        ("01Z\n", "01Z\n\n"),
    ],
)
def test_a_text_that_tells_no_checkpoint_is_refused(old: str, new: str) -> None:
    changed = TEXT.replace(old, new, 1)
    assert changed != TEXT
    with pytest.raises(CorruptRecord):
        parse_checkpoint(changed)


def test_a_proof_of_a_leaf_is_written_as_the_specification_says() -> None:
    text = proof_text(7, [bytes(32)], b"note\n")
    hashes = b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
    assert text == b"c2sp.org/tlog-proof@v1\nindex 7\n" + hashes + b"\nnote\n"
