"""What the demo shows: the talk as it streams, then the views of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from hansard.adapters.cli import output, replaying, timeline
from hansard.adapters.cli.asking import draw_report
from hansard.adapters.cli.naming import Named
from hansard.adapters.cli.timeline import STYLES
from hansard.adapters.demo.wrapping import Wrapped
from hansard.projections.replay import Outcome
from hansard.projections.requests.request import Request
from hansard.projections.timeline import Row, Speaker

if TYPE_CHECKING:
    from anthropic.lib.streaming import ParsedMessageStreamEvent

_INDENT: Final = "  "


class Screen:
    """Draws on the terminal, or plainly where there is none; `quiet` draws nothing."""

    def __init__(self, *, quiet: bool) -> None:
        """Take standard output."""
        self._console = Console(highlight=False, emoji=False, markup=False, quiet=quiet)
        self._open: tuple[str, Wrapped] | None = None
        self._speaker: Speaker | None = None

    def hello(self, url: str, *, live: bool) -> None:
        """Say what is about to happen, and where it is kept."""
        whom = "Anthropic's service" if live else "a model server here"
        self._line(f"The official anthropic SDK talks to {whom}; Hansard records it.", "bold")
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
                self._piece("", event.text)
            case "thinking":
                self._piece("dim italic", event.thinking)
            case "content_block_stop":
                self._block(event.content_block)
            case "message_stop" if event.message.stop_reason == "pause_turn":
                self._note("pause_turn: the service searches on; the turn goes back as it is")
            case _:
                pass

    def result(self, name: str, text: str) -> None:
        """Show what a tool gave."""
        self._speaks("tool")
        self._indented(f"← {name}: {text}", "yellow")

    def broke(self, error: Exception) -> None:
        """Show that a stream broke."""
        self._close()
        self._note(f"the connection broke ({type(error).__name__}); what came is recorded")

    def timeline(self, named: Named, rows: Iterable[Row]) -> None:
        """Show the record."""
        self.heading("The record", "every block is an event; nothing is ever changed")
        timeline.draw(self._console, named, rows)

    def request(self, heading: str, call: str, made: Request) -> None:
        """Show a request: a line a message, then its report."""
        self.heading(heading, call)
        for message in made["messages"]:
            role: Speaker = message["role"]
            said = Text.assemble(
                (f"{_INDENT}{role:<10} ", STYLES[role]), _kinds(message["content"])
            )
            self._console.print(said, no_wrap=True, overflow="ellipsis")
        if not self._console.quiet:
            draw_report(self._console, made)

    def replayed(self, outcomes: list[Outcome]) -> None:
        """Show what the replay proves."""
        self.heading("The proof", "hansard replay support/4711 --verify")
        self._console.print(replaying.table(outcomes))
        self._line(replaying.summary(outcomes), "bold green")

    def goodbye(self, url: str, *, kept: bool) -> None:
        """Say where to go on."""
        self._console.print()
        if kept:
            self._line(f"Look around:  export HANSARD_URL={url}", "bold")
            self._line("              hansard conversations; hansard show support/4711", "dim")
        else:
            self._line("hansard demo --keep leaves the store, to look around in it.", "dim")

    def _speaks(self, speaker: Speaker) -> None:
        self._close()
        if speaker != self._speaker:
            self._speaker = speaker
            self._console.print()
            self._line(speaker, STYLES[speaker])

    def _piece(self, style: str, text: str) -> None:
        self._speaks_on("assistant")
        self._wrapped(style).add(text)

    def _speaks_on(self, speaker: Speaker) -> None:
        if speaker != self._speaker:
            self._speaks(speaker)

    def _block(self, block: Any) -> None:
        """Show a block that is whole; text and thinking were shown already."""
        if block.type in {"tool_use", "server_tool_use"}:
            self._speaks("assistant")
            arguments = ", ".join(f"{name}={held}" for name, held in block.input.items())
            self._indented(f"→ {block.name}({arguments})", "yellow")
        elif block.type.endswith("_tool_result"):
            titles = "; ".join(hit.title for hit in block.content)
            self._indented(f"← {titles}", "blue")
        elif block.type == "redacted_thinking":
            self._speaks("assistant")
            self._indented("(thinks; only the service can read it)", "dim italic")
        elif block.type == "thinking":
            self._close()

    def _note(self, text: str) -> None:
        self._indented(text, "bold yellow")

    def _indented(self, text: str, style: str) -> None:
        self._close()
        self._wrapped(style).add(text)
        self._close()

    def _wrapped(self, style: str) -> Wrapped:
        """Return where text of this style goes on."""
        if self._open is None or self._open[0] != style:
            self._close()

            def write(piece: str) -> None:
                self._console.print(
                    Text(piece if piece == "\n" else output.escaped(piece), style), end=""
                )

            self._open = (style, Wrapped(write, self._console.width - 2, _INDENT))
        return self._open[1]

    def _close(self) -> None:
        if self._open is not None:
            self._open[1].end()
            self._open = None

    def _line(self, text: str, style: str) -> None:
        self._console.print(Text(output.escaped(text), style))


def _kinds(content: Any) -> Text:
    if isinstance(content, str):
        return Text("text")
    return Text(", ".join(block["type"] for block in content))
