"""The commands of `onrecord`, in the order in which its help lists them."""

from __future__ import annotations

import typer

from onrecord.adapters.cli import (
    history_commands,
    keeping_commands,
    looking_commands,
    model_commands,
    tool_commands,
    view_commands,
    view_keeping_commands,
    worker_command,
)
from onrecord.adapters.cli.options import (
    AnthropicModel,
    AsJson,
    BedrockModel,
    GeminiModel,
    Keep,
    Live,
    OllamaModel,
    OpenAIModel,
)
from onrecord.adapters.cli.program import app

__all__ = ["app"]


@app.command()
def demo(
    live: Live = False,
    model: AnthropicModel = "claude-sonnet-5",
    openai_model: OpenAIModel = "gpt-5.4",
    gemini_model: GeminiModel = "gemini-3-pro-preview",
    ollama_model: OllamaModel = "qwen3",
    bedrock_model: BedrockModel = "us.amazon.nova-pro-v1:0",
    keep: Keep = False,
    as_json: AsJson = False,
) -> None:
    """Record a conversation with a model server on this machine, then look at it.

    On Anthropic's API, then across OpenAI's two, Gemini's, Ollama's and Bedrock's, and back, through
    the official SDKs that are installed; without a key. `--live`: exit code 1 if an answer is not as
    it must be.

    Example: `onrecord demo --keep`
    """
    from onrecord.adapters.cli.demonstrating import demo
    from onrecord.adapters.demo.telling import Telling

    models = {
        "anthropic-messages": model,
        "openai-chat": openai_model,
        "openai-responses": openai_model,
        "gemini": gemini_model,
        "ollama": ollama_model,
        "bedrock-converse": bedrock_model,
    }
    if not demo(Telling(models, keep=keep, as_json=as_json), live=live):
        raise typer.Exit(1)


app.command()(looking_commands.conversations)
app.command()(looking_commands.show)
app.command()(looking_commands.request)
app.command(name="check-request")(looking_commands.check_request)
app.command()(looking_commands.replay)
app.command()(looking_commands.tail)
app.command()(tool_commands.tools)
app.command()(tool_commands.documents)
app.command()(tool_commands.capabilities)
app.command()(tool_commands.context)
app.command()(history_commands.fork)
app.command()(history_commands.regenerate)
app.command()(history_commands.edit)
app.command()(history_commands.compact)
app.command()(history_commands.redact)
app.command()(model_commands.bpmn)
app.command()(keeping_commands.forget)
app.command()(keeping_commands.verify)
app.command()(keeping_commands.sweep)
app.command()(keeping_commands.export)
app.command(name="import")(keeping_commands.import_)
app.command()(keeping_commands.migrate)
app.command()(view_commands.overview)
app.command()(view_commands.search)
app.command()(view_commands.window)
app.command()(view_commands.audit)
app.command()(view_commands.calls)
app.command()(view_commands.usage)
app.command()(view_keeping_commands.views)
app.command()(view_keeping_commands.parked)
app.command()(view_keeping_commands.rebuild)
app.command()(view_keeping_commands.pause)
app.command()(view_keeping_commands.resume)
app.command()(view_keeping_commands.retry)
app.command()(worker_command.worker)
