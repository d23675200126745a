"""docs/adding-a-provider.md is true: the package that it makes, built and installed, speaks the toy API."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import toy_program
from tests.test_docs import ROOT, fences

PAGE = ROOT / "docs" / "adding-a-provider.md"
PACKAGE = "onrecord_toy"
MODULES = [f"{PACKAGE}/{name}.py" for name in ("__init__", "api", "wire", "rules")]


def files() -> dict[str, str]:
    """The files of the page, by the paths that they begin with."""
    found = [fence.text for fence in fences(PAGE) if fence.text.startswith("# ")]
    return {text.partition("\n")[0].removeprefix("# "): text for text in found}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package of the page, installed from a wheel of its own."""
    source, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for path, text in files().items():
        (source / path).parent.mkdir(exist_ok=True)
        (source / path).write_text(text, encoding="utf-8")
    alone = ("--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")
    pip("wheel", *alone, "--no-build-isolation", "--wheel-dir", source / "dist", source)
    (wheel,) = (source / "dist").glob("*.whl")
    pip("install", *alone, "--target", site, wheel)
    return site


def pip(*arguments: str | Path) -> None:
    run = [sys.executable, "-m", "pip", *map(str, arguments)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def own_site(site: Path, tmp_path: Path) -> Path:
    """One that a test may change."""
    return shutil.copytree(site, tmp_path / "site", ignore=shutil.ignore_patterns("__pycache__"))


def ran(site: Path, folder: Path, *program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_page_has_the_files_of_the_package() -> None:
    assert list(files()) == ["pyproject.toml", *MODULES]


@pytest.mark.parametrize("promise", toy_program.PROMISES)
def test_what_the_page_promises_of_the_toy_holds(site: Path, tmp_path: Path, promise: str) -> None:
    done = ran(site, tmp_path, "-m", toy_program.__name__, promise)
    assert done.returncode == 0, done.stderr


def test_requests_are_rendered_without_the_wire(own_site: Path, tmp_path: Path) -> None:
    (own_site / PACKAGE / "wire.py").unlink()
    done = ran(own_site, tmp_path, "-m", toy_program.__name__, "a_request_needs_no_wire")
    assert done.returncode == 0, done.stderr


def test_an_api_without_rules_works_and_is_not_checked(own_site: Path, tmp_path: Path) -> None:
    without(own_site, '    rules="onrecord_toy.rules:RULES",\n')
    done = ran(own_site, tmp_path, "-m", toy_program.__name__, "without_rules_nothing_is_checked")
    assert done.returncode == 0, done.stderr


def test_the_wire_of_an_api_without_one_is_not_read(own_site: Path, tmp_path: Path) -> None:
    without(own_site, '    wire="onrecord_toy.wire:WIRE",\n')
    done = ran(own_site, tmp_path, "-m", toy_program.__name__, "without_a_wire_nothing_is_recorded")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "fault",
    [
        "LineStream.__init__ = None\nevent_of.__code__ = (lambda block: None).__code__\n",
        "LineStream.feed = event_of\nevent_of.__code__ = (lambda block: 1 / 0).__code__\n",
    ],
)
def test_an_answer_that_its_wire_cannot_read_is_kept_and_the_call_goes_on(
    own_site: Path, tmp_path: Path, fault: str
) -> None:
    with (own_site / PACKAGE / "wire.py").open("a", encoding="utf-8") as module:
        module.write(fault)
    done = ran(own_site, tmp_path, "-m", toy_program.__name__, "what_its_wire_cannot_read_is_kept")
    assert done.returncode == 0, done.stderr


def without(site: Path, line: str) -> None:
    module = site / PACKAGE / "api.py"
    text = module.read_text(encoding="utf-8")
    assert text.count(line) == 1
    module.write_text(text.replace(line, ""), encoding="utf-8")


# Packages that cannot be used.


def no_module(site: Path) -> None:
    (site / PACKAGE / "api.py").unlink()


def a_module_that_fails(site: Path) -> None:
    (site / PACKAGE / "api.py").write_text("1 / 0\n")


def a_module_that_exits(site: Path) -> None:
    (site / PACKAGE / "api.py").write_text("raise SystemExit(3)\n")


def a_module_that_is_skipped(site: Path) -> None:
    (site / PACKAGE / "api.py").write_text(
        "raise type('Skipped', (BaseException,), {})('no toys')\n"
    )


def an_error_that_cannot_be_shown(site: Path) -> None:
    (site / PACKAGE / "api.py").write_text(
        "raise type('Odd', (Exception,), {'__repr__': lambda error: error.missing})\n"
    )


def no_api(site: Path) -> None:
    (site / PACKAGE / "api.py").write_text('API = "toy"\n')


def no_wire(site: Path) -> None:
    (site / PACKAGE / "wire.py").unlink()


def another_name(site: Path) -> None:
    entries(site, "onrecord_toy", "play")


def a_name_that_is_built_in(site: Path) -> None:
    entries(site, "onrecord_toy", "gemini")


def the_name_of_another(site: Path) -> None:
    (site / "acme_toy-2.0.dist-info").mkdir()
    (site / "acme_toy-2.0.dist-info" / "METADATA").write_text("Name: acme-toy\nVersion: 2.0\n")
    entries(site, "acme_toy", "toy")


def entries(site: Path, package: str, api: str) -> None:
    (folder,) = site.glob(f"{package}-*.dist-info")
    text = f"[onrecord.apis]\n{api} = onrecord_toy.api:API\n"
    (folder / "entry_points.txt").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (no_module, "ModuleNotFoundError"),
        (a_module_that_exits, "SystemExit(3)"),
        (a_module_that_fails, "ZeroDivisionError('division by zero')"),
        (a_module_that_is_skipped, "cannot be imported: Skipped('no toys')"),
        (an_error_that_cannot_be_shown, "cannot be imported: Odd"),
        (no_api, "onrecord_toy.api:API is a str, but must be a Api"),
        (no_wire, "onrecord_toy.wire:WIRE cannot be imported"),
        (another_name, "adds the API 'play', but onrecord_toy.api:API calls itself 'toy'"),
        (a_name_that_is_built_in, "adds an API named 'gemini', which is built in"),
        (the_name_of_another, "acme-toy 2.0"),
    ],
)
def test_a_package_that_cannot_be_used_is_an_error_that_names_it(
    own_site: Path, tmp_path: Path, spoil: Callable[[Path], None], why: str
) -> None:
    spoil(own_site)
    promise = "the_first_request_on_the_wire_is_read"
    done = ran(own_site, tmp_path, "-m", toy_program.__name__, promise)
    told = done.stderr.splitlines()[-1]
    assert told.startswith("onrecord.domain.errors.InvalidProvider: ")
    assert "onrecord-toy 1.0" in told
    assert why in told


@pytest.mark.parametrize(
    "spoil",
    [
        *(no_module, a_module_that_fails, a_module_that_exits, a_module_that_is_skipped),
        *(an_error_that_cannot_be_shown, no_wire, a_name_that_is_built_in),
    ],
)
def test_a_package_that_cannot_be_used_takes_nothing_from_the_six(
    own_site: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(own_site)
    program = """
import anthropic, httpx2, onrecord
from onrecord.adapters.cli import main
from tests.anthropic_wire import message, text

http = httpx2.Client(
    transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json=message(text())))
)
with onrecord.connect("memory://") as store:
    chat = store.conversation("a")
    chat.user("Hello")
    chat.tools.declare([onrecord.BuiltinTool(name="web_search")])
    client = chat.record(anthropic.Anthropic(api_key="none", http_client=http, max_retries=0))
    client.messages.create(model="m", max_tokens=9, **chat.request("anthropic-messages"))
    print(chat.history()[-1].text)
"""
    done = ran(own_site, tmp_path, "-c", program)
    assert (done.stdout, done.returncode) == ("Hello.\n", 0), done.stderr
    for arguments in (("--help",), ("capabilities",)):
        main = "from onrecord.adapters.cli import main; main()"
        listed = ran(own_site, tmp_path, "-c", main, *arguments)
        assert (listed.returncode, listed.stderr) == (0, "")


def test_no_file_is_read_for_packages_before_one_may_be_meant(own_site: Path) -> None:
    a_name_that_is_built_in(own_site)
    program = """
import onrecord
with onrecord.connect("memory://") as store:
    chat = store.conversation("a")
    chat.user("Hello")
    chat.request("openai-chat")
"""
    assert ran(own_site, own_site, "-c", program).returncode == 0
    done = ran(own_site, own_site, "-c", f"{program}    chat.request('toy')")
    assert "InvalidProvider" in done.stderr
