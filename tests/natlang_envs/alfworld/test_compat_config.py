"""Configs of the alfworld package: which games, what is refused, what is ignored with a warning, what is read when."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from natlang_envs.alfworld import compat
from natlang_envs.alfworld.compat import AlfredTWEnv, get_environment
from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.errors import UsageError
from tests.natlang_envs.alfworld.test_folder import IDS, put
from tests.support.compat_games import CONFIG, config

pytestmark = [pytest.mark.filterwarnings("ignore:.*official games"), pytest.mark.usefixtures("generated_games")]


class Section(Mapping[str, Any]):
    """A mapping that is no dictionary, with attributes as in OmegaConf."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    def __getitem__(self, key: str) -> Any:
        value = self._content[key]
        return Section(value) if isinstance(value, dict) else tuple(value) if isinstance(value, list) else value

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        return self[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)


def refused(train_eval: str = "train", grammar: str | None = None, **values: Any) -> str:
    with pytest.raises(UsageError) as caught:
        AlfredTWEnv(config(**values), train_eval, grammar)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def warned(make: Callable[[], Any]) -> list[str]:
    """The warnings of a call, all that there are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    return [str(each.message) for each in caught]


def test_a_config_says_which_games_are_played() -> None:
    assert AlfredTWEnv(CONFIG, "eval_in_distribution").num_games == 2
    assert AlfredTWEnv(config(dataset__num_train_games=1)).num_games == 1
    everything = AlfredTWEnv(CONFIG).game_files
    kinds = (TASK_TYPES[0], IDS[0].split("/")[2])
    few = AlfredTWEnv(config(env__task_types=[TASK_TYPES.index(kind) + 1 for kind in kinds]))
    assert few.game_files == [path for path in everything if Path(path).parts[-3].startswith(kinds)]
    assert 0 < few.num_games < len(everything)
    few.game_files = few.game_files[:1]
    assert set(few.init_env(3).reset()[1]["extra.gamefile"]) == set(few.game_files)
    with pytest.warns(UserWarning, match="goal_desc_human_anns_prob is ignored"):
        AlfredTWEnv(config(env__goal_desc_human_anns_prob=0.5))


def test_bad_configs_are_refused_in_a_line(tmp_path: Path) -> None:
    assert "unknown train_eval 'test'" in refused("test")
    assert "dataset.eval_ood_data_path is None" in refused("eval_out_of_distribution")
    assert "dataset.num_train_games is '5'" in refused(dataset__num_train_games="5")
    assert "unknown general.training_method 'grpo': choose one of" in refused(general__training_method="grpo")
    assert "dagger.training.max_nb_steps_per_episode is 0" in refused(dagger__training={"max_nb_steps_per_episode": 0})
    assert "is True: set a whole number" in refused(dagger__training={"max_nb_steps_per_episode": True})
    assert "no dagger.training.max_nb_steps_per_episode" in refused(dagger__training={})
    assert "unknown env.expert_type 'oracle'" in refused(env__expert_type="oracle")
    assert "is no folder" in refused(dataset__data_path=str(tmp_path / "missing"))
    empty = refused(dataset__data_path=str(tmp_path))
    assert "holds no game to play" in empty
    assert "`natlang alfworld export`, which `pip install --no-deps alfworld==0.4.2` is enough for" in empty
    put(tmp_path / "a" / "b", IDS[0], pddl_domain="(define (domain other))")
    assert "its domain is not ALFWorld's" in refused(dataset__data_path=str(tmp_path))
    with pytest.raises(UsageError, match="'AlfredThorEnv' shows images, and here there are texts alone"):
        get_environment("AlfredThorEnv")
    for nothing in (None, [], {"env": None}):
        with pytest.raises(UsageError, match=r"the config has no general\.training_method"):
            AlfredTWEnv(nothing)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("key", ["domain_randomization", "expert_type", "goal_desc_human_anns_prob", "task_types"])
def test_a_config_without_what_the_package_reads_is_refused_as_there(key: str) -> None:
    short = copy.deepcopy(CONFIG)
    short["env"][f"{key}s"] = short["env"].pop(key)
    with (
        pytest.warns(UserWarning, match=rf"env\.{key}s \(did you mean {key}\?\)"),
        pytest.raises(UsageError, match=rf"the config has no env\.{key}"),
    ):
        AlfredTWEnv(short)


@pytest.mark.parametrize("types", [1, "1", [], [7], "pick_and_place_simple", ["pick_and_place_simple"], None, [None]])
def test_task_types_without_a_number_that_there_is_are_refused(types: Any) -> None:
    assert "set a list of the numbers 1 to 6" in refused(env__task_types=types)


@pytest.mark.parametrize("types", [[1, 7], (1, 7, 1), [7, 1.0], {1: "pick", 9: "other"}, [True, "1"], [1, None, [1]]])
def test_other_task_types_are_ignored_as_in_the_package_and_named_once(types: Any) -> None:
    only = AlfredTWEnv(config(env__task_types=[1])).game_files
    made: list[AlfredTWEnv] = []
    said = warned(lambda: made.extend(AlfredTWEnv(config(env__task_types=types)) for _ in range(2)))
    assert [each.game_files for each in made] == [only, only]
    assert len(said) <= 1  # the same words may have been said before
    assert all("ignored as in alfworld: it knows 1 to 6" in each for each in said)


def test_unknown_keys_are_ignored_and_named_once_with_the_nearest_known_ones() -> None:
    odd = config(env__use_expert=False, env__domain_randomisation=True, dataset__game_files=None, env__thor={"size": 3})
    odd["logic"]["twl2"] = odd["of_a_trainer"] = {"what": "it likes"}
    (said,) = warned(lambda: [AlfredTWEnv(odd).init_env(1).reset() for _ in range(3)])
    assert "env.use_expert" in said
    assert "env.domain_randomisation (did you mean domain_randomization?)" in said
    assert "dataset.game_files" in said
    assert "logic.twl2" in said
    assert "trainer" not in said
    assert "thor" not in said
    assert AlfredTWEnv(odd).init_env(2).reset() == AlfredTWEnv(CONFIG).init_env(2).reset()
    assert warned(lambda: AlfredTWEnv(config(env__regen_game_files=False))) == []


def omega(content: dict[str, Any]) -> Any:
    return pytest.importorskip("omegaconf").OmegaConf.create(content)


@pytest.mark.parametrize("make", [Section, omega])
def test_a_wrapper_of_hydra_s_kind_passes_its_own_mappings(make: Callable[[dict[str, Any]], Any]) -> None:
    cfg = make({"split": "train", "benchmark": {"max_steps": 3}, **config(env__task_types=[1, 6])})
    env = get_environment(cfg.env.type)(cfg, train_eval=cfg.split)
    plain = AlfredTWEnv(config(env__task_types=[1, 6]))
    assert env.game_files == plain.game_files
    batch, twin = env.init_env(batch_size=2), plain.init_env(batch_size=2)
    assert batch.reset() == twin.reset()
    for _ in range(cfg.benchmark.max_steps):
        assert batch.step(["look"] * 2) == twin.step(["look"] * 2)
    with pytest.raises(UsageError, match=r"unknown env\.expert_type 'none'"):
        AlfredTWEnv(make(config(env__expert_type="none")))


def steps(env: AlfredTWEnv) -> int:
    batch = env.init_env(1)
    batch.reset()
    return next(number for number in range(1, 99) if batch.step(["look"])[2][0])


def test_a_config_changed_after_construction_is_what_is_played() -> None:
    env = AlfredTWEnv(config())
    assert steps(env) == 50
    env.config["dagger"]["training"]["max_nb_steps_per_episode"] = 3
    assert steps(env) == 3
    assert "extra.expert_plan" in env.init_env(1).reset()[1]
    env.config["general"]["training_method"] = "dqn"
    assert steps(env) == 7
    assert "extra.expert_plan" not in env.init_env(1).reset()[1]
    before = env.init_env(1).reset()
    env.config["env"]["domain_randomization"] = True
    assert env.init_env(1).reset() != before
    env.train_eval = "eval_in_distribution"
    assert env.init_env(1).reset() == before
    env.config["env"]["task_types"] = [2]  # of the games, which are read by collect_game_files
    assert env.init_env(1).reset() == before
    env.train_eval, env.config["dataset"]["num_train_games"] = "train", 1
    env.config["env"]["task_types"] = [1]
    env.collect_game_files()
    assert env.num_games == len(env.game_files) == 1
    env.config["rl"]["training"]["max_nb_steps_per_episode"] = "50"
    with pytest.raises(UsageError, match="max_nb_steps_per_episode is '50': set a whole number"):
        env.init_env(1)


def test_a_grammar_is_named_by_the_config_or_the_argument_and_by_nothing_else() -> None:
    def puts(env: AlfredTWEnv) -> bool:
        batch = env.init_env(1)
        _, infos = batch.reset()
        for _ in range(50):
            _, _, _, infos = batch.step([infos["extra.expert_plan"][0][0]])
            if any(" in/on " in command for command in infos["admissible_commands"][0]):
                return True
        return False

    assert not puts(AlfredTWEnv(CONFIG))
    old = config(env__grammar="json_2.1.1")
    assert puts(AlfredTWEnv(old))
    assert puts(AlfredTWEnv(CONFIG, grammar="json_2.1.1"))
    assert puts(AlfredTWEnv(old, grammar="json_2.1.1"))
    changed = AlfredTWEnv(config())
    changed.grammar = "json_2.1.1"
    assert puts(changed)
    assert "grammar is '0.4.2' and env.grammar is 'json_2.1.1'" in refused(grammar="0.4.2", env__grammar="json_2.1.1")
    assert "unknown grammar 'json_2.1.3': choose one of json_2.1.2, json_2.1.1" in refused(env__grammar="json_2.1.3")
    assert "use env.grammar" in refused(logic__grammar="json_2.1.1")
    assert warned(lambda: AlfredTWEnv(old)) == []


@pytest.mark.filterwarnings("default")
def test_evaluation_on_games_that_are_not_official_is_said(tmp_path: Path) -> None:
    put(tmp_path / "pick_and_place_simple-Some-None-Thing-1" / "trial_1", IDS[0])
    settings = config(dataset__eval_ood_data_path=str(tmp_path))
    (said,) = warned(lambda: [AlfredTWEnv(settings, "eval_out_of_distribution") for _ in range(2)])
    assert said.startswith(f"{tmp_path} holds 0 of the 134 official games of eval_out_of_distribution, and 1 beside")
    assert warned(lambda: AlfredTWEnv(config(dataset__data_path=str(tmp_path)))) == []


def test_load_config_reads_the_file_and_the_changes_of_a_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    yaml = pytest.importorskip("yaml")
    file = tmp_path / "base_config.yaml"
    file.write_text(yaml.safe_dump(CONFIG))
    changes = ["general.training_method=dqn", "rl.training.max_nb_steps_per_episode=4", "env.task_types=[1, 6]"]
    monkeypatch.setattr(sys, "argv", ["script.py", str(file), "-p", *changes])
    read = compat.load_config()
    assert read["env"]["task_types"] == [1, 6]
    assert steps(get_environment(read["env"]["type"])(read, train_eval="train")) == 4
    for arguments, message in (
        ([str(tmp_path / "none.yaml")], "none.yaml is no config file"),
        ([str(file), "-p", "environment.type=x"], "the config has no environment"),
    ):
        monkeypatch.setattr(sys, "argv", ["script.py", *arguments])
        with pytest.raises(UsageError, match=message):
            compat.load_config()
    file.write_text("env: [")
    monkeypatch.setattr(sys, "argv", ["script.py", str(file)])
    with pytest.raises(UsageError, match=r"^[^\n]*is no config file[^\n]*$"):
        compat.load_config()
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UsageError, match="run `pip install pyyaml`"):
        compat.load_config()
