"""Algorithm 1 in one file, beside the library."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import torch

import reference_agent as rrl
from examples import reflect_rl
from examples.reflect_rl import Player, Players, Settings
from reference_agent.tiny.making import tiny_folder


def test_the_first_iteration_of_reinforcement_is_the_librarys() -> None:
    settings = Settings(iterations=1, batch=12, words=24, entropy=0.1)
    ours = Player(settings.model)
    reflect_rl.reinforce(Players(Player(settings.model), ours, settings.words), settings)

    theirs, reflector = rrl.load_model(str(tiny_folder())), rrl.Reflector(rrl.load_model(str(tiny_folder())), 24)
    same = {"batch": 12, "entropy": 0.1, "learning_rate": settings.rl_rate, "reward_scale": settings.reward_scale}
    rrl.reinforce(theirs, reflector, rrl.Stage(settings.env, 1), rrl.RLConfig(**same), seed=settings.seed)

    def weights(model: Any) -> torch.Tensor:
        return torch.cat([each.flatten() for _, each in sorted(model.state_dict().items())])

    here, there, before = weights(ours.model), weights(theirs.model), weights(Player(settings.model).model)
    assert (here - before).abs().max() > 3e-4, "the step is larger than what is borne"
    # AdamW's first step is the gradient's sign: rounding may turn that of a weight whose gradient is all but zero.
    assert ((here - there).abs() > 1e-5).sum() <= 20, "of a million weights"


def test_it_imports_nothing_of_the_library() -> None:
    tree = ast.parse(Path(reflect_rl.__file__).read_text(encoding="utf-8"))
    modules = {each.module for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
    modules |= {name.name for each in ast.walk(tree) if isinstance(each, ast.Import) for name in each.names}
    assert not [each for each in modules if str(each).startswith("reference_agent")]


@pytest.mark.parametrize("lora", [0, 2])
def test_it_runs_from_data_to_reinforcement(lora: int, capsys: pytest.CaptureFixture[str]) -> None:
    few = Settings(
        lora=lora, trajectories=2, reflector_steps=2, policy_steps=2, iterations=1, batch=4, words=4, games=4
    )
    before, after = reflect_rl.main(few)
    assert {*before, *after} <= {0, 0.25, 0.5, 0.75, 1}
    assert capsys.readouterr().out.count("with drawn commands") == 2


@pytest.mark.slow
def test_it_learns_the_classic_pickup() -> None:
    (_, drawn), (greedy, later) = reflect_rl.main(Settings())
    assert greedy >= 0.6
    assert later >= drawn + 0.1, "reinforcement makes the policy surer of what is right"
