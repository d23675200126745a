"""Compressed bodies: unpacked as they come, and said so where they lie."""

import gzip
import sys
import zlib
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.bodies.unpacking import Unpacking
from tests.anthropic_wire import chunks


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def fed(unpacking: Unpacking, chunk: bytes) -> bytes:
    return b"".join(unpacking.feed(chunk))


def unpacked(unpacking: Unpacking, data: bytes, size: int) -> bytes:
    return b"".join(fed(unpacking, chunk) for chunk in chunks(data, [size]))


@given(st.binary(max_size=300), st.integers(1, 50))
def test_what_was_packed_comes_back_in_any_chunking(data: bytes, size: int) -> None:
    for encoding, packed in [
        ("gzip", gzip.compress(data)),
        (" X-GZip", gzip.compress(data)),
        ("deflate", zlib.compress(data)),
        ("deflate", raw_deflate(data)),
        ("deflate, gzip", gzip.compress(zlib.compress(data))),
        ("identity", data),
        ("", data),
        (None, data),
    ]:
        unpacking = Unpacking(encoding)
        assert unpacked(unpacking, packed, size) == data
        assert unpacking.failure is None


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_a_second_gzip_member_goes_on_from_the_first(size: int) -> None:
    packed = gzip.compress(b"one, ") + gzip.compress(b"two")
    assert unpacked(Unpacking("gzip"), packed, size) == b"one, two"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_plain_bytes_that_claim_to_be_packed_are_told(encoding: str) -> None:
    unpacking = Unpacking(encoding)
    assert fed(unpacking, b"event: message_start\n") == b""
    assert unpacking.failure is not None
    assert fed(unpacking, b"more") == b""


def test_what_was_whole_before_the_damage_is_handed_on() -> None:
    unpacking = Unpacking("gzip")
    assert fed(unpacking, gzip.compress(b"whole")) == b"whole"
    assert fed(unpacking, b"garbage") == b""
    assert unpacking.failure is not None


def test_a_packed_body_that_is_cut_gives_what_arrived() -> None:
    unpacking = Unpacking("gzip")
    packed = gzip.compress(b"x" * 1000, compresslevel=0)
    assert fed(unpacking, packed[:500]) == b"x" * (500 - 15)
    assert unpacking.failure is None


def test_an_encoding_that_nobody_knows_is_told() -> None:
    unpacking = Unpacking("rot13")
    assert unpacking.failure == "content encoding 'rot13' is unknown"
    assert fed(unpacking, b"data") == b""


@pytest.mark.parametrize(
    ("encoding", "libraries"),
    [("br", ["brotli", "brotlicffi"]), ("zstd", ["backports.zstd", "compression.zstd"])],
)
def test_an_encoding_whose_library_is_missing_is_told(
    encoding: str, libraries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in libraries:
        monkeypatch.setitem(sys.modules, library, None)
    unpacking = Unpacking(encoding)
    assert unpacking.failure is not None
    assert "library" in unpacking.failure


class Reversed:
    """Stands for a library's decompressor: its packing is to turn bytes around."""

    eof = False
    unused_data = b""

    needs_input = True

    def process(self, data: bytes, most: int = -1) -> bytes:
        if data == b"bad":
            raise ArithmeticError("bad")
        return data[::-1]

    decompress = process


@pytest.mark.parametrize(
    ("encoding", "library", "kind", "error"),
    [
        ("br", "brotli", "Decompressor", "error"),
        (
            "zstd",
            "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",
            "ZstdDecompressor",
            "ZstdError",
        ),
    ],
)
def test_a_library_that_is_there_is_used(
    encoding: str, library: str, kind: str, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType(library)
    setattr(module, kind, Reversed)
    setattr(module, error, ArithmeticError)
    monkeypatch.setitem(sys.modules, library.partition(".")[0], ModuleType("parent"))
    monkeypatch.setitem(sys.modules, library, module)
    unpacking = Unpacking(encoding)
    assert fed(unpacking, b"cba") == b"abc"
    assert fed(unpacking, b"bad") == b""
    assert unpacking.failure == "content encoding does not hold: bad"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "deflate, gzip"])
def test_few_bytes_that_unpack_to_many_come_in_pieces_that_can_be_held(encoding: str) -> None:
    bomb = zlib.compress(b"0" * 10_000_000) if "deflate" in encoding else b"0" * 10_000_000
    packed = gzip.compress(bomb) if "gzip" in encoding else bomb
    sizes = [len(piece) for piece in Unpacking(encoding).feed(packed)]
    assert sum(sizes) == 10_000_000
    assert max(sizes) <= 256 * 1024
