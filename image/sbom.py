"""The image's bill of materials (CycloneDX): Python packages from uv.lock, Debian's from their records."""

from __future__ import annotations

import json
from email.parser import HeaderParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

from image.python import EXPORT, PACKAGES, uv
from image.rootfs import STATUS, SUITE

PLACE = Path("usr/share/k8s-bridge/sbom.cdx.json")


def write(target: Path) -> None:
    """Write it. What does not apply to this platform is left out."""
    document = json.loads(uv(*EXPORT, "--format=cyclonedx1.5"))
    installed = {_normal(path.name.split("-")[0]) for path in (target / PACKAGES).glob("*.dist-info")}
    python = [one for one in document["components"] if _normal(one["name"]) in installed]
    kept = {one["bom-ref"] for one in [*python, document["metadata"]["component"]]}
    document["components"] = [*python, *map(_debian, sorted((target / STATUS).iterdir()))]
    document["dependencies"] = [
        {"ref": one["ref"], "dependsOn": [ref for ref in one.get("dependsOn", ()) if ref in kept]}
        for one in document["dependencies"]
        if one["ref"] in kept
    ]
    document.pop("serialNumber", None)
    document["metadata"].pop("timestamp", None)
    place = target / PLACE
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(document, indent=1, sort_keys=True), encoding="utf-8")


def _debian(record: Path) -> dict[str, Any]:
    fields = HeaderParser().parsestr(record.read_text(encoding="utf-8"))
    name, version, machine = fields["Package"], fields["Version"], fields["Architecture"]
    purl = f"pkg:deb/debian/{name}@{quote(version)}?arch={machine}&distro={SUITE}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")
