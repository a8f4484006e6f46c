"""A search agent for AutoExplore that uses a model without fine-tuning: `--agent likelihood:MODEL`.

Asked to choose a command, a small model names whatever comes first. Asked how likely a file makes the question, it
judges well (benchmarks/results/autoexplore_judgement.md). So this agent chooses no labels. It reads the entries whose
paths make the question more probable, and names the file whose text makes it most probable (a noisy channel). Routes
between files are counted, not learned. It uses only what a player is shown in the same game.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import exp
from typing import NamedTuple

import torch

from natlang_envs.evaluation.agents import AgentInput, Decision
from natlang_envs.repository.texts import EXIT, NEXT, UP, read_question, steps_left
from natlang_envs.repository.walk import PagePosition, Walk, WalkMemory, path_of
from reference_agent.baselines.agents import untuned_model
from reference_agent.models.backbone import memory_advice
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import SayCanPolicy

TEMPERATURE = 1.5  # of the softmax over what a folder lists; a name's words are not independent evidence
DEEPER = 0.5  # what a look behind a folder or a page is worth: a file has still to be found there


class ListedEntry(NamedTuple):
    """Something that may be looked at: a file, a folder, or the next page of one."""

    listed: PagePosition
    command: str  # shows it there
    after: PagePosition  # where that leads
    path: str  # a folder's ends with a slash; the next page has its folder's

    @property
    def reads(self) -> bool:
        return self.command.startswith("cat ")


class Search(NamedTuple):
    """What a player knows during a search."""

    question: str
    left: int  # commands
    walk: Walk
    entries: dict[tuple[str, ...], list[ListedEntry]]
    texts: dict[str, str]

    def prompts(self) -> Iterator[str]:
        """Yield the prompts for the question: each path that is listed, each text that was read."""
        for entry in chain.from_iterable(self.entries.values()):
            yield behind(entry.path)
            if entry.path in self.texts:
                yield behind(entry.path, self.texts[entry.path])


class LikelihoodAgent:
    """Reads files whose paths make the question probable, and names the one whose text makes it most probable."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = SayCanPolicy(model, ends=False)
        self._model.model.eval()
        self._memory = WalkMemory()
        self._known: dict[tuple[str, str], float] = {}  # the log-probability of a question after a prompt

    def act(self, views: Sequence[AgentInput]) -> list[Decision]:
        searches = [self._search(view) for view in views]
        asked = [(prompt, each.question) for each in searches for prompt in each.prompts()]
        new = [pair for pair in dict.fromkeys(asked) if pair not in self._known]
        if new:
            with torch.no_grad(), memory_advice("while playing", "lower --batch"):
                rows = self._model.choice_logits([prompt for prompt, _ in new], [[f" {each}"] for _, each in new])
            self._known.update(zip(new, rows[:, 0].tolist(), strict=True))
        tokens = Counter[str]()
        for prompt, question in new:
            tokens[question] += self._model.count_prompt(prompt) + self._model.count(f" {question}")
        return [replace(self._decide(each), tokens=tokens.pop(each.question, 0)) for each in searches]

    def _search(self, view: AgentInput) -> Search:
        """Return what is known: the path, and what was listed to this agent on its way."""
        question = read_question(view.task)
        walk, listed, texts = self._memory.see(view.rng, view.path, view.admissible_commands)
        entries: dict[tuple[str, ...], list[ListedEntry]] = {}
        for place, commands in sorted(listed.items()):  # folders before what is in them
            for entry in _entries(place, commands):
                if entry.command != NEXT or entry.after not in listed:
                    entries.setdefault(place.folder, []).append(entry)
                if entry.after.folder != place.folder:
                    walk.note(place, entry.after.folder[-1])
        return Search(question, steps_left(view.observation, "likelihood"), walk, entries, texts)

    def _decide(self, search: Search) -> Decision:
        walk, texts = search.walk, search.texts
        told = {
            entry: self._known[behind(entry.path, texts[entry.path]), search.question]
            for entry in chain.from_iterable(search.entries.values())
            if entry.path in texts
        }
        best = max(told, key=told.__getitem__, default=None)
        hopes = self._hopes(search)
        worth: dict[ListedEntry, float] = {}
        for entry, hope in hopes.items():
            steps = walk.steps(walk.here, entry.listed) + 1
            back = walk.steps(entry.after, best.listed) + 1 if best else 1
            if entry not in told and steps + back + (not entry.reads) <= search.left:
                worth[entry] = hope / steps if entry.reads else DEEPER * hope / (steps + 1)
        if worth:
            entry = max(worth, key=worth.__getitem__)
            said = f"The file may be {'' if entry.reads else 'in '}{entry.path or 'this folder'}: {hopes[entry]:.0%}."
            return Decision(walk.towards(entry.listed, entry.command), said)
        named = best or max((entry for entry in hopes if entry.reads), key=hopes.__getitem__, default=None)
        if named is None:
            return Decision(EXIT, "No file is listed.")
        said = f"Of {len(told)} files read, {named.path} makes the question likeliest."
        return Decision(walk.towards(named.listed, named.command.replace("cat ", "id ", 1)), said)

    def _hopes(self, search: Search) -> dict[ListedEntry, float]:
        """Return the chance of everything that was not entered to be the answer, or to hold it, by its path alone."""
        hopes: dict[ListedEntry, float] = {}
        inside: dict[tuple[str, ...], float] = {(): 1.0}
        for folder, entries in search.entries.items():
            scores = [self._known[behind(entry.path), search.question] / TEMPERATURE for entry in entries]
            weights = [exp(score - max(scores)) for score in scores]
            if entries[-1].command == NEXT:  # the next page is as good as those before it on average
                weights[-1] = sum(weights[:-1]) / len({entry.listed for entry in entries})
            above, whole = inside.get(folder, 1.0), sum(weights)  # begun in the middle, the folder above is not known
            for entry, weight in zip(entries, weights, strict=True):
                hope = above * weight / whole
                below = entry.after.folder
                if below != folder and below in search.entries:
                    inside[below] = hope
                else:
                    hopes[entry] = hope
        return hopes


def _entries(place: PagePosition, commands: Sequence[str]) -> Iterator[ListedEntry]:
    for command in commands:
        verb, _, name = command.partition(" ")
        if command == NEXT:
            yield ListedEntry(place, command, PagePosition(place.folder, place.page + 1), path_of(place.folder, ""))
        elif verb == "cat":
            yield ListedEntry(place, command, place, path_of(place.folder, name))
        elif verb == "cd" and command != UP:
            below = (*place.folder, name)
            yield ListedEntry(place, command, PagePosition(below), path_of(below, ""))


def behind(path: str, text: str = "") -> str:
    """Return the prompt behind which a question is read: a path, and what the file showed."""
    if text:
        shown = text.removeprefix(path.rpartition("/")[2])  # which `cat` says first
        return f"The file {path}{shown}\n\nA question that this file answers:"
    return f"A question that the file {path or './'} answers:"


def load(argument: str) -> LikelihoodAgent:
    """Return the agent of `likelihood:MODEL`, a hub id, a folder, a config file, or one of `experiments/untuned`."""
    name, config = untuned_model("likelihood", argument)
    return LikelihoodAgent(LanguageModel.load(name, config.model if config else None))
