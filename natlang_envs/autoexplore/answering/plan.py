"""A short way from any state of AutoExplore-Answer to a right answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations

from natlang_envs.autoexplore.answering.episode import BACK, DONE, AnswerEpisode
from natlang_envs.autoexplore.answering.passages import Passage, lines_shown, passages, picks_of, words_for
from natlang_envs.autoexplore.answering.score import MOST_CITATIONS, Citation, proving_lines, says_all
from natlang_envs.autoexplore.episode import ExploreEpisode
from natlang_envs.autoexplore.searching.episode import SearchEpisode
from natlang_envs.autoexplore.searching.plan import shortest_plan


def answer_plan(episode: AnswerEpisode, most: int) -> list[str]:
    """Return the shortest way that is found to a right answer in at most `most` steps, or an empty one."""
    return min((each for each in _ways(episode, most) if len(each) <= most), key=len, default=list[str]())


def _ways(episode: AnswerEpisode, most: int) -> Iterator[list[str]]:
    if episode.form == "text" and (way := _answer(episode)):
        yield way
        return
    navigation = episode.navigation
    for path in episode.goal.targets:
        lines = episode.lines(path)
        proving = proving_lines(episode.label, path, lines)
        if not episode.label.evidence:
            proving = {number for number, line in enumerate(lines, 1) if says_all(episode.key, line)}
        for part in range(min(navigation.parts(path), most + episode.inner.shown.count(path))):
            shown = [each.number for each in lines_shown(navigation, path, part) if each.number in proving]
            if not shown:
                continue
            if episode.form == "text":
                ends = (_answer(episode, Citation(path, line)) for line in shown)
            else:
                ends = _quoted_ends(episode, path, part, shown)
            found = filter(None, ends)
            # What was picked may belong to a later end than the first.
            if end := min(found, key=len, default=None) if episode.picks else next(found, None):
                yield _reading(episode, path, part, most, end)


def _answer(episode: AnswerEpisode, *cited: Citation) -> list[str]:
    given = (*episode.citations, *cited)
    if len(given) > MOST_CITATIONS or not episode.scored(episode.label.answer, given).success:
        return []
    return [*(f"cite {path}:{line}" for path, line in cited), f"answer {episode.label.answer}"]


def _quoted_ends(episode: AnswerEpisode, path: str, part: int, proving: Sequence[int]) -> Iterator[list[str]]:
    """Yield quotations of one or two passages with picks that make the answer right."""
    found = passages(episode.navigation, path, part)
    supports = [each for each in found if each.line in proving]
    # A second passage counts only where one is not enough.
    pairs = (pair for pair in combinations(found, 2) if supports and {*pair} & {*supports})
    here = episode.opened and episode.opened[1:]
    for chosen in chain(((each,) for each in supports), pairs):
        words = [_said(variants, chosen) for variants in episode.key.atoms]
        given = dict.fromkeys((*episode.citations, *(Citation(path, each.line) for each in chosen)))
        if not all(words) or len(given) > MOST_CITATIONS:
            continue
        wanted = dict.fromkeys(word for each in words for word in each if word not in episode.picks)
        way: list[str] = []
        # The passage that is open comes first, and needs no `quote`; one that is cited and has no new word is left out.
        for passage in sorted(chosen, key=lambda each: (path, part, each.line) != here):
            mine = [f"pick {each}" for each in wanted if each in picks_of(passage) and f"pick {each}" not in way]
            if not mine and (path, passage.line) in episode.citations:
                continue
            opened = not way and (path, part, passage.line) == here
            way += [*[BACK] * bool(way), *[f"quote {passage.line}"] * (not opened), *mine]
        picked = [each.removeprefix("pick ") for each in way if each.startswith("pick ")]
        if episode.scored(" ".join([*episode.picks, *picked]), tuple(given)).success:
            yield [*way, DONE]


def _said(variants: Sequence[str], chosen: Sequence[Passage]) -> tuple[str, ...]:
    """Return the words of one of some passages that say one of the variants; none where none does."""
    ways = (words_for(variant, picks_of(passage)) for passage in chosen for variant in variants)
    return min(filter(None, ways), key=len, default=())


def _reading(episode: AnswerEpisode, path: str, part: int, most: int, end: list[str]) -> list[str]:
    """Return commands to a part of a file, then `end`, which needs it shown or open; too many where none are known."""
    opened, inner = episode.opened, episode.inner
    parts, before = episode.navigation.parts(path), inner.shown.count(path)
    more = (part - before) % parts + 1
    if opened and opened.path == path:
        leaves = bool(opened.line) and (opened.part != part or end[0].startswith("quote "))
        return [BACK] * leaves + [opened.command] * (more if opened.part != part else 0) + end
    if episode.form == "text" and part in {number % parts for number in range(before)}:
        return end
    way = _way_to_read(inner, path, most)
    if episode.form == "listed":  # a file that is read on the way has to be closed
        following = [*way[1:], *way[-1:]]
        leaves = [each.startswith("cat ") and each != then for each, then in zip(way, following, strict=True)]
        way = [part for each, leave in zip(way, leaves, strict=True) for part in [each, *[BACK] * leave]]
    reads_on = opened and way[:1] == [opened.command]
    closing = [BACK] * ((not reads_on) + bool(opened.line)) if opened else []
    return [*closing, *way, *way[-1:] * (more - 1), *end] if way else [BACK] * (most + 1)


def _way_to_read(inner: ExploreEpisode | SearchEpisode, path: str, most: int) -> list[str]:
    """Return the commands to the next `cat` of a file; none where none are known."""
    if isinstance(inner, ExploreEpisode):
        *way, name = inner.navigation.route(inner.place.key, (path,))
        return [*way, f"cat {name.removeprefix('id ')}"]
    if f"cat {path}" in inner.commands:
        return [f"cat {path}"]
    for state in (((), ()), (inner.words, inner.shown)):  # first as from the start: what was read may not be listed
        found = shortest_plan(inner.view, *state, (path,), most) or []
        if found and found[0] in inner.commands:
            return [*found[:-1], f"cat {path}"]
    return []


def way_to_cite(episode: AnswerEpisode, cited: Citation, most: int) -> list[str]:
    """Return commands that cite a line of any file, or the passage that it stands in; too many where none are known."""
    navigation, path = episode.navigation, cited.path
    for part in range(min(navigation.parts(path), most)):
        if cited.line in (each.number for each in lines_shown(navigation, path, part)):
            starts = [each.line for each in passages(navigation, path, part) if each.line <= cited.line]
            last = f"cite {path}:{cited.line}" if episode.form == "text" else f"quote {starts[-1] if starts else 1}"
            return _reading(episode, path, part, most, [last])
    return [BACK] * (most + 1)
