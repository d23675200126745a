"""Cookies of the page: no script reads them, and no other site sends or sets them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from onrecord.adapters.service.doors import is_called_loopback


def is_secure(request: Request) -> bool:
    """Return whether the browser came over TLS; on this machine alone it need not."""
    return request.url.scheme == "https" or not is_called_loopback(request)


def cookie_of(request: Request, name: str) -> str:
    """Return what a cookie has; nothing where there is none."""
    return request.cookies.get(_full_name(request, name), "")


def set_cookie(
    request: Request, response: Response, name: str, value: str, seconds: int | None = None
) -> None:
    """Give the browser a cookie, for so long, or until it is closed."""
    response.set_cookie(
        _full_name(request, name),
        value,
        max_age=seconds,
        path="/",
        secure=is_secure(request),
        httponly=True,
        samesite="lax",
    )


def delete_cookie(request: Request, response: Response, name: str) -> None:
    """Take a cookie back."""
    response.delete_cookie(
        _full_name(request, name),
        path="/",
        secure=is_secure(request),
        httponly=True,
        samesite="lax",
    )


def _full_name(request: Request, name: str) -> str:
    return f"__Host-{name}" if is_secure(request) else name
