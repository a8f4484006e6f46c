"""Algorithm 1 in one file, beside the library."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import pytest
import torch
from tokenizers.processors import TemplateProcessing

import reference_agent as rrl
from examples import reflect_rl
from examples.reflect_rl import Player, Players, Settings
from natlang_envs.prompt import reflection_prompt
from reference_agent.tiny.making import tiny_folder


def test_the_first_iteration_of_reinforcement_is_the_librarys() -> None:
    settings = Settings(iterations=1, batch=6, words=12, entropy=0.1)
    ours = Player(settings.model)
    reflect_rl.reinforce(Players(Player(settings.model), ours, settings.words), settings)

    theirs, reflector = rrl.load_model(str(tiny_folder())), rrl.Reflector(rrl.load_model(str(tiny_folder())), 12)
    same = {"batch": 6, "entropy": 0.1, "learning_rate": settings.rl_rate, "reward_scale": settings.reward_scale}
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


@pytest.mark.parametrize("lora", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_it_runs_from_data_to_reinforcement(lora: int, capsys: pytest.CaptureFixture[str]) -> None:
    few = Settings(
        lora=lora, trajectories=2, reflector_steps=2, policy_steps=2, iterations=1, batch=4, words=4, games=4
    )
    before, after = reflect_rl.main(few)
    assert {*before, *after} <= {0, 0.25, 0.5, 0.75, 1}
    assert capsys.readouterr().out.count("with drawn commands") == 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_command_learns_the_classic_pickup_in_five_minutes_of_a_core() -> None:
    before, environment = getrusage(RUSAGE_CHILDREN), {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, reflect_rl.__file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 300
    (_, drawn), (greedy, later) = re.findall(r"won (\d+)% greedily, (\d+)% with drawn commands", done.stdout)
    assert int(greedy) >= 60
    assert int(later) >= int(drawn) + 10, "reinforcement makes the policy surer of what is right"


def test_a_pretrained_models_words_bring_their_space(tmp_path: Path) -> None:
    library = rrl.load_model()
    library.tokenizer.add_special_tokens({"eos_token": "<|over|>", "bos_token": "<|begin|>"})
    library.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<|begin|> $A", special_tokens=[("<|begin|>", library.tokenizer.convert_tokens_to_ids("<|begin|>"))]
    )
    library.model.resize_token_embeddings(len(library.tokenizer))
    library.save(tmp_path)
    ours, theirs = Player(str(tmp_path)), rrl.load_model(str(tmp_path))
    states, told = ["The taxi is at row 1.", "It is here, and the way is long."], ["So I move south.", "So I wait."]
    asked = [reflection_prompt(each) for each in states]
    assert ours.asked(asked[0]) == [*theirs.encode_prompt(theirs.ask_reflection(states[0]))]
    loss = theirs.completion_loss([theirs.ask_reflection(each) for each in states], [f" {each}" for each in told])
    torch.testing.assert_close(ours.completion_loss(asked, told), loss)
    torch.testing.assert_close(
        ours.label_logits(asked, [["A", "B"]] * 2),
        theirs.choice_logits([each.rstrip(" ") for each in asked], [["A", "B"]] * 2),
    )
