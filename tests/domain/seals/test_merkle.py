"""The tree over a shard's leaves is that of RFC 9162, and takes a few hashes whatever its size."""

import hashlib
import json
import re
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.seals.merkle import (
    EMPTY,
    Root,
    Subtrees,
    Tree,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    parse_root,
    root_by_inclusion,
)

# The inputs and roots that Certificate Transparency's implementations share (RFC 6962).
INPUTS = (
    *("", "00", "10", "2021", "3031", "40414243", "5051525354555657"),
    "606162636465666768696a6b6c6d6e6f",
)
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
PAGE = (Path(__file__).parents[3] / "docs" / "format.md").read_text(encoding="utf-8")


def slow_root(leaves: Sequence[bytes]) -> bytes:
    """The definition of RFC 9162 §2.1.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    left, right = slow_root(leaves[:split]), slow_root(leaves[split:])
    return hashlib.sha256(b"\x01" + left + right).digest()


def tree_of(leaves: Sequence[bytes]) -> Tree:
    tree = EMPTY
    for leaf in leaves:
        tree = tree.grown(leaf)
    return tree


def test_the_roots_are_those_that_other_implementations_share() -> None:
    leaves = [hashlib.sha256(b"\x00" + bytes.fromhex(text)).digest() for text in INPUTS]
    roots = [tree_of(leaves[:size]).root().hex() for size in range(len(leaves) + 1)]
    assert roots == ROOTS


@given(st.lists(st.binary(min_size=32, max_size=32), max_size=70))
def test_a_tree_that_grew_leaf_by_leaf_is_that_of_the_definition(leaves: list[bytes]) -> None:
    tree = tree_of(leaves)
    assert (tree.size, tree.root()) == (len(leaves), slow_root(leaves))


def test_a_tree_of_many_leaves_holds_a_few_hashes() -> None:
    tree = tree_of([size.to_bytes(32, "big") for size in range(5_000)])
    assert tree.size == 5_000
    assert len(tree.peaks) == (5_000).bit_count()


def test_the_roots_of_the_vectors_are_those_of_the_page() -> None:
    vectors = PAGE.split("```json vectors\n")[1].split("```")[0]
    leaves = [bytes.fromhex(leaf) for leaf in re.findall(r'"leaf": "([0-9a-f]{64})"', vectors)]
    told = re.findall(r"^\| (\d+) \| `([0-9a-f]{64})` \|$", PAGE, re.MULTILINE)
    sizes = range(len(leaves) + 1)
    assert told == [(str(size), tree_of(leaves[:size]).root().hex()) for size in sizes]
    assert told == [(str(size), slow_root(leaves[:size]).hex()) for size in sizes]


def test_a_root_is_read_as_it_is_written() -> None:
    root = Root(3, 1204, bytes(range(32)))
    assert parse_root(str(root)) == parse_root(f" {str(root).upper()}\n") == root


@pytest.mark.parametrize("text", ["", "0:1", "0:1:ab", "0:-1:" + "0" * 64, "0:1:" + "g" * 64])
def test_a_text_that_tells_no_root_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="SHARD:SIZE:HEX"):
        parse_root(text)


# Proofs.


def subtrees_of(leaves: Sequence[bytes]) -> Subtrees:
    return lambda level, index: slow_root(leaves[index << level : (index + 1) << level])


def leaves_of(count: int) -> list[bytes]:
    return [hashlib.sha256(number.to_bytes(4)).digest() for number in range(count)]


def slow_path(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """The definition of RFC 9162 §2.1.3.1, word for word."""
    if len(leaves) == 1:
        return []
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    if index < split:
        return [*slow_path(index, leaves[:split]), slow_root(leaves[split:])]
    return [*slow_path(index - split, leaves[split:]), slow_root(leaves[:split])]


def slow_subproof(old: int, leaves: Sequence[bytes], *, whole: bool) -> list[bytes]:
    """The definition of RFC 9162 §2.1.4.1, word for word."""
    if old == len(leaves):
        return [] if whole else [slow_root(leaves)]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    if old <= split:
        return [*slow_subproof(old, leaves[:split], whole=whole), slow_root(leaves[split:])]
    return [
        *slow_subproof(old - split, leaves[split:], whole=False),
        slow_root(leaves[:split]),
    ]


@given(st.integers(1, 70).flatmap(lambda size: st.tuples(st.integers(0, size - 1), st.just(size))))
def test_an_inclusion_proof_is_that_of_the_definition_and_leads_to_the_root(
    case: tuple[int, int],
) -> None:
    index, size = case
    leaves = leaves_of(size)
    proof = inclusion_proof(index, size, subtrees_of(leaves))
    assert list(proof) == slow_path(index, leaves)
    assert root_by_inclusion(leaves[index], index, size, proof) == slow_root(leaves)


@given(st.integers(1, 70).flatmap(lambda size: st.tuples(st.integers(1, size), st.just(size))))
def test_a_consistency_proof_is_that_of_the_definition_and_holds(case: tuple[int, int]) -> None:
    old, size = case
    leaves = leaves_of(size)
    proof = consistency_proof(old, size, subtrees_of(leaves))
    assert list(proof) == slow_subproof(old, leaves, whole=True)
    assert is_consistent(old, slow_root(leaves[:old]), size, slow_root(leaves), proof)


@pytest.mark.parametrize("size", range(1, 20))
def test_no_proof_holds_with_a_changed_hash_root_or_place(size: int) -> None:
    leaves = leaves_of(size)
    root, other = slow_root(leaves), hashlib.sha256(b"another").digest()
    for index in range(size):
        proof = inclusion_proof(index, size, subtrees_of(leaves))
        for changed in _changed(proof):
            assert root_by_inclusion(leaves[index], index, size, changed) != root
        assert root_by_inclusion(other, index, size, proof) != root
        for wrong in (*proof, other), proof[:-1] if proof else (other, other):
            with pytest.raises(CorruptRecord):
                root_by_inclusion(leaves[index], index, size, wrong)
    for old in range(1, size):
        proof, old_root = consistency_proof(old, size, subtrees_of(leaves)), slow_root(leaves[:old])
        wrong_proofs = (*_changed(proof), proof[:-1], (*proof, other))
        assert not any(is_consistent(old, old_root, size, root, wrong) for wrong in wrong_proofs)
        assert not is_consistent(old, other, size, root, proof)
        assert not is_consistent(old, old_root, size, other, proof)


def _changed(proof: Sequence[bytes]) -> list[tuple[bytes, ...]]:
    return [
        (*proof[:at], bytes([each[0] ^ 1]) + each[1:], *proof[at + 1 :])
        for at, each in enumerate(proof)
    ]


def test_every_tree_begins_with_the_empty_one_and_with_itself() -> None:
    root = slow_root(leaves_of(5))
    assert is_consistent(0, slow_root([]), 5, root, ())
    assert is_consistent(5, root, 5, root, ())
    assert not is_consistent(0, root, 5, root, ())
    assert not is_consistent(6, root, 5, root, ())


def test_the_proofs_of_a_certificate_log_hold() -> None:
    """What Google's log Argon 2020 answered, from the test data of Go's tlog package."""
    log = json.loads((Path(__file__).parent / "argon2020.json").read_text())
    root, old_root, leaf = (b64decode(log[name]) for name in ("root", "old_root", "leaf"))
    inclusion = [b64decode(each) for each in log["inclusion"]]
    consistency = [b64decode(each) for each in log["consistency"]]
    assert root_by_inclusion(leaf, log["leaf_index"], log["size"], inclusion) == root
    assert is_consistent(log["old_size"], old_root, log["size"], root, consistency)


@pytest.mark.parametrize(("index", "size"), [(-1, 3), (3, 3), (0, 0)])
def test_a_leaf_that_is_not_there_has_no_proof(index: int, size: int) -> None:
    with pytest.raises(InvalidInput, match="has none at index"):
        inclusion_proof(index, size, subtrees_of(leaves_of(3)))
    with pytest.raises(CorruptRecord, match="does not have"):
        root_by_inclusion(b"", index, size, ())


def test_a_tree_does_not_begin_with_a_larger_one() -> None:
    with pytest.raises(InvalidInput, match="does not begin with one of 4"):
        consistency_proof(4, 3, subtrees_of(leaves_of(3)))
