"""A private key lies in a file of its own that only its owner reads."""

import stat
from pathlib import Path

import pytest

from onrecord.adapters.seals.key_files import make_key_file, read_key_file
from onrecord.adapters.seals.signing import new_key
from onrecord.domain.errors import InvalidInput
from onrecord.domain.seals.notes import parse_private_key

NAME = "onrecord.log/5b0c3f6e-0000-8000-8000-000000000000"


def test_a_key_is_read_as_it_was_written_and_only_its_owner_may(tmp_path: Path) -> None:
    file = tmp_path / "seal.key"
    key = make_key_file(file, NAME)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_key_file(file) == key
    assert key.public.name == NAME


def test_a_key_is_never_written_over_another_file(tmp_path: Path) -> None:
    file = tmp_path / "seal.key"
    make_key_file(file, NAME)
    before = file.read_bytes()
    with pytest.raises(InvalidInput, match="is there already"):
        make_key_file(file, NAME)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written: No such file"):
        make_key_file(tmp_path / "away" / "seal.key", NAME)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o601])
def test_a_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "seal.key"
    make_key_file(file, NAME)
    file.chmod(mode)
    with pytest.raises(InvalidInput, match=r"others may read the key .* run `chmod 600"):
        read_key_file(file)


@pytest.mark.parametrize("text", [b"", b"a secret", b"\xff\xfe", b"PRIVATE+KEY+a+00000000+AAAA"])
def test_what_is_no_key_is_refused_and_not_repeated(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "seal.key"
    file.write_bytes(text)
    file.chmod(0o600)
    with pytest.raises(InvalidInput, match="is no key that seals") as refused:
        read_key_file(file)
    assert "a secret" not in str(refused.value)
    assert "AAAA" not in str(refused.value)


def test_a_key_that_is_not_there_or_is_a_folder_is_said(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "seal.key"):
        with pytest.raises(InvalidInput, match="cannot be read"):
            read_key_file(path)


def test_a_keys_text_in_place_of_its_path_is_refused_and_not_repeated() -> None:
    text = new_key(NAME).encode()
    seed = text.split("+", 4)[4]
    with pytest.raises(InvalidInput, match="where the path of its file is due") as refused:
        read_key_file(Path(text))
    assert seed not in str(refused.value)
    with pytest.raises(InvalidInput, match="where the path of its file is due") as refused:
        make_key_file(Path(text), NAME)
    assert seed not in str(refused.value)


def test_what_shows_a_key_does_not_show_its_seed() -> None:
    text = new_key(NAME).encode()
    shown = repr(parse_private_key(text))
    assert NAME in shown
    assert repr(parse_private_key(text).key) not in shown
    assert text.split("+", 4)[4] not in shown
