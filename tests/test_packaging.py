"""What is listed for the wheel is what is in the tree.

A package or a data file that is not listed works in a checkout and is missing from the wheel, without a word.
"""

import tomllib
from pathlib import Path
from typing import TypedDict, cast

import pytest

import onrecord
from onrecord.domain import errors

ROOT = Path(__file__).parents[1]
LAYERS = ("domain", "projections", "adapters")
Listing = TypedDict(
    "Listing",
    {
        "packages": list[str],
        "package-dir": dict[str, str],
        "package-data": dict[str, list[str]],
    },
)


@pytest.fixture(scope="module")
def listing() -> Listing:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return cast(Listing, pyproject["tool"]["setuptools"])


def folder_of(package: str) -> Path:
    """`onrecord` is src/onrecord, `onrecord.domain` is domain."""
    names = package.split(".")[1:]
    return (
        ROOT.joinpath(*names)
        if names and names[0] in LAYERS
        else ROOT.joinpath("src", "onrecord", *names)
    )


def files_below(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


def test_every_package_of_the_tree_is_listed(listing: Listing) -> None:
    in_tree = {
        ".".join(("onrecord", *path.parent.relative_to(ROOT).parts))
        for layer in LAYERS
        for path in files_below(ROOT / layer)
        if path.name == "__init__.py"
    }
    faces = {"onrecord", "onrecord.eventsourcing", "onrecord.frameworks"}
    assert sorted(listing["packages"]) == sorted({*faces, *in_tree})


def test_every_folder_with_code_is_a_package() -> None:
    bare = {
        str(path.parent.relative_to(ROOT))
        for layer in LAYERS
        for path in files_below(ROOT / layer)
        if path.suffix == ".py" and not (path.parent / "__init__.py").exists()
    }
    assert bare == set()


def test_every_package_is_mapped_to_its_folder(listing: Listing) -> None:
    mapped = listing["package-dir"]
    folders = {
        package: folder_of(package)
        for package in ("onrecord", *(f"onrecord.{it}" for it in LAYERS))
    }
    beside = {"": ROOT / "src"}  # What the installed program starts in, beside the package.
    assert {name: ROOT / folder for name, folder in mapped.items()} == folders | beside


def test_every_data_file_is_listed(listing: Listing) -> None:
    in_tree = {
        path
        for layer in LAYERS
        for path in files_below(ROOT / layer)
        if path.suffix != ".py" and not path.name.startswith(".")
    }
    listed = {
        path
        for package, patterns in listing["package-data"].items()
        for pattern in patterns
        for path in folder_of(package).glob(pattern)
        if path.is_file()
    }
    assert in_tree - listed == set()


@pytest.mark.parametrize("layer", LAYERS)
def test_each_layer_is_linked_for_type_checkers(layer: str) -> None:
    link = ROOT / "src" / "onrecord" / layer
    # Where git has made no links it writes the target into a plain file.
    target = link.readlink() if link.is_symlink() else Path(link.read_text(encoding="utf-8"))
    assert target == Path("..", "..", layer)


def test_the_package_is_typed_and_says_its_version() -> None:
    assert (folder_of("onrecord") / "py.typed").exists()
    assert onrecord.__version__.count(".") == 2


def test_every_error_can_be_caught_by_its_name() -> None:
    named = {name for name, held in vars(errors).items() if isinstance(held, type)}
    assert named - set(onrecord.__all__) == set()
    assert issubclass(onrecord.RecordingWarning, UserWarning)


@pytest.mark.parametrize("name", onrecord.__all__)
def test_every_name_of_the_public_face_is_there(name: str) -> None:
    assert getattr(onrecord, name) is not None
    assert name in dir(onrecord)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sing'"):
        getattr(onrecord, "sing")  # noqa: B009 - it is not there


def test_what_an_append_says_has_a_name() -> None:
    done = onrecord.connect("memory://").conversation("support/4711").user("Hello")
    assert isinstance(done, onrecord.Recorded | onrecord.Duplicate)
