"""The judge as an agent: `natlang evaluate --agent searcher:FILE`, or `searcher-sample:FILE` for drawn steps."""

from __future__ import annotations

from pathlib import Path

import torch

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import published
from natlang_envs.evaluation.agents import AgentInput
from natlang_envs.repository.hits import read_list
from natlang_envs.repository.texts import EXIT, read_question, steps_left
from reference_agent.families.autoexplore.searcher.evidence import gather
from reference_agent.families.autoexplore.searcher.games import Games, stack
from reference_agent.families.autoexplore.searcher.judge import Options, draw, read_judge

_POLICY = "searcher"  # of a published player
_WEIGHTS = "searcher.safetensors"

Commands = tuple[list[str], list[str], list[str]]  # what each word or file of the three kinds of steps is done by


class SearcherAgent:
    """Searches, reads and names as a trained judge thinks likely.

    To read or name a file that the current list lacks, it first searches again for a word that listed it.

    Args:
        weights: A file of `reflect-rl search`, or what `reflect-rl publish` made of it.
        sampling: Draw each step, in place of the likeliest.

    Attributes:
        judge: What thinks.

    Raises:
        UsageError: The file cannot be read, or holds something else.
    """

    def __init__(self, weights: Path, sampling: bool = False) -> None:
        torch.set_num_threads(1)
        self.sampling = sampling
        self.judge = read_judge(_weights_of(weights), weights)

    def __call__(self, view: AgentInput) -> str:
        """Return the next command, from the path alone."""
        options, commands = self._think(view)
        if options is None:
            return EXIT
        drawn = torch.Generator().manual_seed(int(view.rng.integers(1 << 31))) if self.sampling else None
        kind, item = (int(each) for each in draw(options, drawn))
        return commands[kind][item]

    def chances(self, view: AgentInput, reflection: str | None) -> list[float]:
        """Return how likely each listed command is to be drawn."""
        found = dict.fromkeys(view.admissible_commands, 0.0)
        options, commands = self._think(view)
        if options is None:
            found[EXIT] = 1.0
            return list(found.values())
        for kind, items, named in zip(options.kind[0], options.items, commands, strict=True):
            for chance, command in zip((kind + items[0]).exp().tolist(), named, strict=False):  # a batch has more room
                if chance:
                    found[command] += chance
        return list(found.values())

    @torch.no_grad()
    def _think(self, view: AgentInput) -> tuple[Options | None, Commands]:
        """Return the chances of every step, and the commands that take them; none where nothing is left to do."""
        left = steps_left(view.observation, "searcher")
        if any(command.startswith("cd ") for command in view.admissible_commands):
            raise UsageError("agent 'searcher' searches: give it NatLang/AutoExplore-Search-v0")
        lists: dict[str, str] = {}
        texts: dict[str, str] = {}
        now, again = "", False
        for step in view.path:
            verb, _, value = step.action.partition(" ")
            again = verb == "search" and value in lists
            if verb == "search":
                lists[value], now = step.feedback, value
            elif verb == "cat":
                texts.setdefault(value, step.feedback)
        known = gather(read_question(view.task), lists, texts)
        games = Games(stack([(known, ())], [False]).rows(torch.tensor([0])))
        games.left[0] = left
        for number, word in enumerate(known.words):
            games.searched[0, number] = word in lists
        here = read_list(lists.get(now, ""))
        for number, path in enumerate(known.files):
            games.read[0, number] = path in texts
            games.current[0, number] = path in here
        state = games.state()
        if again:  # for one of these files
            search, read, name = state.may
            state = state._replace(may=(search & False, read & games.current, name & games.current))
        listed = {path: f"search {word}" for word, shown in reversed(lists.items()) for path in read_list(shown)}
        may = set(view.admissible_commands)
        reads, names = (
            [command if (command := f"{verb} {path}") in may else listed[path] for path in known.files]
            for verb in ("cat", "id")
        )
        options = None if games.over.any() else self.judge(games.known, state)
        return options, ([f"search {word}" for word in known.words], reads, names)


def publish(weights: Path, player: Path) -> Path:
    """Write the weights of a judge as a published player, unrounded, and return its file.

    Raises:
        UsageError: They are none of a judge.
    """
    content = _weights_of(weights)
    read_judge(content, weights)
    return published.publish(player, _POLICY, {_WEIGHTS: content})


def _weights_of(path: Path) -> bytes:
    """Return the content of a file of weights, or of that of a published player."""
    if published.is_published(path):
        policy, files = published.published_files(path)
        if policy != _POLICY or set(files) != {_WEIGHTS}:
            raise UsageError(f"{path} plays by {policy[:40]!r} and not by a searcher: name it by reflect-rl:{path}")
        return published.unpacked(files[_WEIGHTS])
    try:
        return path.read_bytes()
    except OSError:
        return b""


def load(argument: str, sampling: bool = False) -> SearcherAgent:
    """Return the agent of `searcher:FILE`."""
    if not argument:
        name = "searcher-sample" if sampling else "searcher"
        raise UsageError(f"agent {name} needs weights: write --agent {name}:FILE, a file of `reflect-rl search`")
    return SearcherAgent(Path(argument), sampling)


def load_sampling(argument: str) -> SearcherAgent:
    """Return the agent of `searcher-sample:FILE`."""
    return load(argument, sampling=True)
