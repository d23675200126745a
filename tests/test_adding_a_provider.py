"""docs/adding-a-provider.md is true: its code, put where it says, speaks the toy API."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import toy_program
from tests.test_docs import ROOT, fences

PAGE = ROOT / "docs" / "adding-a-provider.md"
LAYERS = ("domain", "projections", "adapters")
LINE = '    "toy": "toy",\n'
RENDER = "projections/apis/toy/render.py"
WIRE = "adapters/wire/toy/wire.py"
RULES = "projections/apis/toy/rules.py"


def modules() -> dict[str, str]:
    """The modules of the page, by the paths that they begin with."""
    found = [fence.text for fence in fences(PAGE) if fence.text.startswith("# ")]
    return {text.partition("\n")[0].removeprefix("# "): text for text in found}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree in which the page was followed, and nothing else was done."""
    copy = tmp_path_factory.mktemp("tree")
    package = copy / "onrecord"
    shutil.copytree(ROOT / "src" / "onrecord", package, ignore=shutil.ignore_patterns(*LAYERS))
    for layer in LAYERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / layer, package / layer, ignore=ignored)
    for path, text in modules().items():
        (package / path).parent.mkdir(exist_ok=True)
        (package / path).write_text(text, encoding="utf-8")
    table = package / "projections" / "api.py"
    before = table.read_text(encoding="utf-8")
    after, count = re.subn(r"(?ms)^(FOLDERS: .*?)^\}$", rf"\g<1>{LINE}}}", before, count=1)
    assert count == 1
    table.write_text(after, encoding="utf-8")
    return copy


@pytest.fixture
def own_tree(tree: Path, tmp_path: Path) -> Path:
    """One that a test may change."""
    return shutil.copytree(tree, tmp_path / "tree", ignore=shutil.ignore_patterns("__pycache__"))


def ran(tree: Path, folder: Path, promise: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", toy_program.__name__, promise],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_page_has_the_line_and_the_modules_and_one_that_may_be_missing() -> None:
    assert LINE in [fence.text for fence in fences(PAGE)]
    assert list(modules()) == ["projections/apis/toy/__init__.py", RENDER, WIRE, RULES]


@pytest.mark.parametrize("promise", toy_program.PROMISES)
def test_what_the_page_promises_of_the_toy_holds(tree: Path, tmp_path: Path, promise: str) -> None:
    done = ran(tree, tmp_path, promise)
    assert done.returncode == 0, done.stderr


def test_an_api_without_a_referee_works_and_is_not_checked(own_tree: Path, tmp_path: Path) -> None:
    (own_tree / "onrecord" / RULES).unlink()
    done = ran(own_tree, tmp_path, "without_a_referee_nothing_is_checked")
    assert done.returncode == 0, done.stderr


def test_an_api_without_a_wire_is_an_error_that_names_it(own_tree: Path, tmp_path: Path) -> None:
    (own_tree / "onrecord" / WIRE).unlink()
    done = ran(own_tree, tmp_path, "a_program_may_keep_its_own_list")
    assert "No module named 'onrecord.adapters.wire.toy.wire'" in done.stderr
