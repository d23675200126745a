"""`onrecord share`: one file of a conversation to hand on, without what is hidden."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import typer

from onrecord.adapters.cli.program.extras import require_extra
from onrecord.adapters.cli.program.options import STANDARD_INPUT, AsJson, Key, Url, readable
from onrecord.adapters.cli.program.output_files import write_pieces
from onrecord.adapters.cli.program.stores import note_ciphertext, open_store
from onrecord.adapters.page.share.hidable import HIDABLE, Hidable
from onrecord.adapters.presentation.conversations import NamedConversation, require_conversation
from onrecord.adapters.presentation.sizes_and_times import size
from onrecord.adapters.terminal import output
from onrecord.domain.errors import InvalidInput, counted

if TYPE_CHECKING:
    from onrecord.adapters.page.conversation.event_ranges import EventRange
    from onrecord.adapters.page.conversation.events import ShownEvent
    from onrecord.adapters.page.share.copying import Excerpt
    from onrecord.adapters.page.share.hiding import Hiding, Shared
    from onrecord.adapters.store import Store

FileFormat: TypeAlias = Literal["html", "markdown", "json"]

_KINDS: Final = "; ".join(HIDABLE.values())


def _readable(path: Path | None) -> Path | None:
    return None if path is None else readable(path)


def share(
    context: typer.Context,
    key: Key,
    into: Annotated[
        Path,
        typer.Option(
            "--into",
            "--out",
            "-o",
            dir_okay=False,
            metavar="FILE",
            help="Write to a file; `-`: standard output.",
        ),
    ],
    first: Annotated[
        int, typer.Option("--from", min=1, metavar="VERSION", help="The first version.")
    ] = 1,
    last: Annotated[
        int | None,
        typer.Option(
            "--to",
            min=1,
            metavar="VERSION",
            help="The last version.",
            show_default="the conversation's",
        ),
    ] = None,
    hide: Annotated[
        list[Hidable] | None,
        typer.Option(
            help=f"Hide all of one kind: {_KINDS}. May be given several times.",
            show_default=False,
        ),
    ] = None,
    word: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Hide this word, however it is spelled. May be given several times.",
            show_default=False,
        ),
    ] = None,
    words: Annotated[
        Path | None,
        typer.Option(
            callback=_readable,
            metavar="FILE",
            help="Hide the words in this file, one a line; `-`: standard input.",
            show_default=False,
        ),
    ] = None,
    file_format: Annotated[
        FileFormat,
        typer.Option(
            "--as", help="One HTML file, or a copy: Markdown, or a line of JSON an event."
        ),
    ] = "html",
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Make one file of a conversation to hand on: HTML that runs nothing and loads nothing.

    It says how many pieces are hidden in it, and why, and at how many places each word stood, by its
    number. What was redacted or erased in the record is not in it. Read it before you hand it on. A file is
    written whole or not at all, and only its owner can read it. A copy hides nothing but what was redacted.

    Example: `onrecord share support/4711 --into 4711.html --hide reasoning --hide people --words names.txt`

    Example: `onrecord share support/4711 --into 4711.md --as markdown --from 12 --to 40`
    """
    lines = tuple(_words(word or [], words))
    if file_format != "html" and (hide or lines):
        raise typer.BadParameter("a copy hides no more than was redacted: make the HTML file")
    from onrecord.adapters.page.share.copying import excerpt_between
    from onrecord.adapters.page.share.hidden_words import words_in
    from onrecord.adapters.page.share.hiding import Hiding

    hiding = Hiding(frozenset(hide or ()), words_in(lines))
    with open_store(context, url) as store:
        conversation = require_conversation(store, key)
        excerpt = excerpt_between(store, conversation, first, last)
        note_ciphertext(store, "the file is in clear")
        data, content = _build_file(store, conversation, excerpt, hiding, file_format)
        written = write_pieces(store, into, [data], replace=force)
    done = _Done(conversation, excerpt, content)
    if excerpt.missing:
        early = f"{counted(excerpt.missing, 'event')} before version {excerpt.asked_until}"
        output.note(f"It ends early, {early}: the conversation is long.")
    if written is None:
        _say(done.remarks(), output.note)
    elif as_json:
        output.json_line({"file": str(into), "bytes": written, **done.document()})
    else:
        output.sentence(f"{done.events()} in {into}, {size(written)}.")
        _say(done.remarks(), output.sentence)


def _words(words: list[str], file: Path | None) -> Iterator[str]:
    """Yield the words to hide; wrong usage where there is none in what was to name some.

    A variable that is not set must not make a file in which nothing is hidden.
    """
    if any(not each.strip() for each in words):
        raise typer.BadParameter("a word to hide is empty")
    yield from words
    if file is None:
        return
    lines = _text(file).splitlines()
    if not any(line.strip() for line in lines):
        raise typer.BadParameter(f"{file} names no word to hide")
    yield from lines


def _text(file: Path) -> str:
    try:
        data = sys.stdin.buffer.read() if file == STANDARD_INPUT else file.read_bytes()
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is no text in UTF-8") from None
    except OSError as exc:
        raise InvalidInput(f"{file} cannot be read: {exc.strerror}") from exc
    if "\0" in text:  # As UTF-16 has it: its words would be found nowhere.
        raise InvalidInput(f"{file} is no text in UTF-8")
    return text


def _build_file(
    store: Store,
    conversation: NamedConversation,
    excerpt: Excerpt,
    hiding: Hiding,
    file_format: FileFormat,
) -> tuple[bytes, Shared | None]:
    """Return the bytes of a file, and what is hidden in it, where it is no copy."""
    if file_format != "html":
        from onrecord.adapters.page.share.copying import copy_text

        text = copy_text(store, conversation, excerpt, file_format)
        return text.encode(errors="replace"), None
    with require_extra("onrecord share", "serve"):
        from onrecord.adapters.page.share.share import build_file, file_input

    source = file_input(store, conversation, excerpt, hiding)
    with output.progress_of("Hiding") as progress:
        file = build_file(
            replace(source, events=_counted(source.events, excerpt.events, progress)), hiding
        )
    return file.data, file.content


def _counted(
    events: Iterable[ShownEvent], event_range: EventRange, progress: Callable[[int, int], None]
) -> Iterator[ShownEvent]:
    """Yield the events of a range, and tell how far they are."""
    for event in events:
        progress(event.version - event_range.first, event_range.count)
        yield event


class _Done(NamedTuple):
    conversation: NamedConversation
    excerpt: Excerpt
    content: Shared | None

    def events(self) -> str:
        """Return which events are in the file, in words."""
        events = self.excerpt.events
        versions = f"from version {events.first} to {events.until}"
        return f"{counted(events.count, 'event')} of {self.conversation}, {versions},"

    def remarks(self) -> Iterator[str]:
        """Yield what is missing in the file, in the words that stand in it."""
        if self.content is None:
            return
        from onrecord.adapters.page.share.hiding import REASONS

        hidden = self.content.hidden
        missing = sum(hidden.values())
        verb = "is" if missing == 1 else "are"
        counts = f"{counted(missing, 'piece')} of it {verb} not in this file:"
        yield counts if missing else "No piece is hidden."
        for reason, why in REASONS.items():
            if reason in hidden:
                yield f"- {why}: {hidden[reason]:,}"
        for number, places in enumerate(self.content.word_counts, 1):
            yield f"Word {number} of the list: {counted(places, 'place')}"

    def document(self) -> dict[str, Any]:
        """Return the same as members of JSON; what a copy does not count is null."""
        events, content = self.excerpt.events, self.content
        return {
            "events": events.count,
            "first": events.first,
            "last": events.until,
            "until": self.excerpt.asked_until,
            "hidden": None if content is None else dict(content.hidden),
            "places": None if content is None else list(content.word_counts),
        }


def _say(remarks: Iterator[str], write: Callable[[str], None]) -> None:
    for remark in remarks:
        write(remark)
