"""Labels: their file format, the checks on each, splits, the export and the blind readings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from natlang_envs import UsageError
from natlang_envs.autoexplore.dataset.blind_review import (
    BlindReading,
    agreement,
    completeness,
    read_readings,
    sample,
    write_readings,
)
from natlang_envs.autoexplore.dataset.card import card
from natlang_envs.autoexplore.dataset.catalogue import COFFEE
from natlang_envs.autoexplore.dataset.checks import (
    NEAR,
    label_problems,
    letter_groups,
    named_files,
    near_pairs,
    ranked_paths,
    repository_problems,
    share,
)
from natlang_envs.autoexplore.dataset.export import state_actions, write_export
from natlang_envs.autoexplore.dataset.labels import (
    Elsewhere,
    Evidence,
    FileVerdict,
    Label,
    parse,
    read_labels,
    write_labels,
)
from natlang_envs.autoexplore.dataset.own_labels import difficulty_of, shortest_path
from natlang_envs.autoexplore.dataset.report import bm25_right, check, depth_first_right, leaks, rates
from natlang_envs.repository.tree import Repository, open_repository
from tests.support.folders import write

FILES = {
    "README.md": "# Teapots\nA shop that mends teapots of every size.\n",
    "docs/care/cleaning.md": "Rinse a teapot with hot water.\nNever use soap, it stays in the clay.\n",
    "docs/care/storing.md": "Keep the lid beside the pot, so that air gets in.\n",
    "src/pour.py": "def pour(cups):\n    # a cup is a fifth of a litre\n    return cups * 0.2\n",
    "data/prices/repairs/2031.csv": "repair,price\nspout,14.50\nhandle,11.00\n",
    "LICENSE": "Do with it what you like.\n",
}
SOAP = "Is it a good idea to wash mine with dish liquid?"


@pytest.fixture
def shop(tmp_path: Path) -> Repository:
    write(tmp_path / "shop", FILES)
    return open_repository(tmp_path / "shop")


def label_of(repository: Repository, question: str, target: str, evidence: str) -> Label:
    ranked = ranked_paths(repository, question)
    return Label(
        repository=repository.name,
        question=question,
        answer="No, soap stays in the clay.",
        targets=(target,),
        evidence=(Evidence(target, evidence),),
        path=shortest_path(repository, (target,)),
        depth=target.count("/"),
        kind="documentation",
        difficulty=difficulty_of(question, (target,)),
        bm25=tuple(FileVerdict(path, path == target, "it is about something else") for path in ranked),
    )


def soap(repository: Repository, **changes: Any) -> Label:
    label = label_of(repository, SOAP, "docs/care/cleaning.md", "Never use soap, it stays in the clay.")
    return replace(label, **changes)


def problems(repository: Repository, label: Label) -> list[str]:
    return [*label_problems(label), *repository_problems(repository, label)]


def test_a_label_is_the_same_after_a_file(tmp_path: Path, shop: Repository) -> None:
    label = soap(shop)
    elsewhere = (Elsewhere("README.md", "a heading"),)
    other = replace(label, question="Was it so?", answer="It\u2028was.", natural="Was it?", elsewhere=elsewhere)
    write_labels(tmp_path / "labels.jsonl", [label, other])
    assert read_labels(tmp_path / "labels.jsonl") == [label, other]
    assert label.id.startswith("shop/")
    assert replace(label, targets=("README.md",)).id == label.id


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda line: line[:-5], "line 2: "),
        (lambda line: "[]", "line 2: a label is a JSON object"),
        (lambda line: line.replace('"depth": 2', '"depth": "2"'), "line 2: depth must be int"),
        (lambda line: line.replace('"answer"', '"anser"'), r"line 2: .*missing \['answer'\], unknown \['anser'\]"),
        (lambda line: line.replace('"documentation"', '"prose"'), "line 2: kind must be one of documentation, code"),
        (lambda line: line.replace('"answers": false', '"answers": null'), "line 2: bm25's answers must be bool"),
        (lambda line: line.replace('"text"', '"span"'), r"line 2: each of evidence has exactly the keys path, text"),
        (lambda line: line[:-1] + ', "elsewhere": [{"path": "x"}]}', r"line 2: each of elsewhere .*missing \['why'\]"),
        (lambda line: "[" * 100_000, "line 2: "),
    ],
)
def test_a_bad_line_is_named_by_its_number(
    tmp_path: Path, shop: Repository, change: Callable[[str], str], words: str
) -> None:
    line = soap(shop).to_json()
    path = tmp_path / "labels.jsonl"
    path.write_text(f"{line}\n{change(line)}\n")
    with pytest.raises(UsageError, match=words):
        read_labels(path)


def test_a_good_label_has_no_problem(shop: Repository) -> None:
    assert problems(shop, soap(shop)) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"question": "Soap?  "}, "not one line with single spaces"),
        ({"question": "Is soap bad?"}, "has 12 characters"),
        ({"question": "What does cleaning.md say about it?"}, "names a file: cleaning.md"),
        ({"question": "Is it docs/care where the soap is?"}, "names a file: docs/care"),
        ({"answer": " "}, "there is no answer"),
        ({"targets": ()}, "there is no target"),
        ({"targets": ("docs/care/cleaning.md",) * 2}, "stands there twice"),
        ({"targets": ("README.md", "docs/care/cleaning.md")}, "target README.md has no evidence"),
        ({"evidence": ()}, "has no evidence"),
        ({"evidence": (Evidence("docs/care/cleaning.md", "Use a lot of soap."),)}, "is not in docs/care/cleaning.md"),
        ({"evidence": (Evidence("docs/care/cleaning.md", "soap"),)}, "has 4 characters"),
        ({"evidence": (Evidence("README.md", "A shop that mends teapots"),)}, "from README.md, which is no target"),
        ({"depth": 1}, "depth is 1, the nearest target has 2"),
        ({"difficulty": "shares"}, "difficulty is 'shares'"),
        ({"path": ("cd docs", "cd care", "id cleaning.md")}, "does not end in cat and id"),
        ({"path": ("cd src", "cd ..", "cd docs", "cd care", "cat cleaning.md", "id cleaning.md")}, "the shortest is"),
        ({"path": ("cat x",) * 16}, "the way has 16 steps"),
    ],
)
def test_a_wrong_label_is_told(shop: Repository, changes: dict[str, Any], words: str) -> None:
    assert any(words in problem for problem in problems(shop, soap(shop, **changes)))


def test_verdicts_and_targets_agree(shop: Repository) -> None:
    label = soap(shop)
    first, *others = label.bm25
    assert any("bm25 should hold" in each for each in problems(shop, replace(label, bm25=(*others, first))))
    flipped = replace(label, bm25=(first._replace(answers=not first.answers), *others))
    assert any("but" in each for each in problems(shop, flipped))
    silent = replace(label, bm25=(first._replace(why=" "), *others))
    assert any("has no reason" in each for each in problems(shop, silent))


def test_a_target_that_is_gone_is_told(shop: Repository) -> None:
    gone = soap(shop, targets=("docs/care/soap.md",))
    assert "target docs/care/soap.md is no file of the repository" in problems(shop, gone)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What is in POUR.PY, roughly?", ["POUR.PY"]),
        ("What does the LICENSE allow?", ["LICENSE"]),
        ("Under which license may I copy it?", []),
        ("What is in care/cleaning.md.", ["care/cleaning.md."]),
        ("How do I pour two cups and/or three?", []),
        ("Where are prices/repairs of 2031?", ["prices/repairs"]),
    ],
)
def test_names_of_files_are_found(shop: Repository, question: str, named: list[str]) -> None:
    assert named_files(question, shop.files) == named


def test_near_duplicates_are_those_that_comparing_all_pairs_finds() -> None:
    words = "how do i keep the lid of my old teapot from breaking when it is hot or cold".split()  # noqa: SIM905
    texts = [" ".join(words[at : at + 9]) for at in range(8)] + [" ".join(words[at:]) for at in range(8)]
    texts += ["Where is the price of a new spout?", "where is the price of a new spout", "Who mends handles?"]
    groups = [letter_groups(text) for text in texts]
    wanted = {
        (first, second)
        for second in range(len(texts))
        for first in range(second)
        if share(groups[first], groups[second]) >= NEAR
    }
    found = {(pair.first, pair.second) for pair in near_pairs(texts)}
    assert found <= wanted
    assert len(wanted - found) <= len(wanted) // 100
    assert (len(texts) - 3, len(texts) - 2) in found
    assert len(wanted) > 10


def labels_of(coffee: Repository, count: int) -> list[Label]:
    """Return labels on the last documents of the Coffee Company."""
    lines: list[Label] = []
    for path in [each for each in coffee.files if each.endswith(".md")][-count:]:
        text = next(each for each in coffee.read(path).decode().splitlines() if 30 <= len(each) <= 300)
        question = f"Where is {hashlib.sha256(path.encode()).hexdigest()} told?"
        lines.append(replace(label_of(coffee, question, path, text), repository=COFFEE))
    return lines


def test_no_file_and_no_repository_is_on_two_sides(coffee: Repository) -> None:
    labels = labels_of(coffee, 12)
    parts = {"train": labels[:8], "test_seen": labels[8:]}
    assert leaks(parts) == []
    assert check(parts).problems == ()
    moved = {**parts, "test": labels[:1]}
    assert any("is of a repository of the split train" in line for line in leaks(moved))
    shared = {**parts, "test_seen": [*labels[8:], replace(labels[0], question="Another one, please?")]}
    assert any("is in train and in test_seen" in line for line in leaks(shared))
    known = replace(labels[0], question="Yet another one, please?")
    assert leaks({**parts, "known": [known]}) == []
    assert leaks({**parts, "known": [labels[9]]}) == [f"known: {labels[9].id} is about no file that train asks about"]
    broken = replace(labels[0], depth=7)
    assert any(
        line.startswith(f"train.jsonl, line 1 ({broken.id}): depth is 7")
        for line in check({"train": [broken]}).problems
    )


def test_state_action_pairs_lead_to_the_target(coffee: Repository) -> None:
    labels = labels_of(coffee, 6)
    pairs = list(state_actions(labels))
    assert len(pairs) == sum(len(label.path) for label in labels) > 12
    for pair in pairs:
        assert pair.action in pair.commands
        assert ("Previous path: none." in pair.prompt) == (pair.step == 0)
    label = next(label for label in labels if label.depth)
    env = gymnasium.make(
        "NatLang/AutoExplore-v0", repository=str(coffee.path), question=label.question, target=list(label.targets)
    )
    observation, _ = env.reset(seed=0)
    for pair in (each for each in pairs if each.id == label.id):
        assert pair.prompt.endswith(f"Observation: {observation}")
        observation, _, terminated, _, info = env.step(pair.action)
    assert terminated
    assert info["success"]
    rate = rates(labels, depth_first_right)["any"]
    assert rate.trials == len(labels)
    assert rates(labels, bm25_right)["any"].trials == len(labels)


def test_the_export_is_read_back(coffee: Repository, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    labels = labels_of(coffee, 12)
    parts = {"train": labels[:8], "validation": [], "test": [], "test_seen": labels[8:]}
    out = tmp_path / "out"
    written = write_export(out, parts, "d1gest")
    for part in (part for part, labels in parts.items() if labels):
        labels = parts[part]
        rows = parquet.read_table(out / f"{part}.parquet").to_pylist()
        raw = [json.loads(line) for line in (out / "raw" / f"{part}.jsonl").read_text().splitlines()]
        assert raw == rows
        assert [row.pop("id") for row in rows] == [label.id for label in labels]
        for row in rows:
            row["evidence"] = [{name: each[name] for name in ("path", "text")} for each in row["evidence"]]
        assert [parse(row) for row in rows] == labels
    text = (out / "README.md").read_text()
    assert text == card(parts, "d1gest")
    assert "path: train.parquet" in text
    assert "d1gest" in text
    assert "{" not in text
    sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text().splitlines())
    assert sums == {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in written
        if path.name != "SHA256SUMS"
    }
    for name in (
        "repositories.toml",
        "answer_keys.jsonl.gz",
        "readings/second.jsonl.gz",
        "readings/full.jsonl.gz",
        "readings/fresh.jsonl.gz",
        "readings/known.jsonl.gz",
        "coffee_company/README.md",
    ):
        assert name in sums
    with pytest.raises(UsageError, match="is not empty"):
        write_export(out, parts, "d1gest")


def test_the_hugging_face_library_loads_the_export(coffee: Repository, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets.load")  # `datasets` alone may be the folder of this checkout
    labels = [label_of(coffee, "Which words do we use for our drinks and machines?", "GLOSSARY.md", "# Glossary")]
    write_export(tmp_path / "out", {"train": labels}, "d1gest", own=True)
    loaded = datasets.load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded["id"] == [label.id for label in labels]
    assert loaded[0]["targets"] == ["GLOSSARY.md"]


def test_a_second_reading_counts_what_was_read(shop: Repository, tmp_path: Path) -> None:
    labels = [soap(shop, question=f"Is it a good idea to wash number {number}?") for number in range(25)]
    chosen = sample(labels)
    assert len(chosen) == 3
    assert chosen == sample(labels[::-1])
    assert all(each.file == "" for each in chosen)
    told = [chosen[0]._replace(file="docs/care/cleaning.md"), chosen[1]._replace(file="README.md"), chosen[2]]
    write_readings(tmp_path / "readings.jsonl", [*told, BlindReading("shop/gone", "shop", "x", "README.md")])
    known = {label.id: label for label in labels}
    rate = agreement(read_readings(tmp_path / "readings.jsonl"), known)
    assert (rate.successes, rate.trials) == (1, 2)
    (tmp_path / "readings.jsonl").write_text('{"id": "x"}\n')
    with pytest.raises(UsageError, match="line 1: a reading has exactly the keys"):
        read_readings(tmp_path / "readings.jsonl")


def test_a_reading_of_whole_trees_counts_targets_and_other_files(shop: Repository, tmp_path: Path) -> None:
    labels = {label.id: label for label in (soap(shop, question=f"May I wash number {n}?") for n in range(3))}
    (target, *_) = next(iter(labels.values())).targets
    told = ([target], [target, "README.md"], ["README.md"])
    lines = [json.dumps({"id": name, "files": files}) for name, files in zip(labels, told, strict=True)]
    path = tmp_path / "full.jsonl"
    path.write_text("\n".join([*lines, json.dumps({"id": "shop/gone", "files": ["x"]})]) + "\n")
    found, further = completeness(labels, path)
    assert (found.successes, found.trials) == (2, 3)
    assert (further.successes, further.trials) == (2, 3)
    path.write_text('{"id": "x", "files": []}\n')
    with pytest.raises(UsageError, match="line 1: a reading of the whole tree names at least one file"):
        completeness(labels, path)
