"""Protocols of one's own: those of a board that no package ships, as files beside its entries."""

from __future__ import annotations

import re
from pathlib import Path

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.protocols import Protocol, load_protocol, protocol_names
from natlang_envs.files import write_whole

PROTOCOLS = "protocols"  # the folder, beside that of the entries
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*")


def own_protocol(name: str, beside: Path) -> Protocol | None:
    """Return the protocol of this name in the folder `protocols`; None if there is none or a package ships the name."""
    file = beside / PROTOCOLS / f"{name}.json"
    if not _NAME.fullmatch(name) or name in protocol_names() or not file.is_file():
        return None
    found = load_protocol(str(file))
    if found.name != name:
        raise UsageError(f"{file} holds the protocol {found.name}: move it to {PROTOCOLS}/{found.name}.json")
    return found


def keep_protocol(protocol: Protocol, beside: Path) -> None:
    """Write a protocol where `own_protocol` finds it."""
    if protocol.name in protocol_names():
        raise UsageError(f"{protocol.name} is a protocol of the suite: leave --protocol out")
    if not _NAME.fullmatch(protocol.name):
        raise UsageError(f"the protocol's name is {protocol.name!r}: write it in small letters, such as my-game/v1")
    known = own_protocol(protocol.name, beside)
    if known is not None and known.digest != protocol.digest:
        other = f"another protocol {protocol.name}, digest {known.digest[:12]}…"
        raise UsageError(f"{beside / PROTOCOLS} has {other}: raise the version in the new one's name")
    write_whole(beside / PROTOCOLS / f"{protocol.name}.json", protocol.to_json().encode())
