"""The table of what goes where: each recorded block to each API, and how it goes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

GOES: Final = "any to any"
REFUSED: Final = "refused"
APIS: Final = (
    *("anthropic-messages", "openai-chat", "openai-responses"),
    *("gemini", "ollama", "bedrock-converse"),
)
_LEFT: Final = "left out: "
_WIDTH: Final = 26


def matrix(totals: Mapping[tuple[str, str], Counter[str]]) -> Iterator[str]:
    """The lines of the table: a row an API that a block was said in, a column one it goes to."""
    if not any(row == GOES for row, _ in totals):
        return
    yield "any to any: verbatim + in its words + repaired + left out (lost, refused); it goes to:"
    yield _line("said in", APIS)
    for source in APIS:
        cells = [_cell(totals, source, to) for to in APIS]
        blocks = max(_of(totals, GOES, source, to)["blocks"] for to in APIS)
        yield _line(f"{source}: {blocks:,}", cells)
    for to in APIS:
        yield f"left out for {to}: {', '.join(_left_out(totals, to)) or 'nothing'}"


def _line(name: str, cells: list[str] | tuple[str, ...]) -> str:
    return f"{name:<{_WIDTH}}" + "".join(f"{cell:<{_WIDTH}}" for cell in cells).rstrip()


def _cell(totals: Mapping[tuple[str, str], Counter[str]], source: str, to: str) -> str:
    of = _of(totals, GOES, source, to)
    ways = "+".join(str(of[way]) for way in ("verbatim", "in its words", "repaired", "left out"))
    return f"{ways} ({of['lost']}, {_of(totals, REFUSED, source, to)['refused']})"


def _left_out(totals: Mapping[tuple[str, str], Counter[str]], to: str) -> Iterator[str]:
    every = sum((_of(totals, GOES, source, to) for source in APIS), Counter[str]())
    kinds = {kind.removeprefix(_LEFT): every[kind] for kind in every if kind.startswith(_LEFT)}
    yield from (f"{kinds[kind]:,} {kind}" for kind in sorted(kinds))


def _of(
    totals: Mapping[tuple[str, str], Counter[str]], row: str, source: str, to: str
) -> Counter[str]:
    return totals.get((row, f"{source} {to}"), Counter[str]())
