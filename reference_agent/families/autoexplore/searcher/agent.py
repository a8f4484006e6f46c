"""The judge as an agent: `natlang evaluate --agent searcher:FILE`, or `searcher-sample:FILE` for drawn steps."""

from __future__ import annotations

from pathlib import Path

import torch

from natlang_envs.autoexplore.search import question_of, steps_left
from natlang_envs.autoexplore.searching.agents import read_list
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput
from natlang_envs.repository.texts import EXIT
from reference_agent.families.autoexplore.searcher.evidence import gather
from reference_agent.families.autoexplore.searcher.games import Games, stack
from reference_agent.families.autoexplore.searcher.judge import READ, SEARCH, load_judge
from reference_agent.families.autoexplore.searcher.training import draw


class SearcherAgent:
    """Searches, reads and names as a trained judge thinks likely.

    To read or name a file that the current list lacks, it first searches again for a word that listed it.

    Args:
        weights: A file of `reflect-rl search`.
        sampling: Draw each step, in place of the likeliest.

    Attributes:
        judge: What thinks.

    Raises:
        UsageError: The file cannot be read, or holds something else.
    """

    def __init__(self, weights: Path, sampling: bool = False) -> None:
        torch.set_num_threads(1)
        self.sampling = sampling
        self.judge = load_judge(weights)

    @torch.no_grad()
    def __call__(self, view: AgentInput) -> str:
        """Return the next command, from the path alone."""
        left = steps_left(view, "searcher")
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
        known = gather(question_of(view), lists, texts)
        games = Games(stack([(known, ())], [False]).rows(torch.tensor([0])))
        games.left[0] = left
        for number, word in enumerate(known.words):
            games.searched[0, number] = word in lists
        here = read_list(lists.get(now, ""))
        for number, path in enumerate(known.files):
            games.read[0, number] = path in texts
            games.current[0, number] = path in here
        state = games.state()
        if games.over.any():
            return EXIT
        if again:  # for one of these files
            search, read, name = state.may
            state = state._replace(may=(search & False, read & games.current, name & games.current))
        drawn = torch.Generator().manual_seed(int(view.rng.integers(1 << 31))) if self.sampling else None
        kind, item = (int(each) for each in draw(self.judge(games.known, state), drawn))
        if kind == SEARCH:
            return f"search {known.words[item]}"
        path = known.files[item]
        command = f"cat {path}" if kind == READ else f"id {path}"
        if command in view.admissible_commands:
            return command
        return next(f"search {word}" for word, shown in lists.items() if path in read_list(shown))


def load(argument: str, sampling: bool = False) -> SearcherAgent:
    """Return the agent of `searcher:FILE`."""
    if not argument:
        name = "searcher-sample" if sampling else "searcher"
        raise UsageError(f"agent {name} needs weights: write --agent {name}:FILE, a file of `reflect-rl search`")
    return SearcherAgent(Path(argument), sampling)


def load_sampling(argument: str) -> SearcherAgent:
    """Return the agent of `searcher-sample:FILE`."""
    return load(argument, sampling=True)
