"""Makes weakly labelled questions for AutoExplore: sentences of many repositories, worded as questions by rules.

The label is the file that the sentence stands in. Nobody has checked that no other file answers as well.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

from natlang_envs.autoexplore.baselines import LARGEST, question_words, stem
from natlang_envs.autoexplore.dataset.catalogue import catalogue
from natlang_envs.autoexplore.dataset.checks import difficulty_of, named_files
from natlang_envs.autoexplore.dataset.editions import load_labels
from natlang_envs.autoexplore.dataset.labels import PARTS
from natlang_envs.autoexplore.dataset.near_duplicates import near_pairs
from natlang_envs.autoexplore.dataset.package_index import Index
from natlang_envs.autoexplore.repository.tree import Repository, open_repository
from natlang_envs.errors import UsageError
from natlang_envs.locks import alone
from natlang_envs.trajectory import write_whole
from reference_agent.search.weak.sentences import Sentence, Source, sentences_of, sources_in
from reference_agent.search.weak.sources import Sources, repositories_of
from reference_agent.search.weak.wording import question_of

QUESTIONS = 100  # of a repository
LARGE, LARGE_QUESTIONS = 600, 300  # files with text from which a repository is large, and its questions

Kind = Literal["code", "documentation", "other"]
SHARES: dict[Kind, float] = {"code": 0.45, "documentation": 0.35, "other": 0.2}  # of a repository's questions
SHARING = 0.25  # at most, of a repository's questions: those that share a word with the path of their file
PER_FILE, PER_CHANGES = 4, 10  # questions of one file, and of one list of changes
PLACES = 3  # files at most that hold a sentence
FIT = 0.35  # least share of a question's words, by weight, that its file also has elsewhere
CANDIDATES = 6  # for each question that is wanted: files are read until there are so many

FILE, CARD, FOLDERS = "questions.jsonl.gz", "README.md", "repositories.json"

_KIND_OF: dict[Source, Kind] = {
    "docstring": "code",
    "comment": "code",
    "page": "documentation",
    "changes": "other",
    "settings": "other",
    "test": "other",
}
_WORD = re.compile(r"[^\W_]+")

Told = Callable[[str, int, int, int], None]  # the repository, its number, how many there are, the questions so far


@dataclass(frozen=True)
class Weak:
    """A weakly labelled question.

    Attributes:
        id: The repository, and 8 hex digits of the question.
        repository: The name in the list of sources.
        question: One line.
        paths: All files that hold the sentence, sorted.
        kind: Of the sentence.
        source: What it is a sentence of.
        sentence: It, without markup.
        spans: Where it stands: path, and the characters from and to in the file read as UTF-8. A trainer that shows the
            file takes them out.
        shares: Whether the question shares a word with one of the paths.
    """

    id: str
    repository: str
    question: str
    paths: tuple[str, ...]
    kind: Kind
    source: Source
    sentence: str
    spans: tuple[tuple[str, int, int], ...]
    shares: bool

    def to_json(self) -> str:
        """Return its line."""
        return json.dumps(asdict(self), ensure_ascii=False)


def parse(line: str) -> Weak:
    """Return the question of a line.

    Raises:
        ValueError: It is none.
    """
    try:
        content: dict[str, Any] = json.loads(line)
        spans = tuple((str(path), int(start), int(end)) for path, start, end in content.pop("spans"))
        return Weak(**{**content, "paths": tuple(content.pop("paths")), "spans": spans})
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no weak question: {error}") from None


def read_questions(path: Path) -> list[Weak]:
    """Return the questions of a file that `make_questions` wrote.

    Raises:
        UsageError: It is missing or is no such file.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            return [parse(line) for line in file]
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UsageError(f"{path} holds no weak questions ({error}): run reflect-rl data autoexplore") from None


class Made(NamedTuple):
    """What `make_questions` made.

    Attributes:
        file: The questions.
        questions: How many.
        missing: The sources that are not on this machine, and why.
    """

    file: Path
    questions: int
    missing: dict[str, str]


def make_questions(
    out: Path, sources: Sources, index: Callable[[], Index] = Index, told: Told = lambda name, done, total, count: None
) -> Made:
    """Write the questions of all sources that can be had, with a card, into a folder.

    Each repository's questions are kept beside the file, so a run that was stopped goes on with the next repository.

    Args:
        out: The folder.
        sources: From `read_sources`.
        index: Returns the packaging index; called only when something is to be downloaded.
        told: Called before each repository and at the end.

    Raises:
        UsageError: No source is here, or the folder cannot be written to.
    """
    total = len(sources.pinned) + len(sources.installed) + sources.library
    found: dict[str, list[Weak]] = {}
    described: dict[str, str] = {}
    folders: dict[str, str] = {}
    with alone(out / ".lock"):
        missing: dict[str, str] = {}
        for number, (name, version, folder) in enumerate(repositories_of(sources, index, missing)):
            told(name, number, total, sum(map(len, found.values())))
            found[name], digest = _kept(out, name, version, folder)
            described[name] = f"{version} | {digest[:16]}"
            folders[name] = str(folder)
        if not found:
            raise UsageError(f"no source is on this machine: {'; '.join(missing.values())}")
        questions = _distinct([each for name in sorted(found) for each in found[name]])
        content = gzip.compress("".join(f"{each.to_json()}\n" for each in questions).encode(), mtime=0)
        write_whole(out / FILE, content)
        write_whole(out / FOLDERS, (json.dumps(folders, indent=1) + "\n").encode())
        write_whole(out / CARD, _card(questions, described, missing, hashlib.sha256(content).hexdigest()).encode())
        told("", total, total, len(questions))
    return Made(out / FILE, len(questions), missing)


def _kept(out: Path, name: str, version: str, folder: Path) -> tuple[list[Weak], str]:
    """Return a repository's questions, from an earlier run if there was one, and the digest of its files."""
    repository = open_repository(folder)
    digest = repository.digest
    key = hashlib.sha256(f"{_rules()} {name} {version} {digest}".encode()).hexdigest()[:16]
    path = out / "parts" / f"{name}-{key}.jsonl"
    if not path.exists():
        made = questions_of(name, repository)
        write_whole(path, "".join(f"{each.to_json()}\n" for each in made).encode())
    return [parse(line) for line in path.read_text(encoding="utf-8").split("\n") if line], digest


def _rules() -> str:
    """Return a digest of the rules: the modules that hold them, and their words."""
    total = hashlib.sha256()
    for each in ("questions.py", "sentences.py", "wording.py", "clauses.py", "grammar.py", "words.toml"):
        total.update(Path(__file__).with_name(each).read_bytes())
    return total.hexdigest()


class _Texts:
    """The texts of a repository, and in how many of them each word stands."""

    def __init__(self, repository: Repository) -> None:
        self.text: dict[str, str] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._plain: dict[str, str] = {}
        for path in repository.files:
            if repository.mark(path).size > LARGEST:
                continue
            content = repository.part(path, 0, LARGEST)
            if b"\0" in content:
                continue
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError:
                continue
            words = _WORD.findall(text.lower())
            self.text[path] = text
            self._words[path] = frozenset(words)
            self._plain[path] = f" {' '.join(words)} "
        self._found_in = Counter(word for words in self._words.values() for word in words)
        self._stems = Counter(word for words in self._words.values() for word in {stem(word) for word in words})

    def places(self, path: str, start: int, end: int) -> list[tuple[str, int, int]] | None:
        """Return all spans with the words of one, or None where one differs in its spaces or there are too many."""
        raw = self.text[path][start:end]
        words = _WORD.findall(raw.lower())
        rarest = min(words, key=lambda word: (self._found_in[word], word))
        plain = f" {' '.join(words)} "
        files = [each for each, known in self._words.items() if rarest in known and plain in self._plain[each]]
        if len(files) > PLACES:
            return None
        spans: list[tuple[str, int, int]] = []
        for each in files:
            text, at = self.text[each], -1
            found = len(spans)
            while (at := text.find(raw, at + 1)) >= 0:
                spans.append((each, at, at + len(raw)))
            if len(spans) - found != self._plain[each].count(plain):
                return None
        return spans if any(span[0] == path for span in spans) else None

    def fit(self, question: str, path: str, spans: Iterable[tuple[str, int, int]]) -> float:
        """Return which share of the question's words, by rarity, the file has outside the spans."""
        text = self.text[path]
        for where, start, end in sorted(spans, reverse=True):
            if where == path:
                text = text[:start] + text[end:]
        known = {stem(word) for word in _WORD.findall(text.lower())}
        words = question_words(question)
        weights = {word: math.log((len(self.text) + 1) / (self._stems[word] + 0.5)) for word in words}
        return sum(weights[word] for word in words if word in known) / (sum(weights.values()) or 1)


def questions_of(name: str, repository: Repository) -> list[Weak]:
    """Return the questions of one repository: the same for the same files.

    Args:
        name: What it is called, which some wordings use.
        repository: Its files.
    """
    texts = _Texts(repository)
    wanted = LARGE_QUESTIONS if len(texts.text) >= LARGE else QUESTIONS
    candidates = _candidates(name, texts, wanted)
    kept: dict[Kind, list[Weak]] = {kind: [] for kind in SHARES}
    per_file: Counter[str] = Counter()
    sharing = 0
    for sentence, question in candidates:
        kind = _KIND_OF[sentence.source]
        if len(kept[kind]) >= wanted * (SHARES[kind] + 0.3):
            continue
        if per_file[sentence.path] >= (PER_CHANGES if sentence.source == "changes" else PER_FILE):
            continue
        spans = texts.places(sentence.path, sentence.start, sentence.end)
        if spans is None or named_files(question, repository.files):
            continue
        paths = tuple(sorted({span[0] for span in spans}))
        shares = difficulty_of(question, paths) == "shares"
        if shares and sharing >= SHARING * (1 + sum(map(len, kept.values()))):
            continue
        if texts.fit(question, sentence.path, spans) < FIT:
            continue
        sharing += shares
        per_file[sentence.path] += 1
        digest = hashlib.sha256(question.encode()).hexdigest()[:8]
        kept[kind].append(
            Weak(f"{name}/{digest}", name, question, paths, kind, sentence.source, sentence.text, tuple(spans), shares)
        )
    return _balanced(kept, wanted)


def _candidates(name: str, texts: _Texts, wanted: int) -> list[tuple[Sentence, str]]:
    """Return sentences and their questions in a random but fixed order, from enough files of each kind."""
    held_out = {each.name for each in catalogue().values() if each.split != "train"}
    enough = {kind: CANDIDATES * wanted * share for kind, share in SHARES.items()}
    counts: Counter[Kind] = Counter()
    found: dict[str, tuple[Sentence, str]] = {}
    for path in sorted(texts.text, key=lambda path: _order(f"{name}/{path}")):
        if held_out.intersection(PurePosixPath(path.lower()).parts[:-1]):
            continue
        if all(counts[_KIND_OF[each]] >= enough[_KIND_OF[each]] for each in sources_in(path)):
            continue
        for sentence in sentences_of(path, texts.text[path]):
            question = question_of(sentence, name)
            if question:
                counts[_KIND_OF[sentence.source]] += 1
                found.setdefault(f"{question}\n{path}\n{sentence.start}", (sentence, question))
    return [found[key] for key in sorted(found, key=lambda key: _order(f"{name}/{key}"))]


def _order(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _balanced(kept: dict[Kind, list[Weak]], wanted: int) -> list[Weak]:
    """Return so many of each kind as it should have, distinct; what one lacks is taken from the others."""
    distinct: dict[Kind, list[Weak]] = {kind: _distinct(each, labelled=False) for kind, each in kept.items()}
    chosen: dict[Kind, list[Weak]] = {kind: each[: round(wanted * SHARES[kind])] for kind, each in distinct.items()}
    for kind, each in distinct.items():
        lacking = wanted - sum(map(len, chosen.values()))
        chosen[kind] = each[: len(chosen[kind]) + max(0, lacking)]
    return [question for kind in SHARES for question in chosen[kind]]


def _distinct(questions: Sequence[Weak], labelled: bool = True) -> list[Weak]:
    """Return the questions that say nearly what no earlier one, and no labelled one, says."""
    known = [label.question for part in PARTS for label in load_labels(part)] if labelled else []
    pairs = near_pairs([*known, *(each.question for each in questions)])
    dropped: set[int] = set()
    for first, second, _ in sorted(pairs):
        if first not in dropped and second >= len(known):
            dropped.add(second)
    return [each for number, each in enumerate(questions, len(known)) if number not in dropped]


def _card(questions: Sequence[Weak], described: dict[str, str], missing: dict[str, str], digest: str) -> str:
    counts = Counter((each.repository, each.kind) for each in questions)
    kinds = Counter(each.kind for each in questions)
    sources = Counter(each.source for each in questions)
    several = sum(len(each.paths) > 1 for each in questions)
    sharing = sum(each.shares for each in questions)
    many = len(questions) or 1
    by_kind = ", ".join(f"{kind} {count:,}" for kind, count in sorted(kinds.items()))
    by_source = ", ".join(f"{each} {count:,}" for each, count in sorted(sources.items()))
    lines = [
        "# Weak questions for AutoExplore",
        "",
        f"{len(questions):,} questions about {len(described)} repositories, made by `reflect-rl data "
        f"autoexplore`. Each is",
        "a sentence of a file, worded as a question by rules; the file is the label. Nobody has checked that no "
        "other file",
        "answers, and some questions read badly. They are for training only. No repository of the labelled dataset is",
        "among them, and no question is nearly one of its questions.",
        "",
        f"SHA-256 of `{FILE}`: `{digest}`. Digest of the rules: `{_rules()[:16]}`.",
        "",
        "One JSON object a line: `id`, `repository`, `question`, `paths` (all files that hold the sentence), `kind`,",
        "`source`, `sentence` (without markup), `spans` (path, from and to, in characters of the file's bytes "
        "decoded as",
        "UTF-8, line ends as they are: take them out before a model sees the file), `shares` (a word with a path).",
        f"`{FOLDERS}` says where each repository's files are.",
        "",
        f"By kind: {by_kind}. By source: {by_source}.",
        f"{sharing / many:.0%} share a word with the path, at most {SHARING:.0%} in each repository; "
        f"{several:,} have more"
        " than one file.",
        "",
        "| repository | version | digest | code | documentation | other |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    for name in sorted(described):
        numbers = " | ".join(str(counts[name, kind]) for kind in SHARES)
        lines.append(f"| {name} | {described[name]} | {numbers} |")
    if missing:
        lines += ["", f"Not on this machine, so left out: {', '.join(sorted(missing))}."]
    lines += [
        "",
        "The sentences stay under their projects' licences.",
        "",
    ]
    return "\n".join(lines)
