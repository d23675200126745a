"""The releases that are tested, said at the head of a run."""

from importlib.metadata import version

SDKS = ("anthropic", "openai", "google-genai", "ollama", "boto3", "mcp", "a2a-sdk")


def pytest_report_header() -> str:
    return "SDKs: " + ", ".join(f"{name} {version(name)}" for name in SDKS)
