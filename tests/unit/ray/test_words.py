"""What is shown of a failed job's log: its end, bounded, and nothing that looks like a secret."""

from __future__ import annotations

import pytest

from k8s_bridge.ray.words import last_words


def test_the_last_lines_are_shown_on_one():
    log = "\n".join(
        ["Job entrypoint command failed with exit code 1, last available logs:", *map(str, range(9))]
    )

    assert last_words(f"{log}\n\n") == "4 | 5 | 6 | 7 | 8"


def test_however_long_a_line_is_its_end_is_what_is_shown():
    shown = last_words("x" * 10_000 + "ValueError: 7")

    assert len(shown) == 500
    assert shown.endswith("ValueError: 7")


def test_of_nothing_nothing_is_shown():
    assert last_words("") == last_words(" \n ") == ""


@pytest.mark.parametrize(
    "line",
    [
        "PASSWORD=hunter22",
        "{'db_password': 'hunter22', 'user': 'x'}",
        '{"AWS_SECRET_ACCESS_KEY": "hunter22"}',
        "token: hunter22",
        "Authorization: Bearer hunter22",
        "GET https://ann:hunter22@example.com/x failed",
        "api-key = hunter22;",
        "eyJhbGciOiJIUzI1NiJ9.hunter22.sig",
        "--entrypoint-resources ray-bridge-0123456789abcdef0123",
    ],
)
def test_what_looks_like_a_secret_is_hidden(line):
    shown = last_words(f"before\n{line}\nafter")

    assert "hunter22" not in shown
    assert "0123456789abcdef" not in shown
    assert "[hidden]" in shown
    assert shown.startswith("before | ")
    assert shown.endswith(" | after")


def test_a_word_that_is_no_secret_stays():
    text = "KeyError: 'tokens' | ValueError: 12 tokens are too many"

    assert last_words(text) == text
