"""A search agent for AutoExplore that uses a model without fine-tuning: `--agent likelihood:MODEL`.

Asked to choose a command, a small model names whatever comes first. Asked how likely a file makes the question, it
judges well (benchmarks/results/autoexplore_judgement.md). So this agent chooses no labels. It reads the entries whose
paths make the question likelier, and names the file whose text makes it likeliest (a noisy-channel model). Routes
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


class Thing(NamedTuple):
    """Something that may be looked at: a file, a folder, or the next page of one."""

    listed: PagePosition
    command: str  # shows it there
    after: PagePosition  # where that leads
    path: str  # a folder's ends with a slash; the next page has its folder's

    @property
    def reads(self) -> bool:
        """Whether it is a file."""
        return self.command.startswith("cat ")


class Search(NamedTuple):
    """What a player knows in the middle of a search, with so many commands `left`."""

    question: str
    left: int
    walk: Walk
    things: dict[tuple[str, ...], list[Thing]]
    texts: dict[str, str]

    def prompts(self) -> Iterator[str]:
        """Yield what the question is read behind: each path that is listed, each text that was read."""
        for thing in chain.from_iterable(self.things.values()):
            yield behind(thing.path)
            if thing.path in self.texts:
                yield behind(thing.path, self.texts[thing.path])


class LikelihoodAgent:
    """Reads what may make the question likely, and names the file that makes it likeliest."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = SayCanPolicy(model, ends=False)
        self._model.model.eval()
        self._memory = WalkMemory()
        self._known: dict[tuple[str, str], float] = {}  # the logarithm of a question behind a prompt

    def act(self, views: Sequence[AgentInput]) -> list[Decision]:
        """Return a decision for each view."""
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
        things: dict[tuple[str, ...], list[Thing]] = {}
        for place, commands in sorted(listed.items()):  # folders before what is in them
            for thing in _things(place, commands):
                if thing.command != NEXT or thing.after not in listed:
                    things.setdefault(place.folder, []).append(thing)
                if thing.after.folder != place.folder:
                    walk.note(place, thing.after.folder[-1])
        return Search(question, steps_left(view.observation, "likelihood"), walk, things, texts)

    def _decide(self, search: Search) -> Decision:
        walk, texts = search.walk, search.texts
        told = {
            thing: self._known[behind(thing.path, texts[thing.path]), search.question]
            for thing in chain.from_iterable(search.things.values())
            if thing.path in texts
        }
        best = max(told, key=told.__getitem__, default=None)
        hopes = self._hopes(search)
        worth: dict[Thing, float] = {}
        for thing, hope in hopes.items():
            steps = walk.steps(walk.here, thing.listed) + 1
            back = walk.steps(thing.after, best.listed) + 1 if best else 1
            if thing not in told and steps + back + (not thing.reads) <= search.left:
                worth[thing] = hope / steps if thing.reads else DEEPER * hope / (steps + 1)
        if worth:
            thing = max(worth, key=worth.__getitem__)
            said = f"The file may be {'' if thing.reads else 'in '}{thing.path or 'this folder'}: {hopes[thing]:.0%}."
            return Decision(walk.towards(thing.listed, thing.command), said)
        named = best or max((thing for thing in hopes if thing.reads), key=hopes.__getitem__, default=None)
        if named is None:
            return Decision(EXIT, "No file is listed.")
        said = f"Of {len(told)} files read, {named.path} makes the question likeliest."
        return Decision(walk.towards(named.listed, named.command.replace("cat ", "id ", 1)), said)

    def _hopes(self, search: Search) -> dict[Thing, float]:
        """Return the chance of everything that was not entered to be the answer, or to hold it, by its path alone."""
        hopes: dict[Thing, float] = {}
        inside: dict[tuple[str, ...], float] = {(): 1.0}
        for folder, things in search.things.items():
            scores = [self._known[behind(thing.path), search.question] / TEMPERATURE for thing in things]
            weights = [exp(score - max(scores)) for score in scores]
            if things[-1].command == NEXT:  # the next page is as good as those before it on average
                weights[-1] = sum(weights[:-1]) / len({thing.listed for thing in things})
            above, whole = inside.get(folder, 1.0), sum(weights)  # begun in the middle, the folder above is not known
            for thing, weight in zip(things, weights, strict=True):
                hope = above * weight / whole
                below = thing.after.folder
                if below != folder and below in search.things:
                    inside[below] = hope
                else:
                    hopes[thing] = hope
        return hopes


def _things(place: PagePosition, commands: Sequence[str]) -> Iterator[Thing]:
    """Yield what is listed in a place."""
    for command in commands:
        verb, _, name = command.partition(" ")
        if command == NEXT:
            yield Thing(place, command, PagePosition(place.folder, place.page + 1), path_of(place.folder, ""))
        elif verb == "cat":
            yield Thing(place, command, place, path_of(place.folder, name))
        elif verb == "cd" and command != UP:
            below = (*place.folder, name)
            yield Thing(place, command, PagePosition(below), path_of(below, ""))


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
