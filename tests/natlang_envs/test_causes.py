"""Why episodes and commands fail, counted from recordings alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from natlang_envs import UsageError
from natlang_envs.evaluation import AgentInput, count_causes, evaluate, load_protocol
from natlang_envs.evaluation.causes import OUT_OF_STEPS, REPEATED, reason_in_words
from natlang_envs.evaluation.protocols import Protocol, protocol_names
from natlang_envs.trajectory import Trajectory
from natlang_envs.why import CAUSES
from tests.support.broken import HONEST


def few(name: str, horizon: int, episodes: int = 2) -> Protocol:
    protocol = load_protocol(name)
    return replace(protocol, horizon=horizon, episodes=protocol.episodes[:episodes])


def played(protocol: Protocol, commands: Sequence[str]) -> list[Trajectory]:
    """Play these commands in each episode, the last one until the end; a number is that of a listed command."""

    def agent(view: AgentInput) -> str:
        command = commands[min(len(view.path), len(commands) - 1)]
        return view.admissible_commands[int(command)] if command.lstrip("-").isdigit() else command

    return evaluate(agent, protocol)[1]


HOUSE, TAXI, EXPLORE = "alfworld-generated/v1", "dangerous-taxi-pickup/v1", "autoexplore/v1"


@pytest.mark.parametrize(
    ("commands", "causes", "reason"),
    [
        (["open bed 99"], {"no such thing": 16}, f"{OUT_OF_STEPS}: no such thing"),
        (["look", "dance", "inventory", "dance", "sing"], {"no such verb": 12}, f"{OUT_OF_STEPS}: no such verb"),
        (["0", "dance", "look"], {"no such verb": 2}, REPEATED),
        (["0", "1", "2", "3", "4", "5", "6", "7"], {}, OUT_OF_STEPS),
    ],
)
def test_an_episode_without_steps_left_fails_by_what_half_of_them_were(
    commands: list[str], causes: dict[str, int], reason: str
) -> None:
    protocol = few(HOUSE, horizon=8)
    found = count_causes(protocol, played(protocol, commands))
    assert found.commands == causes
    assert found.episodes == {reason: 2}
    assert "out of steps" in reason_in_words(reason)


def test_an_episode_that_a_command_ends_fails_by_its_cause_also_at_the_last_step() -> None:
    for horizon in (1, 15):
        protocol = few(TAXI, horizon, episodes=30)
        found = count_causes(protocol, played(protocol, ["drop off passenger"]))
        assert found.commands == found.episodes == {"nobody in the taxi": 30}
    protocol = few(TAXI, 15, episodes=30)
    found = count_causes(protocol, played(protocol, ["go north"]))
    assert found.commands == found.episodes == {"other verb": 30}
    found = count_causes(protocol, played(protocol, ["move west"]))
    assert found.episodes.total() == 30
    assert set(found.episodes) == {"wall", "edge"}


def test_a_success_is_no_failure_though_its_commands_may_fail() -> None:
    protocol = few(HOUSE, horizon=50, episodes=5)
    found = count_causes(protocol, evaluate(lambda view: "dance" if len(view.path) < 2 else _expert(view), protocol)[1])
    assert found.commands == {"no such verb": 10}
    assert found.episodes.total() < 5


def _expert(view: AgentInput) -> str:
    from natlang_envs.alfworld import Expert

    expert = Expert(view.task)
    for step in view.path:
        expert.observe(step.action, step.feedback)
    return expert.choose(view.observation, view.admissible_commands)


def test_every_board_s_causes_are_counted_and_those_of_an_environment_that_says_none_are_refused() -> None:
    assert [name for name in protocol_names() if not load_protocol(name).explains] == []
    own = Protocol("own/v1", HONEST.partition(":")[2], {}, 5, 0, (), "One.")
    with pytest.raises(UsageError, match="Broken/Corridor-v0 does not say why commands fail"):
        count_causes(own, [])


def test_every_reason_has_words() -> None:
    reasons = [OUT_OF_STEPS, REPEATED, *CAUSES, *(f"{OUT_OF_STEPS}: {cause}" for cause in CAUSES)]
    words = Counter(map(reason_in_words, reasons))
    assert len(words) == len(reasons)
