"""What the demo shows: the conversation as it streams, then the views of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from onrecord.adapters.presentation.control_characters import escaped, flat
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.presentation.sizes_and_times import size
from onrecord.adapters.terminal import output, timeline_listing
from onrecord.adapters.terminal.request_listings import message_count, replay_table, summary
from onrecord.adapters.terminal.timeline_listing import STYLES
from onrecord.domain.errors import counted
from onrecord.projections.apis.request import Report, Request, Where
from onrecord.projections.history.timeline import Row
from onrecord.projections.history.timeline_text import Speaker
from onrecord.projections.matching.template import Outcome

if TYPE_CHECKING:
    from anthropic.lib.streaming import ParsedMessageStreamEvent

    from onrecord.adapters.demo.claim import ForkProof


_PARTS: Final = re.compile(r"\n|[^\S\n]+|\S+")


class Wrapped:
    """Writes words as soon as they are whole, each line at most `width` wide and indented."""

    def __init__(self, write: Callable[[str], None], width: int, indent: str) -> None:
        """Write through `write`; nothing is written before the first word."""
        self._write = write
        self._width = width
        self._indent = indent
        self._column = 0
        self._pending = ""

    def add(self, text: str) -> None:
        """Take in a piece; its last word waits for what follows."""
        parts: list[str] = _PARTS.findall(self._pending + text)
        self._pending = parts.pop() if parts and not parts[-1].isspace() else ""
        for part in parts:
            self._put(part)

    def end(self) -> None:
        """Write what waits, and end the line."""
        self._put(self._pending)
        self._pending = ""
        if self._column:
            self._break()

    def _put(self, part: str) -> None:
        if part == "\n":
            self._break()
        elif part.isspace():
            self._column += 1 if self._column else 0
            self._write(" " if self._column else "")
        elif part:
            self._put_word(part)

    def _put_word(self, word: str) -> None:
        if self._column + len(word) > self._width:
            self._break()
        if self._column == 0:
            self._write(self._indent)
            self._column = len(self._indent)
        self._write(word)
        self._column += len(word)

    def _break(self) -> None:
        self._write("\n")
        self._column = 0


_INDENT: Final = "  "
_COLUMNS: Final[tuple[JustifyMethod, ...]] = ("left", "right", "right", "left")
_WAYS: Final[dict[Where, str]] = {
    "inline": "in the result",
    "behind": "behind it",
    "words": "in words",
}
_REWORDED: Final = {"translated": "reworded"}


class Screen:
    """Draws on the terminal, or plainly where there is none; `quiet` draws nothing."""

    def __init__(self, *, quiet: bool) -> None:
        """Take standard output."""
        self._console = output.console(quiet=quiet)
        self._open: tuple[str, Wrapped] | None = None
        self._speaker: Speaker | None = None

    def hello(self, url: str, *, live: bool) -> None:
        """Say what is about to happen, and where it is kept."""
        whom = "the real services" if live else "a model server here"
        self._line(f"The official SDKs talk to {whom}; Onrecord records it.", "bold")
        self._line(url, "dim")

    def heading(self, text: str, about: str = "") -> None:
        """Begin a part."""
        self._close()
        self._console.print()
        title = f"━━ {text} "
        rule = "━" * max(0, self._console.width - len(title))
        self._console.print(Text.assemble((title, "bold"), (rule, "dim")))
        if about:
            self._line(about, "dim")

    def prompt(self, text: str, documents: Sequence[str]) -> None:
        """Show what the user says."""
        self._speaks("user")
        for name in documents:
            self._indented(name, "cyan")
        self._wrapped("").add(text)
        self._close()

    def streamed(self, event: ParsedMessageStreamEvent[None]) -> None:
        """Show the next piece of an answer as it arrives."""
        match event.type:
            case "text":
                self.said(event.text)
            case "thinking":
                self.thought(event.thinking)
            case "content_block_stop":
                self._block(event.content_block)
            case "message_stop" if event.message.stop_reason == "pause_turn":
                self.remark("pause_turn: the service searches on; the turn goes back as it is")
            case _:
                pass

    def said(self, text: str) -> None:
        """Show the next piece of what the model says."""
        self._piece("", text)

    def thought(self, text: str) -> None:
        """Show the next piece of what the model says that it thinks."""
        self._piece("dim italic", text)

    def called(self, name: str, arguments: str) -> None:
        """Show a call that the model makes."""
        self._assistant_speaks()
        self._indented(f"→ {name}({arguments})", "yellow")

    def sealed_thought(self) -> None:
        """Show that the model thinks, which only its service can read."""
        self._assistant_speaks()
        self._indented("(thinks; only the service can read it)", "dim italic")

    def report(self, made: Request) -> None:
        """Say in a line what of the record a request could not hold, and what it holds otherwise."""
        self.remark(in_a_line(made.report))

    def remark(self, text: str) -> None:
        """Say what else there is to know."""
        self._indented(text, "bold yellow")

    def checked(self, what: str, *, holds: bool) -> None:
        """Say what was looked for in an answer, and whether it is so."""
        self._indented(f"{'✓' if holds else '✗'} {what}", "green" if holds else "bold red")

    def result(self, name: str, text: str) -> None:
        """Show what a tool gave."""
        self._speaks("tool")
        self._indented(f"← {name}: {text}", "yellow")

    def broke(self, error: Exception) -> None:
        """Show that a stream broke."""
        self._close()
        self.remark(f"the connection broke ({type(error).__name__}); what came is recorded")

    def timeline(
        self, conversation: NamedConversation, rows: Iterable[Row], left_out: int, *, kept: bool
    ) -> None:
        """Show the record; `left_out` events more are only counted, and can be seen if it is kept."""
        self.heading("The record", "every block is an event; nothing is ever changed")
        timeline_listing.draw(self._console, conversation, rows)
        how = "onrecord show support/4711" if kept else "onrecord demo --keep leaves the store"
        self._line(f"… and {counted(left_out, 'event')} more: {how}", "dim")

    def requests(self, made: Iterable[tuple[str, Request]]) -> None:
        """Show requests side by side: how long each is, and what was done to make it."""
        self.heading("What would be sent next", "chat.request(api), in a window, or as of before")
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        for justify in _COLUMNS:
            table.add_column(justify=justify)
        for name, request in made:
            length = sum(len(part) for part in request.body_parts().values())
            deeds = Text(_deeds(request.report), "dim")
            table.add_row(name, counted(*message_count(request)), size(length), deeds)
        self._console.print(table)

    def shown(self, proofs: Iterable[ForkProof]) -> None:
        """Show where every API is shown each document of a result, as its request has it."""
        self.heading("Where its papers go", "chat.fork(key).request(api), sent and answered")
        table = Table.grid(padding=(0, 2, 0, 0))
        for style in ("cyan", "", "dim"):
            table.add_column(style=style, overflow="fold")
        for each in proofs:
            table.add_row(Text(each.api, "bold"), Text("✓ sent", "green"), "answered, proven")
            for document in each.documents:
                name = flat(document.name)
                table.add_row(f"  {name}", _WAYS[document.where], document.block)
        self._console.print(table)

    def replayed(self, outcomes: list[Outcome]) -> None:
        """Show what the replay proves."""
        self.heading("The proof", "onrecord replay support/4711 --verify")
        self._console.print(replay_table(outcomes))
        self._line(summary(outcomes), "bold green")

    def goodbye(self, url: str, *, kept: bool) -> None:
        """Say where to go on."""
        self._console.print()
        if kept:
            self._line(f"Look around:  export ONRECORD_URL={url}", "bold")
            self._line("              onrecord conversations; onrecord show support/4711", "dim")
        else:
            self._line("onrecord demo --keep leaves the store, to look around in it.", "dim")

    def _speaks(self, speaker: Speaker) -> None:
        self._close()
        if speaker != self._speaker:
            self._speaker = speaker
            self._console.print()
            self._line(speaker, STYLES[speaker])

    def _piece(self, style: str, text: str) -> None:
        if text:
            self._assistant_speaks()
            self._wrapped(style).add(text)

    def _assistant_speaks(self) -> None:
        if self._speaker != "assistant":
            self._speaks("assistant")

    def _block(self, block: Any) -> None:
        """Show a block that is whole; text and thinking were shown already."""
        if block.type in {"tool_use", "server_tool_use"}:
            arguments = ", ".join(f"{name}={value}" for name, value in block.input.items())
            self.called(block.name, arguments)
        elif block.type.endswith("_tool_result"):
            titles = "; ".join(hit.title for hit in block.content)
            self._indented(f"← {titles}", "blue")
        elif block.type == "redacted_thinking":
            self.sealed_thought()
        elif block.type == "thinking":
            self._close()

    def _indented(self, text: str, style: str) -> None:
        self._close()
        self._wrapped(style).add(text)
        self._close()

    def _wrapped(self, style: str) -> Wrapped:
        """Return where text of this style goes on."""
        if self._open is None or self._open[0] != style:
            self._close()

            def write(piece: str) -> None:
                self._console.print(Text(piece if piece == "\n" else escaped(piece), style), end="")

            self._open = (style, Wrapped(write, self._console.width - 2, _INDENT))
        return self._open[1]

    def _close(self) -> None:
        if self._open is not None:
            self._open[1].end()
            self._open = None

    def _line(self, text: str, style: str) -> None:
        self._console.print(Text(escaped(text), style))


def in_a_line(report: Report) -> str:
    """Return what a report comes to: what could not travel, and how much travels in other words."""
    left = Counter(_told(note.why) for note in report if note.deed == "left out")
    others = sum(note.deed in ("translated", "repaired", "moved") for note in report)
    reasons = [f"{count} times {why}" if count > 1 else why for why, count in left.most_common()]
    stays = f"could not travel: {'; '.join(reasons)}" if reasons else "all of it travels"
    return f"{stays}. {counted(others, 'block')} in other words" if others else stays


def _deeds(report: Report) -> str:
    done = Counter(_REWORDED.get(note.deed, note.deed) for note in report)
    return ", ".join(f"{count} {deed}" for deed, count in done.most_common()) or "all as it was"


def _told(why: str) -> str:
    """Return why something could not travel, whoever alone can read it."""
    return "reasoning of others" if why.startswith("reasoning that only ") else why
