"""The commands of `hansard`, in the order in which its help lists them."""

from __future__ import annotations

import typer

from hansard.adapters.cli import history_commands, keeping_commands, looking_commands
from hansard.adapters.cli.options import AnthropicModel, AsJson, Keep, Live, OpenAIModel
from hansard.adapters.cli.program import app

__all__ = ["app"]


@app.command()
def demo(
    live: Live = False,
    model: AnthropicModel = "claude-sonnet-5",
    openai_model: OpenAIModel = "gpt-5.4",
    keep: Keep = False,
    as_json: AsJson = False,
) -> None:
    """Record a conversation with a model server on this machine, then look at it.

    On Anthropic's API, then on to OpenAI's two and back, through the official SDKs; without a key
    (`pip install hansard[anthropic,openai]`). `--live`: exit code 1 if an answer is not as it must be.

    Example: `hansard demo --keep`
    """
    from hansard.adapters.cli.demonstrating import demo
    from hansard.adapters.demo.telling import Telling

    if not demo(Telling(model, openai_model, keep=keep, as_json=as_json), live=live):
        raise typer.Exit(1)


app.command()(looking_commands.conversations)
app.command()(looking_commands.show)
app.command()(looking_commands.request)
app.command(name="check-request")(looking_commands.check_request)
app.command()(looking_commands.replay)
app.command()(looking_commands.tail)
app.command()(history_commands.fork)
app.command()(history_commands.regenerate)
app.command()(history_commands.edit)
app.command()(history_commands.compact)
app.command()(history_commands.redact)
app.command()(keeping_commands.forget)
app.command()(keeping_commands.verify)
app.command()(keeping_commands.sweep)
app.command()(keeping_commands.export)
app.command(name="import")(keeping_commands.import_)
app.command()(keeping_commands.migrate)
