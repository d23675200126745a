"""`onrecord forget`, `verify`, `sweep`, `migrate`: they keep a store."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Annotated, Final
from uuid import UUID

import typer

from onrecord.adapters import app
from onrecord.adapters.cli.program.options import AsJson, Url, age_given, time_given
from onrecord.adapters.cli.program.stores import acting_name, open_store
from onrecord.adapters.cli.retention import DryRun, Query, forget_many
from onrecord.adapters.cli.seal_commands import Authority
from onrecord.adapters.presentation.control_characters import flat
from onrecord.adapters.presentation.conversations import NamedConversation, require_conversation
from onrecord.adapters.presentation.verification import verified_document
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.certificates import question, write_certificate, write_due
from onrecord.adapters.terminal.verified_listing import write_verified
from onrecord.adapters.upkeep.dispositions import unexpired_class
from onrecord.domain.errors import InvalidInput, counted

_FORKS_NAMED: Final = 10
"""How many forks are named in a sentence, at the most."""
_FILES_NAMED: Final = 2
"""How many files are named in a sentence, at the most: a schema has many more tables."""

Before = Annotated[
    datetime | None,
    typer.Option(
        metavar="TIME",
        parser=time_given,
        help="Those whose last event is older: a day or a time in UTC.",
        show_default=False,
    ),
]
OlderThan = Annotated[
    timedelta | None,
    typer.Option(
        metavar="DAYS",
        parser=age_given,
        help="Those whose last event is as old: `400d`.",
        show_default=False,
    ),
]
Prefix = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Those whose key begins with it.", show_default=False),
]
Expired = Annotated[bool, typer.Option("--expired", help="Those whose retention class ran out.")]
Reason = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Why; this is kept for good.", show_default="you are asked"),
]
Eraser = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Who erases; this is kept for good.",
        show_default="$ONRECORD_ACTOR, else who is logged in",
    ),
]
Sure = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def forget(
    context: typer.Context,
    key: Annotated[
        str | None,
        typer.Argument(help="The conversation's key or its id.", show_default="by the options"),
    ] = None,
    before: Before = None,
    older_than: OlderThan = None,
    prefix: Prefix = None,
    expired: Expired = False,
    dry_run: DryRun = False,
    reason: Reason = None,
    actor: Eraser = None,
    yes: Sure = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Erase what was said in a conversation, or in those that options choose, for good.

    Texts, documents and the key are erased. The digests stay, so that the log still verifies. Tool
    context that was persisted stays too: it is in the headers of events, in clear. The key is free
    for another conversation. Who erased it, when and why is recorded for good, and `onrecord audit`
    shows it. Forks of it stay and are named. The requests that were sent there repeat it, so
    forget them too (`onrecord conversations` marks them). Backups are not reached, nor what a
    provider keeps. What a legal hold keeps is refused. A retention class that has not run out is named,
    and keeps nothing: it is a deadline for `onrecord expire`.

    Example: `onrecord forget support/4711 --reason "asked to, ticket 88"`

    Example: `onrecord forget --prefix trial/ --before 2026-01-01 --dry-run`
    """
    query = Query(before, older_than, prefix, expired)
    if (key is None) == (not query):
        raise typer.BadParameter("name a conversation, or choose some by the options; not both")
    if key is not None and dry_run:
        raise typer.BadParameter("--dry-run goes with the options that choose conversations")
    with open_store(context, url) as store:
        if key is not None:
            forget_one(store, key, reason, actor, sure=yes, as_json=as_json)
            return
        if not (yes or dry_run):
            _ask("Erase all conversations that these options choose, for good?")
        forget_many(store, query, reason, actor, dry_run=dry_run, as_json=as_json)


def forget_actor(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The actor's name, or its digest.")],
    reason: Reason = None,
    actor: Eraser = None,
    yes: Sure = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Erase the name of an actor, for good.

    The digest of the name stays in the headers of events, so that the log still verifies, and
    `onrecord audit` shows its first digits. What the actor said stays too: forget the
    conversations. Who erased the name, when and why is recorded for good. Programs that are open do not
    write it again; one that is started later does, if somebody acts under the name anew.

    Example: `onrecord forget-actor ann --reason "asked to, ticket 88"`
    """
    with open_store(context, url) as store:
        because, who = _reason() if reason is None else reason, acting_name(actor)
        if not yes:
            _ask(f"The record keeps for good: actor {who}, reason {because!r}. Erase the name?")
        done = store.forget_actor(name, reason=because, actor=who)
    if as_json:
        output.json_line({"erased": True, "residue": list(done.residue)})
    else:
        output.sentence("The name is erased; the digest of it stays.")
    for sentence in done.residue:
        output.note(f"onrecord: {sentence}")


def erase(
    context: typer.Context,
    subject: Annotated[
        str, typer.Option("--subject", metavar="NAME", help="Who, as programs name the subject.")
    ],
    rule: Annotated[
        str, typer.Option("--rule", metavar="TEXT", help="By which rule; kept for good.")
    ],
    destroyed_key: Annotated[
        str | None, typer.Option(metavar="ID", help="Its key, which the log does not know is gone.")
    ] = None,
    reason: Reason = None,
    actor: Eraser = None,
    dry_run: DryRun = False,
    yes: Sure = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Erase all that is under the key of a subject, for good, and write a certificate.

    The store is an encrypted one. The key is destroyed: so backups of the log are erased too. Then each
    conversation under it goes as `onrecord forget` has it. Who, why and by which rule is recorded for good,
    and never the name of the subject. A legal hold on one of its conversations refuses it. It may be
    stopped at any moment: run it again. That erases what was said since, too. Where nothing was, it writes
    the certificate of the last erasure anew. `--destroyed-key` is for a log that was set back.

    Example: `onrecord erase --subject "patient 4711" --reason "asked to" --rule "GDPR 17(1)(a)"`
    """
    if dry_run and destroyed_key:
        raise typer.BadParameter("--dry-run lists what is under the key of now")
    with open_store(context, url) as store:
        if dry_run:
            write_due(store, subject, as_json=as_json)
            return
        because, who = _reason() if reason is None else reason, acting_name(actor)
        if not yes:
            record = f"actor {who}, reason {because!r}, rule {rule!r}"
            _ask(question(store, subject, record, destroyed_key))
        over = {each.erasure_id for each in store.subjects.erasures(subject) if each.is_over}
        certificate = store.subjects.erase(
            subject, reason=because, rule=rule, actor=who, destroyed_key=destroyed_key
        )
    write_certificate(certificate, is_new=certificate.erasure_id not in over, as_json=as_json)


def forget_one(
    store: Store, key: str, reason: str | None, actor: str | None, *, sure: bool, as_json: bool
) -> None:
    """Erase a conversation, and name its forks; without `sure` only after a yes on the terminal.

    Where no reason is given, it is asked for on the terminal.
    """
    conversation = require_conversation(store, key)
    because, who = _reason() if reason is None else reason, acting_name(actor)
    early = _early(store, conversation.conversation_id)
    if early is not None and sure:
        output.note(f"onrecord: {early}")
    if not sure:
        events = counted(conversation.head.version, "event")
        _ask(
            f"The record keeps for good: actor {who}, reason {because!r}. "
            f"{'' if early is None else f'{early}. '}"
            f"Erase {events} of {conversation}, for good?"
        )
    conversation_id = conversation.conversation_id
    done = store.forget(conversation_id, reason=because, actor=who)
    if not as_json:
        erased = counted(done.events, "event")
        output.sentence(f"{erased} erased; {conversation_id} keeps their digests.")
    forks = _forks(store, conversation_id)
    if as_json:
        document = {"conversation": str(conversation_id), "erased": done.events}
        listed = [{"key": fork.key, "conversation": str(fork.conversation_id)} for fork in forks]
        output.json_line(document | {"forks": listed, "residue": list(done.residue)})
    elif forks:
        output.note(f"onrecord: {_staying(forks)}")
    for sentence in done.residue:
        output.note(f"onrecord: {sentence}")


def _early(store: Store, conversation_id: UUID) -> str | None:
    """Say which retention class of a conversation has not run out; None where there is none."""
    entry = unexpired_class(backend_of(store), store.tenant, conversation_id)
    return None if entry is None else f"its retention class {entry} has not run out"


def _forks(store: Store, conversation_id: UUID) -> list[NamedConversation]:
    """Return the forks that stayed; where another conversation is damaged, say so instead."""
    outcome = store.erasures(conversation_id)[0].outcome
    if outcome is None or outcome.forks is None:
        advice = "another conversation is damaged: run `onrecord verify`"
        output.note(f"onrecord: whether there are forks of it cannot be told: {advice}")
        return []
    backend = backend_of(store)
    return [NamedConversation.of_id(backend, fork) for fork in outcome.forks]


def _reason() -> str:
    if not sys.stdin.isatty():
        raise InvalidInput("nobody is there to ask why: say it with --reason")
    reason: str = typer.prompt("Why? (it is kept for good, so name nobody)", err=True)
    return reason


def _staying(forks: Sequence[NamedConversation]) -> str:
    names = [flat(str(fork)) for fork in forks[:_FORKS_NAMED]]
    if len(forks) > _FORKS_NAMED:
        names.append(f"and {len(forks) - _FORKS_NAMED:,} more (--json names all)")
    return (
        f"{counted(len(forks), 'fork')} of it stayed, and the requests sent there repeat what was "
        f"said before: forget them too, if nobody is to read it: {', '.join(names)}"
    )


def _ask(question: str) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput("nobody is there to ask: say --yes to erase it")
    typer.confirm(flat(question), abort=True, err=True)


def verify(
    context: typer.Context,
    key: Annotated[
        str | None,
        typer.Argument(help="The conversation's key, or its id.", show_default="the whole store"),
    ] = None,
    root: Annotated[
        list[str] | None,
        typer.Option(metavar="SHARD:SIZE:HEX", help="Compare with a root that was written down."),
    ] = None,
    views: Annotated[
        bool, typer.Option("--views", help="Compare the views with what the events come to.")
    ] = False,
    seals: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Compare with what is sealed at this place.",
            show_default="$ONRECORD_SEALS",
        ),
    ] = None,
    vkey: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY",
            help="Believe checkpoints that this public key signed.",
            show_default="$ONRECORD_SEAL_VKEY, else that of $ONRECORD_SEAL_KEY",
        ),
    ] = None,
    authority: Authority = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Check that the store still matches its own hashes and rules.

    Every table of the log: digests and leaves, documents, the order of positions and versions,
    where each conversation stands, and whose it is. Then it prints what it could not check, and a
    root for each shard: write it down elsewhere, and later compare with `--root`. Where the log is
    sealed, every checkpoint and tile is compared, and how far each shard is sealed is printed. Exit
    code 1 if something does not hold, the log was cut, or its seals could not be checked. `--views`
    folds the events again, and compares what comes of them with the rows that views keep. Piped:
    conversation, version, fault.

    Example: `onrecord verify`
    """
    from onrecord.adapters.encryption.encrypted_log import stored_of
    from onrecord.adapters.storage.clocks import clock_doubts
    from onrecord.domain.seals.merkle import parse_root

    roots = [parse_root(text) for text in root or ()]
    with open_store(context, url) as store:
        which = None if key is None else require_conversation(store, key).conversation_id
        with output.progress_of("Verifying") as progress:
            verified = store.verify(
                which,
                roots=roots,
                views=views,
                seals=seals or None,
                vkeys=vkey or None,
                authority=authority,
                progress=progress,
            )
        doubts = clock_doubts(stored_of(backend_of(store)))
    if as_json:
        output.json_line(verified_document(verified) | {"doubts": list(doubts)})
    else:
        write_verified(verified, doubts)
    if not verified.is_whole:
        raise typer.Exit(1)


def sweep(
    context: typer.Context,
    older_than: Annotated[
        float, typer.Option(min=0, metavar="HOURS", help="Keep what is newer than this.")
    ] = 24,
    rewrite: Annotated[
        bool,
        typer.Option(
            "--rewrite/--no-rewrite",
            help="Rewrite files that may hold pieces of what was forgotten.",
        ),
    ] = True,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Delete documents that no event refers to, and what `forget` left in files.

    Documents stay where a program ended between storing one and saying what it belongs to; what may still
    be on its way is spared. Pieces of what was forgotten stay in free space until the files are
    written anew: that needs room for two more copies. On PostgreSQL it is done as the log's owner, and
    nobody can use a table while it is written. Run it now and then, at a quiet hour.

    Example: `onrecord sweep --older-than 48`
    """
    with open_store(context, url) as store:
        done = store.sweep(timedelta(hours=older_than), rewrite=rewrite)
    if as_json:
        document = asdict(done)
        output.json_line({"swept": document.pop("documents"), **document})
    else:
        output.sentence(" ".join((*_rewritten(done.rewritten), _deleted(done.documents))))
    for sentence in (*done.residue, *done.doubts):
        output.note(f"onrecord: {sentence}")


def _rewritten(names: Sequence[str]) -> Iterator[str]:
    """Yield what was written anew, if anything was."""
    if names:
        what = " and ".join(names) if len(names) <= _FILES_NAMED else counted(len(names), "table")
        pronoun = "it" if len(names) == 1 else "them"
        yield f"Wrote {what} anew: nothing of what was forgotten is left in {pronoun}."


def _deleted(documents: int) -> str:
    if documents:
        return f"{counted(documents, 'document')} deleted that no event refers to."
    return "No unreferenced documents to delete."


def migrate(context: typer.Context, url: Url = None, as_json: AsJson = False) -> None:
    """Make a store, or update the schema of one that an older Onrecord made; it only adds.

    Example: `onrecord migrate --url postgresql://owner@host/talks`
    """
    steps = app.migrate(url or context.obj)
    if as_json:
        output.json_line({"steps": steps})
    elif steps:
        output.sentence(f"Done, in {counted(steps, 'step')}.")
    else:
        output.sentence("The store is there, and its schema is this release's.")
