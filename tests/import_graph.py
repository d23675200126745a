"""Which module of the three folders imports which, and which packages import each other."""

import ast
from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("domain", "projections", "adapters")


def modules() -> list[Path]:
    """Return every Python file of the three folders."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return sorted(path for path in found if "__pycache__" not in path.parts)


def package_cycles(trees: dict[Path, ast.Module]) -> list[list[str]]:
    """Return the packages that import each other, directly or by way of others, in groups."""
    names = {module_name(path): path for path in trees}
    package = {
        name: name if path.name == "__init__.py" else name.rpartition(".")[0]
        for name, path in names.items()
    }
    needed: dict[str, set[str]] = {each: set() for each in package.values()}
    for name, path in names.items():
        imported = {package[target] for target in imported_at_once(trees[path], names.keys())}
        needed[package[name]] |= imported - {package[name]}
    reach = {each: reachable(each, needed) for each in needed}
    groups = {
        tuple(sorted(other for other in reach[each] if each in reach[other]))
        for each in needed
        if each in reach[each]
    }
    return [[name.removeprefix("onrecord.") for name in group] for group in sorted(groups)]


def reachable(start: str, needed: dict[str, set[str]]) -> set[str]:
    """Return all that can be reached from a package by imports, itself only by a cycle."""
    found: set[str] = set()
    ahead = list(needed[start])
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead.extend(needed[name])
    return found


def module_name(path: Path) -> str:
    """Return the name by which a file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("onrecord", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def imported_at_once(tree: ast.Module, known: Collection[str]) -> set[str]:
    """Return the known modules that a file imports at its top: `from a import b` is `a.b`, or `a`."""
    return {
        module if (module := f"{node.module}.{each.name}") in known else node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for each in node.names
        if node.module in known
    }
