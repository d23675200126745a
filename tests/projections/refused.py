"""What a provider would refuse in a request, for tests: its rules, without its SDK's types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onrecord.projections.api import known_rules
from onrecord.projections.apis.request import Request
from onrecord.projections.apis.rules import Violation, violations


def refused(api: str, request: Mapping[str, Any]) -> tuple[Violation, ...]:
    """The breaches of a request; none for an API that has no rules here."""
    body = request.body if isinstance(request, Request) else request
    return violations(known_rules().get(api, ()), body)
