"""The HTTP protocol with one thing more: an application can break the connection it is called on."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

ABORT = "sandbox.abort"  # scope["extensions"][ABORT]() breaks the connection without another byte


class BreakableProtocol(HttpToolsProtocol):
    """Hands `abort` of the transport to the application."""

    def on_message_begin(self) -> None:
        """Called by the parser for each request."""
        super().on_message_begin()
        self.scope["extensions"] = {ABORT: self.transport.abort}  # type: ignore[dict-item]
