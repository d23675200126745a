"""The end of an answer waits until it is recorded, and no more than an end is held for that."""

from onrecord.adapters.wire.clients.transport import PendingChunks

HALF = b"x" * (512 * 1024)


def test_what_came_since_all_may_have_come_is_held() -> None:
    pending = PendingChunks()
    assert pending.take(b"a", 0) == [b"a"]
    assert pending.take(b"end", 1) == []
    assert pending.take(b"usage", 1) == []
    assert pending.take(b"another end", 2) == [b"end", b"usage"]
    assert pending.rest() == [b"another end"]
    assert pending.rest() == []


def test_what_follows_an_end_without_an_end_goes_on() -> None:
    pending = PendingChunks()
    assert pending.take(b"end", 1) == []
    held = 0
    for _ in range(64):
        held += len(HALF) - sum(map(len, pending.take(HALF, 1)))
        assert held <= 2 * len(HALF)
    assert sum(map(len, pending.rest())) == held + len(b"end")


def test_nothing_is_lost_and_nothing_changes_places() -> None:
    pending = PendingChunks()
    chunks = [b"%d" % number + HALF for number in range(9)]
    endings = [0, 1, 1, 1, 1, 2, 2, 3, 3]
    told = [
        each
        for chunk, count in zip(chunks, endings, strict=True)
        for each in pending.take(chunk, count)
    ]
    assert [*told, *pending.rest()] == chunks
