from __future__ import annotations

import base64
import json
import os

import pytest

from k8s_bridge.core.errors import Terminal
from k8s_bridge.slurm.client import TokenSource


def jwt(**claims: object) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"head.{payload}.sign"


def source(text: str) -> TokenSource:
    return TokenSource(lambda: text, name="secret ns/name key")


def test_expiry_and_user_are_read_from_the_claims() -> None:
    token = source(jwt(exp=1700000000, sun="slurm"))
    assert (token.expires_at, token.user) == (1700000000, "slurm")
    assert source(jwt(username="ada")).user == "ada"


@pytest.mark.parametrize("text", ["opaque", "a.b.c", "a.%%%.c", jwt(exp="soon"), jwt(sun="a\r\nb: c")])
def test_a_token_that_does_not_say_has_no_expiry_and_no_user(text) -> None:
    assert (source(text).expires_at, source(text).user) == (None, "")


@pytest.mark.parametrize("text", ["", " \n", "two words", "line\nbreak", "ümlaut"])
def test_what_cannot_be_a_header_is_refused_without_being_shown(text) -> None:
    with pytest.raises(Terminal) as caught:
        source(text).token()
    assert caught.value.reason.startswith("Token")
    assert text.strip() == "" or text not in str(caught.value)


def test_the_text_is_in_no_repr() -> None:
    token = source("very-secret")
    assert "very-secret" not in repr(token) + str(vars(token))


def test_a_file_is_read_again_when_it_changes_and_not_otherwise(tmp_path) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    os.utime(file, ns=(5, 5))
    token = TokenSource.file(file)
    assert token.token() == "one"
    with file.open("r+") as handle:
        handle.write("two\n")
    os.utime(file, ns=(5, 5))
    assert token.token() == "one"
    os.utime(file, ns=(6, 6))
    assert token.token() == "two"


def test_a_file_that_is_not_there_is_a_trouble_of_the_token_and_looked_for_again(tmp_path) -> None:
    source = TokenSource.file(tmp_path / "late")
    with pytest.raises(Terminal) as caught:
        source.token()
    assert caught.value.reason == "TokenMissing"
    (tmp_path / "late").write_text("a.b.c")
    assert source.token() == "a.b.c"
