"""`onrecord request`, `diff`, `replay`, `check-request`: requests made, compared, sent and given."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from onrecord.adapters.cli.program.options import (
    STANDARD_INPUT,
    Api,
    AsJson,
    At,
    InputFile,
    Key,
    Strategy,
    Thinking,
    Url,
)
from onrecord.adapters.cli.program.stores import open_store
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.terminal import output
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidInput, MalformedJson, SecretMissing, counted
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history.windows import MessageWindow, Window

if TYPE_CHECKING:
    from onrecord.adapters.check.check import RequestCheck
    from onrecord.projections.apis.request import Request
    from onrecord.projections.apis.rules import Violation
    from onrecord.projections.matching.template import Outcome

Exchanges = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Keep the last N exchanges, and the open one.",
        show_default="all",
    ),
]


def request(
    context: typer.Context,
    key: Key,
    api: Api = "anthropic-messages",
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model that the request is for.",
            show_default="the model that answered last",
        ),
    ] = None,
    window: Exchanges = None,
    messages: Annotated[
        int | None,
        typer.Option(metavar="N", help="Keep the last N messages instead.", show_default="all"),
    ] = None,
    strategy: Annotated[
        Strategy, typer.Option(help="Which messages `--messages` keeps.")
    ] = Strategy.MESSAGE_WINDOW,
    at: At = None,
    cache: Annotated[bool, typer.Option("--cache", help="Place cache marks.")] = False,
    thinking: Annotated[
        Thinking, typer.Option(help="`drop` leaves out signed reasoning.")
    ] = Thinking.KEEP,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the next request, and a report of what was changed to make it.

    Piped: the request as compact JSON; the report goes to standard error.

    Example: `onrecord request support/4711 --api anthropic-messages --window 20`
    """
    if window is not None and messages is not None:
        raise typer.BadParameter("--window counts exchanges, --messages messages: give one of them")
    history_window: Window | MessageWindow | None = None
    if messages is not None:
        history_window = MessageWindow(messages=messages, strategy=strategy.value)
    elif window is not None:
        history_window = Window(exchanges=window, step=1)
    with open_store(context, url) as store:
        ask = partial(
            _conversation(store, key, "there is nothing left to send").request,
            api,
            at=at,
            window=history_window,
            thinking=thinking.value,
            cache=cache,
            model=model,
        )
        try:
            made = ask()
        except SecretMissing as missing:  # It is only looked at: the report says what is cut.
            made = ask(secrets=missing.members)
        _show(made, as_json=as_json)


def diff(
    context: typer.Context,
    key: Key,
    a: Annotated[int, typer.Argument(min=1, help="The version of the first request.")],
    b: Annotated[int, typer.Argument(min=1, help="The version of the second one.")],
    api: Api = "anthropic-messages",
    window: Exchanges = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show what changed between the requests of two versions, by events.

    Which events came in and which went, and why; which go otherwise, by the reports of the two
    requests; and the instructions and tools that changed. Piped: change, version, type of event,
    why, text, the key of the origin that has the event where it is not the conversation itself.

    Example: `onrecord diff support/4711 28 32 --api openai-chat`
    """
    from onrecord.adapters.terminal.request_listings import show_diff

    with open_store(context, url) as store:
        conversation = _conversation(store, key, "there is nothing left to compare")
        history_window = None if window is None else Window(exchanges=window, step=1)
        changed = conversation.diff(a, b, api=api, window=history_window)
        show_diff(changed, backend_of(store), conversation.conversation_id, as_json=as_json)


def why(
    context: typer.Context,
    key: Key,
    version: Annotated[int, typer.Argument(min=1, help="The version of the event.")],
    to_start: Annotated[
        bool, typer.Option("--to-start", help="Go back to the first request.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show why a call, a result or an answer is there, and who told the model to do it.

    The request that it came from, and the prompts, results and signals that were new to that
    request, with their actors. Standard error says what the record does not know. Piped: what it
    is, version, actor, whom the actor acted for, text.

    Example: `onrecord why support/4711 17 --to-start`
    """
    from onrecord.adapters.terminal.explanation_listing import show_explanation

    with open_store(context, url) as store:
        conversation = _conversation(
            store, key, "who did what is all that is left (`onrecord audit`)"
        )
        show_explanation(conversation.why(version, to_start=to_start), as_json=as_json)


def _show(made: Request, *, as_json: bool) -> None:
    if as_json:
        notes = [note._asdict() for note in made.report]
        routes = [route._asdict() for route in made.report.routes]
        document = {"request": dict(made.body), "report": notes, "routes": routes}
        output.json_line({"api": made.api, **document})
    elif output.is_drawn():
        from onrecord.adapters.terminal.request_listings import draw

        draw(output.console(), made)
    else:
        output.raw(jsontext.write(dict(made.body)) + b"\n")
        for note in made.report:
            output.note(f"onrecord: {note}")
        for route in made.report.routes:
            output.note(f"onrecord: {route}")


def _conversation(store: Store, key: str, nothing: str) -> Conversation:
    """Return a conversation; InvalidInput for a forgotten one, which has `nothing` left."""
    conversation = require_conversation(store, key)
    if conversation.key is None:
        raise InvalidInput(f"the conversation was forgotten: {nothing}")
    return store.conversation(conversation.key)


def replay(
    context: typer.Context,
    key: Key,
    verify: Annotated[
        bool, typer.Option("--verify", help="Make each again and compare it with what was sent.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List the requests that were sent; prove that the record holds their exact bytes.

    Exit code 1 if a request no longer matches what was sent. Piped: version, API, model, size,
    digest, how it was verified.

    Example: `onrecord replay support/4711 --verify`
    """
    with open_store(context, url) as store:
        conversation = _conversation(store, key, "only its digests are left")
        if not verify:
            _list(conversation, as_json=as_json)
        elif not _verify(conversation, as_json=as_json):
            raise typer.Exit(1)


def _verify(conversation: Conversation, *, as_json: bool) -> bool:
    """Write what the requests of a conversation prove; whether each is proven."""
    from onrecord.adapters.conversation.rendering import replays
    from onrecord.adapters.presentation.request_documents import replay_document
    from onrecord.adapters.terminal.request_listings import columns, proof, replay_table, summary

    outcomes: list[Outcome] = []
    for outcome in replays(conversation):
        outcomes.append(outcome)
        if not as_json and not output.is_drawn():
            output.plain(*columns(outcome.sent), proof(outcome))
    if as_json:
        output.json_line(replay_document(outcomes))
    elif output.is_drawn():
        output.console().print(replay_table(outcomes))
        output.sentence(summary(outcomes))
    else:
        output.note(summary(outcomes))
    return all(outcome.is_proven for outcome in outcomes)


def _list(conversation: Conversation, *, as_json: bool) -> None:
    from onrecord.adapters.presentation.request_documents import request_document
    from onrecord.adapters.terminal.request_listings import columns, draw_requests
    from onrecord.projections.matching.template import sent_in

    requests = sent_in(conversation.log.read())
    draw = partial(draw_requests, requests)
    output.entries(requests, request_document, columns, draw=draw, as_json=as_json)


def check_request(file: InputFile, api: Api, as_json: AsJson = False) -> None:
    """Check a request, a JSON object in a file, against what the provider would refuse.

    The types of the API's SDK, if it is installed, and the provider's rules of order and pairs,
    each breach with the provider's own words. Nothing is sent. Exit code 1 if a rule is broken, 2
    if the file cannot be read. Piped: JSON pointer, rule, what the provider says, what to do.

    Example: `onrecord request support/4711 | onrecord check-request - --api anthropic-messages`
    """
    from onrecord.adapters.check import check

    request = _request_in(file)
    checked = check.check_request(api, request)
    violations = sorted(checked.violations, key=lambda broken: _place(request, broken.where))
    if as_json:
        output.json_line(
            {
                "api": checked.api,
                "violations": [asdict(violation) for violation in violations],
                "types": checked.types,
                "accepted": checked.is_accepted,
            }
        )
    else:
        _write_check(checked, violations)
    if not checked.is_accepted:
        raise typer.Exit(1)


def _request_in(file: Path) -> JsonObject:
    """Return the request in a file; one that cannot be read, or holds no JSON object, is wrong usage."""
    try:
        read = sys.stdin.buffer.read() if file == STANDARD_INPUT else file.read_bytes()
        return jsontext.read_object(read)
    except OSError as exc:
        raise typer.BadParameter(f"{file} cannot be read: {exc.strerror}") from exc
    except MalformedJson as exc:
        raise typer.BadParameter(f"{file} holds no request: {exc}") from exc


def _write_check(checked: RequestCheck, violations: Sequence[Violation]) -> None:
    for each in violations:
        if output.is_drawn():
            output.draw_breach(each.where or "the request", each.rule, each.advice, each.said)
        else:
            output.plain(each.where, each.rule, each.said, each.advice)
    if checked.types is None:
        output.note("onrecord: types were not checked: no installed SDK has types for this API")
    if checked.is_accepted:
        output.sentence("No rule is known that it breaks.")
    else:
        output.note(f"onrecord: {counted(len(violations), 'violation')}")


def _place(request: JsonObject, where: str) -> list[int]:
    """Return the place of a JSON pointer in a request: what is not there is at the end."""
    from onrecord.projections.members import member

    value: Any = request
    places: list[int] = []
    for name in jsontext.pointer_path(where):
        if isinstance(value, list) and name.isdecimal():
            items = cast("list[Any]", value)
            places.append(int(name))
            value = items[int(name)] if int(name) < len(items) else None
        else:
            names = list(cast("JsonObject", value)) if isinstance(value, dict) else []
            places.append(names.index(name) if name in names else len(names))
            value = member(value, name)
    return places
