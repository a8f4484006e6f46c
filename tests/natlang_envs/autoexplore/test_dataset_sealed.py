"""Labels that are held back: the root binds them, tells nothing of them, and any of them can be opened."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natlang_envs import UsageError
from natlang_envs.autoexplore.dataset.labels import Evidence, Label, read_labels, write_labels
from natlang_envs.autoexplore.dataset.sealed import (
    Sealed,
    open_labels,
    read_opened,
    read_sealed,
    seal,
    write_opened,
)
from tests.natlang_envs.test_cli import natlang, refused


def label(number: int) -> Label:
    path = f"docs/{number}.md"
    return Label(
        repository="teapots",
        question=f"What does shelf {number} hold?",
        answer=f"{number} lids",
        targets=(path,),
        evidence=(Evidence(path, f"{number} lids \u2028 🫖"),),
        path=("cd docs", f"cat {number}.md", f"id {number}.md"),
        depth=1,
        kind="documentation",
        difficulty="no words shared with the path",
        bm25=(),
    )


def sealed(folder: Path, count: int) -> tuple[Path, Path, Sealed]:
    folder.mkdir(exist_ok=True, parents=True)
    labels, key, out = folder / "labels.jsonl", folder / "key", folder / "sealed.json"
    write_labels(labels, map(label, range(count)))
    made = seal(labels, key, out)
    assert read_sealed(out) == made
    return labels, key, made


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The tree of RFC 6962, written once more and otherwise: by pairs, an odd one left over goes up as it is."""
    while len(leaves) > 1:
        pairs = [leaves[at : at + 2] for at in range(0, len(leaves), 2)]
        leaves = [hashlib.sha256(b"\1" + b"".join(pair)).digest() if len(pair) == 2 else pair[0] for pair in pairs]
    return leaves[0]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_each_label_is_opened_alone_and_leads_to_the_root(tmp_path: Path, count: int) -> None:
    labels, key, made = sealed(tmp_path, count)
    every = open_labels(labels, key, made)
    leaves = [
        hashlib.sha256(b"\0" + bytes.fromhex(each.salt) + each.label.to_json().encode()).digest() for each in every
    ]
    assert (made.labels, made.root) == (count, root_of(leaves).hex())
    for number, each in enumerate(read_labels(labels)):
        (one,) = open_labels(labels, key, made, [each.id])
        assert (one.number, one.label) == (number, each)
        write_opened(tmp_path / "one.jsonl", [one])
        assert read_opened(tmp_path / "one.jsonl", made) == [one]
    assert "lids" not in json.dumps(made.__dict__)


def test_two_seals_of_the_same_labels_have_nothing_in_common(tmp_path: Path) -> None:
    one, other = (sealed(tmp_path / name, 4) for name in ("one", "other"))
    assert one[2].root != other[2].root
    with pytest.raises(UsageError, match="do not give the root"):
        open_labels(one[0], other[1], one[2])


@settings(max_examples=60, deadline=None)
@given(data=st.data(), count=st.integers(2, 9))
def test_no_other_label_place_salt_or_proof_passes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, count: int
) -> None:
    folder = tmp_path_factory.mktemp("sealed")
    labels, key, made = sealed(folder, count)
    every = open_labels(labels, key, made)
    one = every[data.draw(st.integers(0, count - 1))]
    other = every[data.draw(st.integers(0, count - 1).filter(lambda each: each != one.number))]
    forged = data.draw(
        st.sampled_from(
            [
                replace(one, label=replace(one.label, answer="none")),
                replace(one, label=label(99)),
                replace(one, number=other.number),
                replace(one, number=count + one.number),
                replace(one, number=-1 - one.number),
                replace(one, salt=other.salt),
                replace(one, proof=one.proof[1:]),
                replace(one, proof=(*one.proof, other.salt)),
                replace(one, proof=(other.salt, *one.proof[1:])),
            ]
        )
    )
    write_opened(folder / "opened.jsonl", [forged])
    with pytest.raises(UsageError, match="line 1: this label is not what was sealed on"):
        read_opened(folder / "opened.jsonl", made)


def test_labels_are_sealed_opened_in_part_and_checked_by_commands(tmp_path: Path) -> None:
    labels, key, root, opened, again = (
        str(tmp_path / name) for name in ("l.jsonl", "key", "root.json", "o", "a.jsonl")
    )
    write_labels(Path(labels), map(label, range(6)))
    assert natlang("data", "seal", labels, "--key", key, "--out", root).stdout.startswith(f"{root} holds the root of 6")
    assert "is there, and labels are sealed once" in refused("data", "seal", labels, "--key", key, "--out", root)
    some = ["--only", label(4).id, "--only", label(1).id]
    done = natlang("data", "open", labels, "--key", key, "--sealed", root, *some, "--out", opened)
    assert done.stdout.startswith(f"{opened} holds 2 labels")
    checked = natlang("data", "check-opened", opened, "--sealed", root, "--out", again)
    assert checked.stdout.startswith("2 of 6 labels are opened, and each is as it was sealed on 20")
    assert read_labels(Path(again)) == [label(1), label(4)]
    wrong = ("data", "open", labels, "--key", key, "--sealed", root, "--out", opened, "--only", "teapots/none")
    assert "unknown label 'teapots/none'" in refused(*wrong)
    write_labels(Path(labels), map(label, range(5)))
    assert "do not give the root" in refused("data", "open", labels, "--key", key, "--sealed", root, "--out", opened)


@pytest.mark.parametrize(
    "change", [{"format": "x"}, {"root": "0"}, {"labels": 0}, {"labels": "6"}, {"date": "2026-02-31"}, {"more": 1}]
)
def test_what_is_no_seal_is_refused_in_one_line(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "sealed.json"
    sealed(tmp_path, 2)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UsageError, match=r"sealed\.json is no seal") as told:
        read_sealed(path)
    assert "\n" not in str(told.value)


def test_a_doubled_or_broken_line_and_a_wrong_key_are_refused(tmp_path: Path) -> None:
    labels, key, made = sealed(tmp_path, 3)
    every = open_labels(labels, key, made)
    write_opened(tmp_path / "opened.jsonl", [every[0], every[2], every[0]])
    with pytest.raises(UsageError, match="line 3: label 0 is there twice"):
        read_opened(tmp_path / "opened.jsonl", made)
    for text in ("[]", "{", '{"number": 0, "salt": "", "proof": [], "label": {}}'):
        (tmp_path / "opened.jsonl").write_text(text)
        with pytest.raises(UsageError, match=r"opened\.jsonl, line 1: "):
            read_opened(tmp_path / "opened.jsonl", made)
    for text in ("", "0" * 63, "z" * 64):
        key.write_text(text)
        with pytest.raises(UsageError, match="is no key of 64 hexadecimal digits"):
            open_labels(labels, key, made)
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(UsageError, match="holds no label"):
        seal(tmp_path / "empty.jsonl", tmp_path / "k", tmp_path / "o")


def test_a_seal_does_not_overwrite_its_key_and_a_failed_one_leaves_none(tmp_path: Path) -> None:
    labels, *_ = sealed(tmp_path, 2)
    with pytest.raises(UsageError, match="choose another file for one"):
        seal(labels, tmp_path / "one", tmp_path / "." / "one")
    assert not (tmp_path / "one").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        seal(labels, tmp_path / "other", tmp_path / "file" / "sealed.json")
    assert not (tmp_path / "other").exists()
