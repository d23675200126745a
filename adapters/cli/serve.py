"""`onrecord serve`: the store over HTTP; `onrecord mcp`: over the Model Context Protocol."""

from __future__ import annotations

import ipaddress
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from onrecord.adapters.cli.program.extras import require_extra
from onrecord.adapters.cli.program.options import Url
from onrecord.adapters.cli.program.stores import acting_name, open_store
from onrecord.adapters.telemetry.logs import LogFormat, log_config
from onrecord.adapters.terminal import output

if TYPE_CHECKING:
    from onrecord.adapters.gateway.server import Address
    from onrecord.adapters.settings import SignInSettings

_PORT: Final = 4180


Host = Annotated[str, typer.Option(help="The address to listen at.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 is any that is free.")]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Answer to this Host alone, and to loopback names. May be given several times.",
        show_default=False,
    ),
]
WithoutKeys = Annotated[
    bool,
    typer.Option(
        "--without-keys",
        help="Answer programs of this machine, though the store shows this role no keys.",
    ),
]
Lines = Annotated[LogFormat, typer.Option(help="Lines for people, or a line of JSON for each.")]
Open = Annotated[
    bool, typer.Option("--open", help="Open the page in a browser, if this is a terminal.")
]
AccessLog = Annotated[bool, typer.Option("--access-log", help="Log a line for each request, too.")]
UpstreamUrls = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=URL",
        help="Let the proxy reach this provider too, or this one elsewhere. May be given several "
        "times.",
        show_default=False,
    ),
]
Unrecorded = Annotated[
    Literal["pass", "refuse"],
    typer.Option(help="What becomes of a request to the proxy that cannot be recorded."),
]
SignBedrock = Annotated[
    bool,
    typer.Option(
        "--sign-bedrock",
        help="Have the proxy sign requests to AWS anew, with the server's own credentials.",
    ),
]
OidcIssuer = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Let people sign in to the page by this issuer of OpenID Connect, too.",
        show_default=False,
    ),
]
OidcClient = Annotated[
    str | None,
    typer.Option(
        metavar="ID", help="The id that this service has at the issuer.", show_default=False
    ),
]
OidcSecretFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The file with the secret for it. Without one it is `$ONRECORD_OIDC_SECRET`.",
        show_default=False,
    ),
]
OidcRole = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE:CLAIM=VALUE",
        help="Give people whose claim has this value a role, such as read:groups=auditors. Nobody "
        "else gets in. May be given several times.",
        show_default=False,
    ),
]
OidcScope = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SCOPE",
        help="Ask the issuer for this scope, too. May be given several times.",
        show_default=False,
    ),
]


def serve(
    context: typer.Context,
    host: Host = "127.0.0.1",
    port: Port = _PORT,
    allow_host: AllowHost = None,
    without_keys: WithoutKeys = False,
    log_format: Lines = "text",
    access_log: AccessLog = False,
    open_page: Open = False,
    upstream: UpstreamUrls = None,
    unrecorded: Unrecorded = "pass",
    sign_bedrock: SignBedrock = False,
    oidc_issuer: OidcIssuer = None,
    oidc_client: OidcClient = None,
    oidc_secret_file: OidcSecretFile = None,
    oidc_role: OidcRole = None,
    oidc_scope: OidcScope = None,
    url: Url = None,
) -> None:
    """Serve the store over HTTP: to runtimes in any language, until Ctrl-C or SIGTERM.

    Programs of this machine need no key until the first one is issued; all others need one.
    `/openapi.json` describes what there is to ask. A program is recorded whose base URL is
    `/proxy/<key>/<provider>`; without keys that is `/proxy/local/anthropic`, say. Logs have no
    content, no keys and no queries. People sign in to the page by a key, or by an issuer
    (docs/oidc.md).

    Example: `onrecord serve --url sqlite:///support.db`
    """
    from logging.config import dictConfig

    from onrecord.adapters.app import connect_tenants

    with require_extra("onrecord serve", "serve"):
        from onrecord.adapters.gateway.gateway import Proxying, serve_store
        from onrecord.adapters.gateway.issuer_login import issuer_sign_in
        from onrecord.adapters.gateway.server import Address
    dictConfig(log_config(log_format))
    from onrecord.adapters.proxy.signing import BedrockSigner
    from onrecord.adapters.proxy.upstreams import upstreams_given

    signer = BedrockSigner() if sign_bedrock else None
    proxying = Proxying(upstreams_given(upstream or ()), unrecorded, signer)
    issuer = issuer_sign_in(
        _chosen(
            issuer=oidc_issuer,
            client=oidc_client,
            secret_file=oidc_secret_file,
            roles=oidc_role and tuple(oidc_role),
            scopes=oidc_scope and tuple(oidc_scope),
        )
    )
    store, open_store = connect_tenants(url or context.obj)
    if not _is_loopback(host):
        output.note("Whoever reaches this address needs a key: `onrecord keys issue` makes one.")
    serve_store(
        store,
        open_store,
        Address(host, port),
        hosts=allow_host or (),
        access_log=access_log,
        proxying=proxying,
        without_keys=without_keys,
        issuer=issuer,
        started=_open_page if open_page else _say_started,
    )


def mcp(
    context: typer.Context,
    conversation: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Show this conversation, and those that it was forked from.",
            show_default=False,
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Show all conversations instead.")] = False,
    url: Url = None,
) -> None:
    """Let an agent read its history over the Model Context Protocol, on standard input and output.

    The agent's program starts it. It has tools that search, read and verify; none writes. The conversation
    may begin later. What was redacted or forgotten is not shown.

    Example: `onrecord mcp --conversation support/4711`
    """
    if (conversation is None) is not all_:
        raise typer.BadParameter("say which: --conversation KEY, or --all")
    import asyncio

    with require_extra("onrecord mcp", "mcp"):
        from onrecord.adapters.mcp_server.server import serve_stdio
    from onrecord.adapters.mcp_server.scope import Scope

    with open_store(context, url) as store:
        asyncio.run(serve_stdio(Scope(store, conversation), acting_name(None)))


def _chosen(**options: Any) -> SignInSettings:
    """Return how people sign in: by what options say, else by the environment."""
    from onrecord.adapters.settings import settings

    said = {name: value for name, value in options.items() if value is not None}
    return replace(settings().sign_in, **said)


def _say_started(address: Address) -> None:
    output.note(f"Onrecord answers at {_url_of(address)}")


def _open_page(address: Address) -> None:
    """Say where the page is, and open it where somebody sits at a terminal.

    In a thread: a browser in the terminal itself would hold the server up.
    """
    import webbrowser
    from threading import Thread

    _say_started(address)
    if sys.stderr.isatty():
        Thread(target=webbrowser.open, args=(_url_of(address),), daemon=True).start()


def _url_of(address: Address) -> str:
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"http://{host}:{address.port}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
