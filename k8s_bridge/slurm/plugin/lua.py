"""Text as Lua: whatever is in a name, it stays a string."""

from __future__ import annotations

import string

_PLAIN = frozenset((string.ascii_letters + string.digits + " !#$%&'()*+,-./:;<=>?@^_`{|}~").encode())


def quote(text: str) -> str:
    r"""`text` as a Lua string of one line of ASCII that gives its UTF-8 bytes; all else becomes `\ddd`."""
    octets = text.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(octet) if octet in _PLAIN else f"\\{octet:03d}" for octet in octets) + '"'
