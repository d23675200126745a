"""The commands of `onrecord`, in the order in which its help lists them."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from onrecord.adapters.cli import (
    capability_commands,
    conversation_commands,
    document_commands,
    history_commands,
    process_models,
    request_commands,
    tool_commands,
    transfer,
    upkeep,
    view_keeping,
    views,
    worker,
)
from onrecord.adapters.cli.program import AsJson, app

__all__ = ["app"]


_LIVE: Final = "Call the real services instead (ANTHROPIC_API_KEY, OPENAI_API_KEY)."


@app.command()
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
    as_json: AsJson = False,
) -> None:
    """Record a conversation with a model server on this machine, then look at it.

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
    options = DemoOptions(models, keep=keep, as_json=as_json)
    if not live:
        run_demo(options)
    elif not run_live(options):
        raise typer.Exit(1)


for _command in (
    conversation_commands.conversations,
    conversation_commands.show,
    request_commands.request,
    request_commands.check_request,
    request_commands.replay,
    conversation_commands.tail,
    tool_commands.tools,
    document_commands.documents,
    capability_commands.capabilities,
    document_commands.context,
    history_commands.fork,
    history_commands.retract_answer,
    history_commands.edit_message,
    history_commands.compact,
    history_commands.redact,
    process_models.bpmn,
    upkeep.forget,
    upkeep.verify,
    upkeep.sweep,
    transfer.export,
    transfer.import_,
    upkeep.migrate,
    views.overview,
    views.search,
    views.window,
    views.audit,
    views.calls,
    views.usage,
    view_keeping.views,
    view_keeping.parked,
    view_keeping.rebuild,
    view_keeping.pause,
    view_keeping.resume,
    view_keeping.retry,
    worker.worker,
):
    app.command(name=_command.__name__.rstrip("_").replace("_", "-"))(_command)
