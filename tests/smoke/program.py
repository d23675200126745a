"""A user's first program, run by the environment that holds only the wheel."""

import importlib
import pkgutil
from importlib.resources import files
from pathlib import Path

import onrecord

# These need an extra, which the plain wheel does not bring; httpx comes with the client that uses it.
EXTRAS = {
    "a2a",
    "ag2",
    "agent_framework",
    "agents",
    "aiohttp",
    "anthropic",
    "anyio",
    "authlib",
    "boto3",
    "botocore",
    "cryptography",
    "defusedxml",
    "google",
    "greenlet",
    "httptools",
    "httpx",
    "httpx2",
    "jinja2",
    "joserfc",
    "langchain_core",
    "langgraph",
    "lark",
    "markupsafe",
    "nh3",
    "mcp",
    "multidict",
    "ollama",
    "openai",
    "opentelemetry",
    "ormsgpack",
    "prometheus_client",
    "psycopg",
    "psycopg_pool",
    "pydantic_ai",
    "redis",
    "starlette",
    "urllib3",
    "uvicorn",
    "uvloop",
    "yarl",
}


def import_everything() -> int:
    """Import each module that works without extras; say how many did."""
    imported = 0
    for module in pkgutil.walk_packages(onrecord.__path__, "onrecord."):
        try:
            importlib.import_module(module.name)
        except ImportError as missing:
            # Where an extra is missing, Onrecord's own error may say which.
            found = missing if missing.name else missing.__cause__
            if not isinstance(found, ImportError) or found.name not in EXTRAS:
                raise
        else:
            imported += 1
    return imported


def main() -> None:
    """Fail where the wheel lacks something."""
    installed = Path(onrecord.__file__)
    assert "site-packages" in installed.parts, f"this is not the wheel: {installed}"
    assert files(onrecord).joinpath("py.typed").is_file()
    print(f"onrecord {onrecord.__version__}: {import_everything()} modules import")


if __name__ == "__main__":
    main()
