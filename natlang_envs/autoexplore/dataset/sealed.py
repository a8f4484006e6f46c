"""Labels that are held back: the root of a Merkle tree over them is published, and they are opened later, all or some.

Until then nobody learns anything of a label, and afterwards nobody can have changed one. The tree is that of RFC 6962:
a leaf is SHA-256(00 ‖ salt ‖ line), a node SHA-256(01 ‖ left ‖ right), and of n leaves the left branch has the largest
power of two below n. A line is a label as `Label.to_json` writes it, in the order of the file; the salt of number i,
counted from 0, is HMAC-SHA-256(key, i in decimal digits).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from natlang_envs.autoexplore.dataset.labels import Label, parse, read_labels, read_lines, read_object
from natlang_envs.errors import UsageError, one_of, reason
from natlang_envs.files import write_whole

FORMAT = "natlang-sealed-labels/1"
_HEX = frozenset("0123456789abcdef")
_MOST = 1_000_000


@dataclass(frozen=True)
class Sealed:
    """What is published of labels that are held back.

    Attributes:
        format: `FORMAT`.
        root: Of the tree, in hexadecimal digits.
        labels: How many there are.
        date: The day on which they were sealed, `YYYY-MM-DD`.
    """

    format: str
    root: str
    labels: int
    date: str


@dataclass(frozen=True)
class Opened:
    """A label that was opened, and what leads from it to the root.

    Attributes:
        number: Its place among all labels, from 0.
        salt: Its salt.
        proof: The nodes beside its way to the root, from the leaf on.
        label: The label.
    """

    number: int
    salt: str
    proof: tuple[str, ...]
    label: Label


def seal(labels: Path, key: Path, out: Path) -> Sealed:
    """Write the root of a file of labels to `out`, and a new key, which stays secret as the labels do, to `key`.

    Raises:
        UsageError: There is no label, one of the files to write is there, or both are one.
    """
    found = read_labels(labels)
    if not found:
        raise UsageError(f"{labels} holds no label: make some with natlang data label")
    for path in (key, out):
        if path.exists():
            raise UsageError(f"{path} is there, and labels are sealed once: choose another file")
    if key.resolve() == out.resolve():
        raise UsageError(
            f"{key} is to hold the key, and what is published stands elsewhere: choose another file for one"
        )
    secret = secrets.token_bytes(32)
    sealed = Sealed(FORMAT, _root(_leaves(found, secret)).hex(), len(found), datetime.now(UTC).date().isoformat())
    write_whole(key, f"{secret.hex()}\n".encode())
    key.chmod(0o600)
    try:
        write_whole(out, (json.dumps(asdict(sealed), indent=2) + "\n").encode())
    except BaseException:
        key.unlink()  # it opens nothing, and would be in the way of the next try
        raise
    return sealed


def open_labels(labels: Path, key: Path, sealed: Sealed, only: Collection[str] = ()) -> list[Opened]:
    """Return sealed labels with what proves that they were sealed.

    Args:
        labels: The file that was sealed.
        key: Its key.
        sealed: What was published.
        only: The ids of those to open; all by default.

    Raises:
        UsageError: These are not the labels that were sealed, or one has no such id.
    """
    found = read_labels(labels)
    leaves = _leaves(found, _key(key))
    if len(found) != sealed.labels or _root(leaves).hex() != sealed.root:
        raise UsageError(f"{labels} and {key} do not give the root {sealed.root[:12]}…: name what was sealed")
    for each in only:
        one_of("label", each, [label.id for label in found])
    return [
        Opened(number, _salt(_key(key), number).hex(), tuple(each.hex() for each in _proof(leaves, number)), label)
        for number, label in enumerate(found)
        if not only or label.id in only
    ]


def write_opened(path: Path, opened: Sequence[Opened]) -> None:
    """Write opened labels, one JSON object a line."""
    lines = ({**asdict(each), "label": json.loads(each.label.to_json())} for each in opened)
    write_whole(path, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines).encode())


def read_opened(path: Path, sealed: Sealed) -> list[Opened]:
    """Return the labels of a file that were sealed under a root.

    Raises:
        UsageError: A line is no opened label, one is not under the root, or one is there twice.
    """
    found: dict[int, Opened] = {}
    for line, each in read_lines(path, _opened):
        leaf = _leaf(bytes.fromhex(each.salt), each.label)
        if _led(leaf, each.number, sealed.labels, [bytes.fromhex(node) for node in each.proof]) != sealed.root:
            raise UsageError(f"{path}, line {line}: this label is not what was sealed on {sealed.date}")
        if found.setdefault(each.number, each) is not each:
            raise UsageError(f"{path}, line {line}: label {each.number} is there twice: leave one of them out")
    return list(found.values())


def read_sealed(path: Path) -> Sealed:
    """Return what was published.

    Raises:
        UsageError: The file is not what `seal` writes.
    """
    try:
        content = read_object(json.loads(path.read_text(encoding="utf-8")), Sealed.__annotations__, "a seal")
        date.fromisoformat(content["date"])
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{path} is no seal ({reason(error)}): name the file that natlang data seal wrote") from None
    sealed = Sealed(**content)
    counted = type(sealed.labels) is int and 0 < sealed.labels <= _MOST
    if sealed.format != FORMAT or not counted or not _is_digest(sealed.root):
        raise UsageError(f"{path} is no seal of the format {FORMAT}: name the file that natlang data seal wrote")
    return sealed


def _key(path: Path) -> bytes:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        remedy = "name the key that natlang data seal wrote"
        raise UsageError(f"{path} cannot be read ({reason(error)}): {remedy}") from None
    if not _is_digest(text):
        raise UsageError(f"{path} is no key of 64 hexadecimal digits: name the one that natlang data seal wrote")
    return bytes.fromhex(text)


def _opened(value: object) -> Opened:
    content: dict[str, Any] = read_object(value, Opened.__annotations__, "an opened label")
    number, salt, proof = content["number"], content["salt"], content["proof"]
    if type(number) is not int or not isinstance(proof, list) or not all(map(_is_digest, [salt, *proof])):  # pyright: ignore[reportUnknownArgumentType]
        raise ValueError("number must be a number, salt and each of proof 64 hexadecimal digits")
    return Opened(number, salt, tuple(proof), parse(content["label"]))  # pyright: ignore[reportUnknownArgumentType]


def _is_digest(text: object) -> bool:
    return isinstance(text, str) and len(text) == 64 and set(text) <= _HEX


def _salt(key: bytes, number: int) -> bytes:
    return hmac.digest(key, str(number).encode(), "sha256")


def _leaf(salt: bytes, label: Label) -> bytes:
    return hashlib.sha256(b"\0" + salt + label.to_json().encode()).digest()


def _leaves(labels: Sequence[Label], key: bytes) -> list[bytes]:
    return [_leaf(_salt(key, number), label) for number, label in enumerate(labels)]


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def _left(count: int) -> int:
    """Return how many of two or more leaves are in the left branch."""
    return 1 << ((count - 1).bit_length() - 1)


def _root(leaves: Sequence[bytes]) -> bytes:
    if len(leaves) == 1:
        return leaves[0]
    left = _left(len(leaves))
    return _node(_root(leaves[:left]), _root(leaves[left:]))


def _proof(leaves: Sequence[bytes], number: int) -> list[bytes]:
    if len(leaves) == 1:
        return []
    left = _left(len(leaves))
    if number < left:
        return [*_proof(leaves[:left], number), _root(leaves[left:])]
    return [*_proof(leaves[left:], number - left), _root(leaves[:left])]


def _led(leaf: bytes, number: int, count: int, proof: Sequence[bytes]) -> str:
    """Return the root that a proof leads to from a leaf; an empty text where it leads nowhere."""
    way: list[bool] = []  # from the root on, whether it goes left
    while count > 1 and 0 <= number < count:
        left = _left(count)
        way.append(number < left)
        number, count = (number, left) if number < left else (number - left, count - left)
    if number != 0 or len(way) != len(proof):
        return ""
    for goes_left, beside in zip(reversed(way), proof, strict=True):
        leaf = _node(leaf, beside) if goes_left else _node(beside, leaf)
    return leaf.hex()
