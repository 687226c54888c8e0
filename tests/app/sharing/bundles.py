"""Helpers that read, change and pack bundles."""

import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Callable
from typing import Any

Files = dict[str, bytes]


def read(bundle: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(files: Files, **more: Any) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, **more) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def with_manifest(files: Files, change: Callable[[dict[str, Any]], None] | None = None) -> Files:
    """Write a manifest that matches the files, as an attacker would."""
    manifest = json.loads(files["manifest.json"])
    manifest["files"] = [
        {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
        if name != "manifest.json"
    ]
    if change is not None:
        change(manifest)
    return {**files, "manifest.json": json.dumps(manifest).encode()}


def changed(bundle: bytes, **replaced: bytes | None) -> bytes:
    """Replace or remove some files and update the manifest."""
    files = read(bundle)
    for name, content in replaced.items():
        if content is None:
            files.pop(name)
        else:
            files[name] = content
    return pack(with_manifest(files))


def with_link(bundle: bytes) -> bytes:
    files = read(bundle)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = (stat.S_IFLNK | 0o777 if name == "model.zip" else 0) << 16
            archive.writestr(member, content)
    return packed.getvalue()
