"""The Dockerfile and the builder without Docker make the same: by the same steps, from the same files."""

from __future__ import annotations

import re
from pathlib import Path

from testbed import bridge_image
from testbed.places import PROJECT

TEXT = (PROJECT / "Dockerfile").read_text()
FIRST, LAST = TEXT.split("FROM scratch\n")


def steps(text: str) -> list[str]:
    return re.findall(r"^RUN python3 -m image (\w+) /rootfs$", text, re.MULTILINE)


def copied(text: str) -> set[str]:
    return {source for line in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE) for source in line.split()}


def test_both_do_the_same_steps_in_the_same_order(monkeypatch, tmp_path):
    done: list[str] = []
    monkeypatch.setattr(bridge_image, "CACHE", tmp_path)
    monkeypatch.setattr(bridge_image, "run", lambda *argv: _made(done, argv))

    bridge_image.make(tmp_path / "root")

    assert done == steps(FIRST) == ["base", "app"]


def _made(done: list[str], argv: tuple[object, ...]) -> None:
    *_, module, step, root = argv
    assert module == "image"
    done.append(str(step))
    Path(str(root)).mkdir(exist_ok=True)


def test_a_step_is_done_again_when_what_it_is_made_from_has_changed():
    below, above = FIRST.split("RUN python3 -m image base /rootfs\n")
    assert set(bridge_image._BASE) <= copied(below)
    assert set(bridge_image._PROJECT) - {"Dockerfile"} == copied(above)


def test_everything_that_is_copied_is_sent_to_the_builder():
    sent = {line[1:] for line in (PROJECT / ".dockerignore").read_text().splitlines() if line[0] == "!"}
    assert copied(FIRST) == sent
    assert all((PROJECT / path).exists() for path in sent)


def test_the_image_is_the_root_folder_and_runs_the_command_as_nobody():
    assert LAST.splitlines()[0] == "COPY --from=build /rootfs /"
    assert "RUN" not in LAST
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", bridge_image.said_in_dockerfile("USER"))
    assert list(bridge_image.image().entry) == ["/usr/local/bin/k8s-bridge"]
