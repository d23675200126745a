"""The rules of the house: who may import whom, what a file may be called and how long it may be."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from onrecord.projections.api import FOLDERS
from onrecord.projections.views.registry import VIEWS
from tests.import_graph import modules, package_cycles

ROOT = Path(__file__).parents[1]
FACE = ROOT / "src" / "onrecord" / "__init__.py"
LAYERS = ("domain", "projections", "adapters")

# Of ours, each layer imports only these.
MAY_IMPORT = {
    "domain": ("onrecord.domain",),
    "projections": ("onrecord.domain", "onrecord.projections"),
    "adapters": ("onrecord",),
}
# Of others, the two inner layers import only these and the standard library.
LIBRARIES = {"pydantic", "pydantic_core", "typing_extensions"}
NO_EFFECTS = {
    "domain": {
        *("asyncio", "http", "io", "logging", "multiprocessing", "os", "pathlib", "random"),
        *("secrets", "shutil", "socket", "sqlite3", "ssl", "subprocess", "tempfile"),
        *("threading", "time", "urllib"),
    },
    "projections": {"http", "socket", "sqlite3", "ssl", "subprocess", "urllib"},
}
CLOCK_AND_CHANCE = {"now", "today", "utcnow", "uuid1", "uuid4", "uuid7", "urandom"}

BACKENDS = {"http", "memory", "postgres", "sqlite"}
WIRE = "onrecord.adapters.wire"
WIRES = f"{WIRE}.wires"
"""It imports each API's `wire` by the name of its folder."""
COMPOSITION_ROOT = ROOT / "adapters" / "app.py"

ABOUT_SIX_SDKS = (
    "adapters/check/",  # Their types, and where services take more than these have.
    "adapters/wire/clients/record.py",  # Their clients.
    "adapters/demo/",  # A story with each of them, and the command that tells it.
    "adapters/cli/commands.py",
    "adapters/proxy/upstreams.py",  # Their companies' servers.
)
"""What is about the SDKs of the APIs that are built in: another API has no place in it."""

MEANINGLESS = {
    *("base", "common", "core", "helper", "helpers", "manager", "managers", "misc"),
    *("util", "utility", "utils"),
}
OTHERS_FILES = {
    *("_api_client.py", "_base_client.py", "chats.py", "client.py", "lib/azure.py"),
    *("resources/messages/batches.py", "types/batch.py"),
}
LONGEST_FILE = 400
MOST_IN_A_FOLDER = 20
MOST_FLAT = {"domain": MOST_IN_A_FOLDER, "projections": 3, "adapters": 5}

HEAVY = {
    *("a2a", "anthropic", "anyio", "defusedxml", "httpx", "httpx2", "lark", "mcp", "openai"),
    *("opentelemetry", "psycopg", "redis", "rich", "starlette", "typer", "urllib3", "uvicorn"),
}


OF_EXTRAS = (HEAVY - {"rich", "typer"}) | {
    *("aiohttp", "authlib", "botocore", "cryptography", "google.genai", "httptools", "ollama"),
    *("joserfc", "prometheus_client", "psycopg_pool", "uvloop"),
}


def sources(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return sorted(path for path in found if "__pycache__" not in path.parts)


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Every name that a file imports, in full: `from a import b` is `a.b`."""
    found = list[str]()
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Import(names=names):
                found += (name.name for name in names)
            case ast.ImportFrom(module=str(module), names=names):
                found += (f"{module}.{name.name}" for name in names)
            case _:
                pass
    return tuple(found)


def is_below(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def words(name: str) -> set[str]:
    """`EventManager` and `event_manager` are both {"event", "manager"}."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_inwards(layer: str) -> None:
    outwards = [
        f"{shown(path)} imports {name}"
        for path in sources(layer)
        for name in imports(path)
        if is_below(name, ("onrecord",)) and not is_below(name, MAY_IMPORT[layer])
    ]
    assert outwards == []


@pytest.mark.parametrize("layer", ["domain", "projections"])
def test_the_inner_layers_need_only_pydantic(layer: str) -> None:
    allowed = sys.stdlib_module_names | LIBRARIES | {"onrecord"}
    foreign = [
        f"{shown(path)} imports {name}"
        for path in sources(layer)
        for name in imports(path)
        if name.split(".")[0] not in allowed
    ]
    assert foreign == []


@pytest.mark.parametrize("layer", ["domain", "projections"])
def test_the_inner_layers_import_nothing_that_touches_the_world(layer: str) -> None:
    effects = [
        f"{shown(path)} imports {name}"
        for path in sources(layer)
        for name in imports(path)
        if name.split(".")[0] in NO_EFFECTS[layer]
    ]
    assert effects == []


def test_the_domain_reads_no_clock_and_throws_no_dice() -> None:
    calls = [
        f"{shown(path)}:{node.lineno} calls {name}"
        for path in sources("domain")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and (name := called(node)) in CLOCK_AND_CHANCE
    ]
    assert calls == []


def called(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def test_only_the_composition_root_knows_two_backends() -> None:
    torn = [
        f"{shown(path)} knows {', '.join(sorted(backends))}"
        for path in sources("adapters")
        if path != COMPOSITION_ROOT and len(backends := backends_known_to(path)) > 1
    ]
    assert torn == []


def backends_known_to(path: Path) -> set[str]:
    """The backends whose folders of logs or views a file imports from or lies in."""
    names = (module_of(path), *imports(path))
    found = [re.match(r"onrecord\.adapters\.(?:storage|views)\.(\w+)", name) for name in names]
    return {match[1] for match in found if match} & BACKENDS


@pytest.mark.parametrize("database", ["postgres", "sqlite"])
def test_each_view_that_is_listed_is_kept_by_each_database(database: str) -> None:
    """`VIEWS` is the one table of views: each has its queries, and its fold a module of its own.

    Rows of projections that programs bring are in one table more.
    """
    folder = ROOT / "adapters" / "views" / database / "sql"
    queries = {path.stem.removeprefix("queries_") for path in folder.glob("queries_*.sql")}
    folds = {path.stem for path in sources("projections/views")}
    assert VIEWS.keys() <= queries & folds
    tables = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("0*.sql"))
    kept = set(re.findall(r"CREATE TABLE (?:\{log\}\.)?view_(\w+) \(", tables))
    assert kept == VIEWS.keys() | {"own"}


def test_no_module_or_class_has_a_name_that_says_nothing() -> None:
    everything = [*sources("src", *LAYERS, "tests")]
    modules = [shown(path) for path in everything if words(path.stem) & MEANINGLESS]
    folders = {shown(path.parent) for path in everything if words(path.parent.name) & MEANINGLESS}
    classes = [
        f"{shown(path)}: class {node.name}"
        for path in everything
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and words(node.name) & MEANINGLESS
    ]
    assert [*modules, *sorted(folders), *classes] == []


def test_files_that_docstrings_and_comments_name_are_there() -> None:
    """But for those of SDKs, which are named with what was read there."""
    there = {shown(path) for path in sources("src", *LAYERS)}
    named = [
        (shown(path), name)
        for path in sources("src", *LAYERS)
        for name in re.findall(r"(?<![\w/.-])((?:\w+/)*\w+\.py)\b", path.read_text("utf-8"))
        if name not in OTHERS_FILES
    ]
    assert named
    assert [
        each for each in named if not any(f"/{one}".endswith(f"/{each[1]}") for one in there)
    ] == []


def test_no_file_is_too_long_to_read() -> None:
    too_long = {
        shown(path): lines
        for path in sources("src", *LAYERS, "tests")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST_FILE
    }
    assert too_long == {}


def test_no_folder_holds_more_modules_than_a_reader_takes_in() -> None:
    folders = Counter(path.parent for path in sources(*LAYERS) if path.name != "__init__.py")
    full = {
        shown(folder): modules
        for folder, modules in folders.items()
        if modules > MOST_FLAT.get(shown(folder), MOST_IN_A_FOLDER)
    }
    assert full == {}


def test_the_apis_are_listed_in_one_place() -> None:
    """Whatever goes over all of them asks `names()`, so that it knows those of other packages too."""
    lists = [
        shown(path)
        for path in sources("src", *LAYERS)
        if {node.value for node in ast.walk(parsed(path)) if isinstance(node, ast.Constant)}
        >= FOLDERS.keys()
    ]
    assert [name for name in lists if not name.startswith(ABOUT_SIX_SDKS)] == ["projections/api.py"]


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_one_module_of_the_inner_layers_asks_what_is_installed() -> None:
    asking = [
        shown(path)
        for path in sources("domain", "projections")
        for name in imports(path)
        if is_below(name, ("importlib", "pkgutil"))
    ]
    assert set(asking) == {"projections/api.py"}


@pytest.mark.parametrize("order", ["sorted", "reversed"])
def test_modules_can_be_imported_in_any_order(order: str) -> None:
    # The SDK of this one holds google-genai back: tests/frameworks imports it, where the SDK is.
    without_sdk = {"onrecord.adapters.frameworks.adk.service"}
    names = sorted({module_of(path) for path in sources(*LAYERS)} - without_sdk)
    wanted = names if order == "sorted" else names[::-1]
    program = "import sys; from importlib import import_module; [*map(import_module, sys.argv[1:])]"
    run = subprocess.run(
        [sys.executable, "-c", program, *wanted], capture_output=True, check=False, text=True
    )
    assert run.returncode == 0, run.stderr


def test_no_modules_import_each_other() -> None:
    """Neither directly nor by way of others; what is imported in a function does not count."""
    names = {module_of(path): path for path in sources(*LAYERS)}
    left = {name: imported_at_once(path) & names.keys() - {name} for name, path in names.items()}
    left[WIRES] |= {name for name in names if re.fullmatch(rf"{WIRE}\.\w+\.wire", name)}
    while free := {name for name, needed in left.items() if not needed & left.keys()}:
        left = {name: needed for name, needed in left.items() if name not in free}
    assert left == {}


def test_no_packages_import_each_other() -> None:
    """Neither directly nor by way of others; a folder and the one that holds it are two packages."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in modules()}
    assert package_cycles(trees) == []


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("onrecord", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def imported_at_once(path: Path) -> set[str]:
    """The modules that a file imports when it is imported: those of its statements at the top."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for name in (node.module, *(f"{node.module}.{each.name}" for each in node.names))
    }


def test_ours_is_imported_by_its_full_name() -> None:
    short = [
        f"{shown(path)} imports {name}"
        for path in sources("src", *LAYERS, "tests")
        for name in imports(path)
        if name.split(".")[0] in LAYERS
    ]
    assert short == []


def test_importing_onrecord_loads_no_sdk_and_no_driver() -> None:
    program = "import sys, onrecord; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert {name.split(".")[0] for name in run.stdout.split()} & HEAVY == set()


def test_a_day_with_a_store_on_sqlite_needs_no_extra(tmp_path: Path) -> None:
    """What an extra brings may be absent: nothing that a plain install can do imports it."""
    program = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[2:]))
import onrecord
with onrecord.connect("sqlite:///" + sys.argv[1]) as store:
    chat = store.conversation("a")
    chat.user("Hello")
    chat.request("openai-chat")
    print(len(list(store.views.search("hello"))), len(store.verify(views=True).faults))
    store.forget("a", reason="asked to", actor="ana")
    store.sweep()
"""
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "log.db"), *sorted(OF_EXTRAS)],
        capture_output=True,
        check=False,
        text=True,
    )
    assert (run.stdout, run.stderr) == ("1 0\n", "")


def test_the_service_needs_no_package_of_an_issuer_until_one_is_named() -> None:
    program = "import sys; sys.modules.update(authlib=None, joserfc=None); import onrecord.adapters.gateway.gateway"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, text=True
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("client", "absent"), [("botocore", "anyio"), ("genai", "aiohttp"), ("record", "aiohttp")]
)
def test_a_client_is_recorded_without_what_only_another_one_needs(client: str, absent: str) -> None:
    program = f"import sys; sys.modules[{absent!r}] = None; import {WIRE}.clients.{client}"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, text=True
    )
    assert run.returncode == 0, run.stderr
