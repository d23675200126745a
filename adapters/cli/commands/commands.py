"""The commands of `onrecord`, in the order in which its help lists them."""

from __future__ import annotations

import typer

from onrecord.adapters.cli.commands import history, looking, process_models, upkeep, view_keeping
from onrecord.adapters.cli.commands import tools as tool_commands
from onrecord.adapters.cli.commands import views as view_commands
from onrecord.adapters.cli.commands import worker as worker_command
from onrecord.adapters.cli.commands.options import (
    AnthropicModel,
    AsJson,
    BedrockModel,
    GeminiModel,
    Keep,
    Live,
    OllamaModel,
    OpenAIModel,
)
from onrecord.adapters.cli.commands.program import app

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


app.command()(looking.conversations)
app.command()(looking.show)
app.command()(looking.request)
app.command(name="check-request")(looking.check_request)
app.command()(looking.replay)
app.command()(looking.tail)
app.command()(tool_commands.tools)
app.command()(tool_commands.documents)
app.command()(tool_commands.capabilities)
app.command()(tool_commands.context)
app.command()(history.fork)
app.command()(history.regenerate)
app.command()(history.edit)
app.command()(history.compact)
app.command()(history.redact)
app.command()(process_models.bpmn)
app.command()(upkeep.forget)
app.command()(upkeep.verify)
app.command()(upkeep.sweep)
app.command()(upkeep.export)
app.command(name="import")(upkeep.import_)
app.command()(upkeep.migrate)
app.command()(view_commands.overview)
app.command()(view_commands.search)
app.command()(view_commands.window)
app.command()(view_commands.audit)
app.command()(view_commands.calls)
app.command()(view_commands.usage)
app.command()(view_keeping.views)
app.command()(view_keeping.parked)
app.command()(view_keeping.rebuild)
app.command()(view_keeping.pause)
app.command()(view_keeping.resume)
app.command()(view_keeping.retry)
app.command()(worker_command.worker)
