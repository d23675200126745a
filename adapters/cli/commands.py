"""The commands of `onrecord`, in the groups and the order in which its help lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from onrecord.adapters.cli import (
    approval_commands,
    capability_commands,
    conversation_commands,
    document_commands,
    evidence,
    history_commands,
    key_commands,
    process_models,
    request_commands,
    retention,
    seal_commands,
    serve,
    share,
    tool_commands,
    transfer,
    upkeep,
)
from onrecord.adapters.cli.program.application import Command, app
from onrecord.adapters.cli.program.options import AsJson
from onrecord.adapters.cli.views import audit, keeping, queries, worker

__all__ = ["app"]


_LIVE: Final = "Call the real services instead (ANTHROPIC_API_KEY, OPENAI_API_KEY)."


def demo(
    live: Annotated[bool, typer.Option("--live", help=_LIVE)] = False,
    model: Annotated[str, typer.Option(help="Anthropic's model.")] = "claude-sonnet-5",
    openai_model: Annotated[str, typer.Option(help="OpenAI's model.")] = "gpt-5.4",
    gemini_model: Annotated[str, typer.Option(help="Google's model.")] = "gemini-3-pro-preview",
    ollama_model: Annotated[str, typer.Option(help="The model that Ollama runs.")] = "qwen3",
    bedrock_model: Annotated[
        str, typer.Option(help="The model on Bedrock.")
    ] = "us.amazon.nova-pro-v1:0",
    keep: Annotated[bool, typer.Option("--keep", help="Keep the recorded store.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--store",
            metavar="FOLDER",
            help="Keep the store in this folder. A finished demo that is there is left as it is.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Record conversations with a model server on this machine, then look at them.

    On Anthropic's API, then across OpenAI's two, Gemini's, Ollama's and Bedrock's, and back, through
    the official SDKs that are installed; without a key. `--live`: exit code 1 if an answer is not as
    it must be.

    Example: `onrecord demo --keep`
    """
    from onrecord.adapters.demo.live import run_live
    from onrecord.adapters.demo.story import DemoOptions, run_demo

    models = {
        "anthropic-messages": model,
        "openai-chat": openai_model,
        "openai-responses": openai_model,
        "gemini": gemini_model,
        "ollama": ollama_model,
        "bedrock-converse": bedrock_model,
    }
    if live and folder is not None:
        raise typer.BadParameter("--store is for the demo without --live: --keep leaves its store")
    options = DemoOptions(models, keep=keep, as_json=as_json, folder=folder)
    if not live:
        run_demo(options)
    elif not run_live(options):
        raise typer.Exit(1)


GROUPS: Final[Mapping[str, Sequence[Callable[..., None]]]] = {
    "Look at conversations": (
        demo,
        conversation_commands.conversations,
        conversation_commands.show,
        conversation_commands.window,
        conversation_commands.tail,
        share.share,
        tool_commands.tools,
        document_commands.documents,
        document_commands.context,
    ),
    "Requests, and what providers take": (
        request_commands.request,
        request_commands.diff,
        request_commands.replay,
        request_commands.why,
        request_commands.check_request,
        capability_commands.capabilities,
        process_models.bpmn,
    ),
    "Change a history": (
        history_commands.fork,
        history_commands.retract_answer,
        history_commands.edit_message,
        history_commands.compact,
        history_commands.redact,
    ),
    "Decide about calls of tools": (
        approval_commands.approvals,
        approval_commands.approve,
        approval_commands.deny,
    ),
    "Search and count, over all conversations": (
        queries.overview,
        queries.search,
        conversation_commands.calls,
        queries.usage,
        audit.audit,
        queries.in_force,
        audit.access,
    ),
    "Look after the store": (
        upkeep.migrate,
        upkeep.verify,
        seal_commands.seal_key,
        seal_commands.seal,
        seal_commands.checkpoint,
        key_commands.kek,
        key_commands.rotate_keys,
        evidence.move,
        transfer.export,
        transfer.import_,
        evidence.evidence,
        evidence.proof,
        upkeep.forget,
        upkeep.forget_actor,
        upkeep.erase,
        retention.expire,
        upkeep.sweep,
    ),
    "Serve it": (serve.serve, serve.mcp),
    "Keep the views up to date": (
        keeping.views,
        worker.worker,
        keeping.parked,
        keeping.retry,
        keeping.pause,
        keeping.resume,
        keeping.rebuild,
    ),
}
"""The commands by what somebody wants to do."""

for _group, _commands in GROUPS.items():
    for _command in _commands:
        _name = _command.__name__.rstrip("_").replace("_", "-")
        app.command(name=_name, cls=Command, rich_help_panel=_group)(_command)

app.add_typer(key_commands.keys, name="keys", rich_help_panel="Look after the store")
app.add_typer(retention.holds, name="holds", rich_help_panel="Look after the store")
app.add_typer(retention.retention, name="retention", rich_help_panel="Look after the store")
