"""Rows, ablations, shared stages, and `reflect-rl reproduce`."""

from __future__ import annotations

import json
import multiprocessing
from dataclasses import asdict, replace
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from natlang_envs.autoexplore.dataset.catalogue import pinned_repository
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import read_run
from natlang_envs.files import only_process
from reference_agent import processes
from reference_agent.curriculum import Stage
from reference_agent.families.autoexplore.memory.questions import RecallTraining
from reference_agent.paper.experiments import (
    METHODS,
    PRESETS,
    TARGETS,
    TASKS,
    cell_config,
    make_plan,
    paper,
    protocol_for,
    protocol_of,
    why_not,
)
from reference_agent.paper.reproduce import make_cell, reproduce, take_gpu
from reference_agent.paper.tables import draw_curves, write_results
from reference_agent.run.agent import trained_agent
from reference_agent.run.command import app
from reference_agent.run.config import Config
from reference_agent.run.config_file import EXPERIMENTS, load_config
from reference_agent.run.pipeline import train
from reference_agent.run.stages import stage_key
from tests.reference_agent.conftest import quick_config
from tests.reference_agent.test_training import same, silent

SMOKE = PRESETS["smoke"]
FILES = sorted(EXPERIMENTS.glob("*/*.toml"))
OF_RECALL = [name for name, task in TASKS.items() if task.recall]
OF_CONFIGS = [name for name in TASKS if name not in OF_RECALL]


def changes(config: Config, other: Config) -> set[str]:
    """Return the names of the settings in which two configs differ."""

    def flat(value: Any, name: str = "") -> dict[str, Any]:
        if not isinstance(value, dict):
            return {name: value}
        return {key: each for part, inner in value.items() for key, each in flat(inner, f"{name}.{part}").items()}

    a, b = flat(asdict(config)), flat(asdict(other))
    return {name.removeprefix(".") for name in a.keys() | b.keys() if a.get(name) != b.get(name)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_experiment_is_a_config_of_a_known_row(path: Path) -> None:
    load_config(path)
    if path.parent.parent.name == "presets":  # a model's settings for one task
        assert path.parent.name in PRESETS
        assert path.stem in TASKS
        return
    assert path.parent.name in {*TASKS, "methods", "presets", "untuned", "gain"}
    if path.parent.name not in ("untuned", "gain"):  # named as agents are, by their models; and by its task
        assert path.stem in ({*PRESETS, "shipped"} if path.parent.name == "presets" else METHODS)


def test_a_models_preset_has_settings_of_its_own_for_a_task() -> None:
    pickup, dropoff, cities = (
        cell_config(task, "faithful", PRESETS["smollm2"], 0, [])
        for task in ("taxi-pickup", "taxi-dropoff", "taxi-pickup-maps")
    )
    for task, steps in ((pickup, 200), (dropoff, 250)):
        learned = (task.collect.trajectories, task.collect.policy_trajectories, task.sft_reflector.steps)
        assert learned == (100, 100, steps)
    assert cities.collect == cell_config("taxi-pickup-maps", "faithful", PRESETS["tiny"], 0, []).collect
    over = EXPERIMENTS / "presets" / "smollm2.toml"
    trained = load_config(Path("taxi-pickup/best"), ["collect.policy_trajectories=7"], over)
    assert (trained.collect.trajectories, trained.collect.policy_trajectories) == (100, 7)


def test_taxis_demonstrations_are_of_the_environment_that_a_curriculum_ends_in() -> None:
    # A reflector that was shown pickups alone has never read of a passenger who rides, and is frozen in RL.
    for path in sorted(EXPERIMENTS.rglob("*.toml")):
        config = load_config(path)
        if config.curriculum and "DangerousTaxi" in config.curriculum[-1].env:
            assert config.demonstrations.env == config.curriculum[-1].env, path
    paper = load_config(EXPERIMENTS / "paper.toml").collect
    assert paper.policy_trajectories == paper.trajectories, "line 22 tunes the policy on all of D"


def test_every_row_of_a_table_is_a_config_of_its_tasks() -> None:
    for target in TARGETS.values():
        for task in target.tasks:
            for row in {*target.methods, *target.pretrained}:
                if task == "taxi-pickup" or not row.startswith(("one-step", "short")):
                    cell_config(task, row, SMOKE, 0, [])
    for task in OF_CONFIGS:  # rows that stand in no table of a task can be trained as well
        for file in (EXPERIMENTS / "methods").glob("*.toml"):
            if task.startswith("alfworld") and file.stem.startswith("same-model"):
                continue  # its tiny model scores texts, one model for both players labels
            named = cell_config(task, file.stem, PRESETS["tiny"], 0, [])
            assert named == load_config(Path(task, file.stem), ["seed=0"]), "the same by its name alone"


def test_a_row_changes_only_what_it_names() -> None:
    def row(name: str, task: str = "taxi-pickup") -> Config:
        return cell_config(task, name, PRESETS["tiny"], 0, [])

    best = row("best")
    assert changes(best, row("sft-only")) == {"curriculum"}
    assert changes(row("faithful"), row("sft-faithful")) == {"curriculum"}
    assert changes(best, row("no-reflection")) == {"reflect", "sft_policy.steps"}
    assert changes(best, row("rlft-only")) == {"reflect", "sft_policy.steps"}
    assert changes(best, row("no-negatives")) == {"collect.negatives"}
    assert changes(best, row("same-model")) == {"players"}
    assert changes(best, row("rloo")) == {"rl.algorithm", "rl.options.baseline", "rl.options.group"}
    own = {"rl.options.baseline", "rl.options.critic", "rl.options.group"}
    assert changes(row("ppo"), row("gigpo")) == {"rl.algorithm", *own}
    assert changes(row("one-step"), row("short-no-reflection")) == {"reflect", "sft_policy.steps"}
    assert changes(row("one-step"), row("short-rlft-only")) == {"reflect", "sft_policy.steps"}
    faithful = row("faithful")
    assert (faithful.collect.negatives, faithful.rl.options.baseline, faithful.rl.entropy) == (1, "none", 0.0)
    assert changes(row("best", "taxi-dropoff"), row("no-curriculum", "taxi-dropoff")) == {"curriculum"}
    for task, iterations in (("taxi-dropoff", 45), ("taxi-dropoff-maps", 70)):
        for config in (row(name, task) for name in ("best", "no-curriculum")):
            assert sum(stage.iterations for stage in config.curriculum) == iterations
            assert config.curriculum[-1].env == config.collect.env == "NatLang/DangerousTaxi-Dropoff-v0"


def test_a_preset_leaves_out_what_a_row_leaves_out() -> None:
    for name in PRESETS:
        config = cell_config("taxi-pickup", "rlft-only", PRESETS[name], 0, [])
        assert (config.reflect, config.sft_policy.steps) == (False, 0), name
    large = cell_config("taxi-pickup", "best", PRESETS["smollm2"], 0, [])
    assert (large.model.name, large.sft_policy.steps, large.sft_reflector.steps) == ("smollm2", 20, 200)
    assert (large.head, large.history, large.model.precision) == ("saycan", 1, "auto")


def test_the_papers_numbers() -> None:
    assert [paper(task, "faithful") for task in OF_CONFIGS] == [36, 17, 58, 29, 74, *[None] * (len(OF_CONFIGS) - 5)]
    assert [paper(task, "faithful") for task in OF_RECALL] == [36, 17, None]
    assert [paper(task, "best") for task in OF_RECALL] == [36, 17, None]
    assert [paper(task, "sft-only") for task in OF_RECALL] == [4, 9, None]
    assert [paper(task, "no-curriculum") for task in OF_RECALL] == [None] * 3
    assert paper("taxi-pickup", "best") is None


def test_a_column_is_played_by_the_protocol_of_its_environment() -> None:
    for task in map(TASKS.__getitem__, OF_CONFIGS):
        assert protocol_of(cell_config(task.name, "best", SMOKE, 0, [])) == task.protocol
    lamps = Stage("NatLang/ALFWorld-v0", env_kwargs={"task_types": ["look_at_obj_in_light"]})
    assert protocol_of(replace(quick_config(), curriculum=(lamps,))) is None
    assert protocol_of(load_config(Path("autoexplore"))) == "autoexplore/v1"


def test_bases_of_configs(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("seed = 1\n[rl]\nbatch = 6\nentropy = 0.5\n")
    (tmp_path / "b.toml").write_text("[rl]\nbatch = 12\n")
    (tmp_path / "c.toml").write_text('base = ["a.toml", "b.toml"]\nseed = 2\n')
    config = load_config(tmp_path / "c.toml", ["rl.minibatch=3"])
    assert (config.seed, config.rl.batch, config.rl.entropy, config.rl.minibatch) == (2, 12, 0.5, 3)
    for content, message in (
        ('base = "d.toml"', "is a base of itself"),
        ('base = "e.toml"', "e.toml, the base of .*d.toml, does not exist"),
        ("base = 3", "base must be the name"),
    ):
        (tmp_path / "d.toml").write_text(content)
        with pytest.raises(UsageError, match=message):
            load_config(tmp_path / "d.toml")


def test_stages_are_shared_by_what_they_depend_on() -> None:
    def shared(row: str, task: str = "taxi-pickup") -> set[str]:
        best, other = (cell_config(task, name, SMOKE, 0, []) for name in ("best", row))
        stages = ("base", "data", "reflector", "policy-sft")
        return {stage for stage in stages if stage_key(best, stage) == stage_key(other, stage)}

    everything = {"base", "data", "reflector", "policy-sft"}
    assert shared("sft-only") == everything
    assert shared("no-curriculum", "taxi-dropoff") == everything
    assert shared("no-curriculum", "autoexplore-depth2") == everything
    assert shared("no-reflection") == {"base", "data", "reflector"}  # a reflector it has no use for
    assert shared("same-model") == {"base", "data"}
    assert shared("no-negatives") == shared("faithful") == {"base"}
    assert stage_key(quick_config("players='one'"), "reflector") != stage_key(
        quick_config("players='one'", "sft_policy.doubt=0.5"), "reflector"
    )


@pytest.mark.parametrize(
    ("setting", "kept"),
    [
        ("rl.entropy=0.3", {"base", "data", "reflector", "policy-sft"}),
        ("seed=7", {"base"}),
        ("history=2", {"base"}),
        ("collect.wordings=1", {"base"}),
        ("collect.policy_trajectories=1", {"base", "data", "reflector"}),
        ("sft_policy.steps=9", {"base", "data", "reflector"}),
        ("head='saycan',sft_policy.smoothing=0.0", {"base", "data", "reflector"}),
        ("sft_reflector.steps=9", {"base", "data", "policy-sft"}),
        ("model.width=48", {"data"}),
        ("collect.env='NatLang/DangerousTaxi-Dropoff-v0'", {"base"}),
    ],
)
def test_a_setting_makes_the_stages_anew_that_depend_on_it(setting: str, kept: set[str]) -> None:
    a, b = quick_config(), quick_config(*setting.split(","))
    stages = ("base", "data", "reflector", "policy-sft")
    assert {stage for stage in stages if stage_key(a, stage) == stage_key(b, stage)} == kept


def test_shared_stages_change_nothing(trained: Path, out: Path) -> None:
    linked = out.with_name("linked")
    train(quick_config(), linked, silent, out.with_name("stages"))
    assert (linked / "reflector").is_symlink()
    assert same(trained / "policy", linked / "policy")
    moved = out.with_name("moved")
    moved.mkdir()
    for name in ("linked", "stages"):
        out.with_name(name).rename(moved / name)
    trained_agent(moved / "linked")  # links are relative


def test_one_model_plays_both(out: Path) -> None:
    one, frozen = out.with_name("one"), out.with_name("frozen")
    fast = "rl.learning_rate=0.05"  # so that a few updates change what is said
    train(quick_config("players='one'", fast), one, silent)
    train(quick_config("players='one-frozen'", fast), frozen, silent)
    assert same(one / "reflector", one / "policy-sft")
    assert same(frozen / "reflector", frozen / "policy-sft")
    assert not same(frozen / "policy", frozen / "reflector")
    agent = trained_agent(one)
    assert agent._reflector is not None
    assert agent._reflector.model is agent._policy, "what RL made of the reflections is what is played with"
    assert not same(one / "policy", frozen / "policy"), "reflections that move lead elsewhere"
    with pytest.raises(UsageError, match="needs a reflector"):
        quick_config("players='one'", "reflect=false")


class CrashedError(Exception):
    pass


def test_a_protocol_is_played_on_where_it_was_stopped(tmp_path: Path) -> None:
    cell = next(each for each in make_plan(TARGETS["figure3"], SMOKE, tmp_path).cells if each.method == "random")

    def crash(stage: str, step: int, *_: object) -> None:
        if stage == "playing" and step >= 20:
            raise CrashedError

    with pytest.raises(CrashedError):
        make_cell(cell, tmp_path, crash)
    assert not (cell.evaluation / "run.json").exists()
    played: list[int] = []
    make_cell(cell, tmp_path, lambda _, step, *rest: played.append(step))
    assert (min(played), max(played)) == (20, 100), "what was played stays"
    assert len(read_run(cell.evaluation)[1]) == 100


@pytest.mark.slow
def test_a_figure_is_reproduced_again_where_it_was_killed(tmp_path: Path) -> None:
    def plan(out: Path):  # type: ignore[no-untyped-def]
        return make_plan(TARGETS["figure3"], SMOKE, out)

    def crash(cell: str, stage: str, step: int, *_: object) -> None:
        if cell.startswith("taxi-pickup best") and stage == "rl" and step == 1:
            raise CrashedError

    made: list[str] = []
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    with pytest.raises(CrashedError):
        reproduce(plan(killed), 1, crash, lambda cell: made.append(cell.name))
    before = {each.name: each.stat().st_mtime_ns for each in (killed / "stages").iterdir()}
    again = reproduce(plan(killed), 2, silent, lambda cell: made.append(cell.name))
    assert {name: (killed / "stages" / name).stat().st_mtime_ns for name in before if not name.startswith(".")} == {
        name: stamp for name, stamp in before.items() if not name.startswith(".")
    }, "no stage is made twice"
    table = reproduce(plan(whole), 1, silent, silent)
    timeless = [[replace(entry, seconds=None) for entry in entries] for entries in (again, table)]
    assert timeless[0] == timeless[1]
    assert "taxi-pickup random" in made
    rows = {entry.method: entry for entry in table if not entry.sampled}
    assert rows["oracle"].rates == (1.0,)
    assert rows["best"].episodes == 100
    assert rows["best"].seeds == (0,)
    assert "| Reflect-RL best |" in (killed / "figure3.md").read_text()
    assert "| Reflect-RL best, sampled |" in (killed / "figure3.md").read_text()
    assert json.loads((killed / "figure3.json").read_text())["preset"]["name"] == "smoke"
    assert (killed / "figure3.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="holds a run with other settings"):
        reproduce(make_plan(TARGETS["figure3"], PRESETS["quick"], killed), 1, silent, silent)
    with only_process(killed), pytest.raises(UsageError, match="another process works in"):
        reproduce(plan(killed), 1, silent, silent)


def test_the_command_prints_one_table_and_says_what_is_not_run(tmp_path: Path) -> None:
    preset = ["--preset", "smoke", "--jobs", "1", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["reproduce", "appendix-e2", "--task", "alfworld-tomato", *preset])
    assert done.exit_code == 0, done.output
    assert "100% (91 to 100)" in done.output  # the expert's 38 games
    assert "players 'one' choose by labels: set head = 'labels'" in " ".join(done.output.split())
    command = (tmp_path / "out" / "appendix-e2.md").read_text().splitlines()[2].strip("`")
    assert command == f"reflect-rl reproduce appendix-e2 --preset smoke --task alfworld-tomato --out {tmp_path / 'out'}"
    assert "74%" not in done.output, "the paper's Reflect-RL is the row `faithful`, which is not in this table"


@pytest.mark.parametrize("preset", PRESETS)
def test_the_results_of_every_preset_are_written(preset: str, tmp_path: Path) -> None:
    plan = make_plan(TARGETS["table2"], PRESETS[preset], tmp_path, tasks=["taxi-pickup"])
    write_results(plan, [])
    told = json.loads((tmp_path / "table2.json").read_text())["preset"]
    assert told["name"] == preset
    assert told["over"] == (f"presets/{preset}.toml" if PRESETS[preset].over else None)


def test_a_pretrained_model_has_rows_of_its_own_in_table_2(tmp_path: Path) -> None:
    # RL of a policy that imitation has made sure changes nothing, and takes hours.
    plan = make_plan(TARGETS["table2"], PRESETS["smollm2"], tmp_path, tasks=["taxi-pickup", "alfworld-tomato"])
    assert plan.target.methods == ("untuned", "sft-faithful", "one-step-sft", "one-step")
    assert {cell.method for cell in plan.cells if cell.task == "taxi-pickup"} >= set(plan.target.methods)
    assert "experiments/alfworld-tomato/one-step.toml" in plan.empty["alfworld-tomato", "one-step"]
    assert "--method" not in plan.command
    one = make_plan(TARGETS["table2"], PRESETS["smollm2"], tmp_path, methods=["one-step"])
    assert "--method one-step " in one.command
    assert make_plan(TARGETS["table2"], PRESETS["tiny"], tmp_path).target == TARGETS["table2"]
    assert paper("taxi-pickup", "one-step") == paper("taxi-pickup", "faithful") == 58


def test_known_repositories_have_the_methods_of_a_player_who_remembers(tmp_path: Path) -> None:
    tasks = ["autoexplore-known-depth1"]
    plan = make_plan(TARGETS["table2"], PRESETS["smollm2"], tmp_path, tasks)
    trained = {(cell.method, cell.seed): cell.recall for cell in plan.cells if cell.recall}
    assert [*trained] == [("untuned", 0), *((method, seed) for method in ("sft-only", "best") for seed in range(3))]
    assert trained["best", 2] == RecallTraining("smollm2", 400)
    assert trained["sft-only", 1] == RecallTraining("smollm2", 400, updates=0)
    assert not plan.empty
    assert plan.command == f"reflect-rl reproduce table2 --preset smollm2 --task {tasks[0]} --out {tmp_path}"
    mixed = make_plan(TARGETS["table2"], PRESETS["smollm2"], tmp_path, [*tasks, "taxi-pickup"])
    assert mixed.empty[tasks[0], "one-step"] == "a player who remembers has no method one-step"
    changed = make_plan(TARGETS["figure3"], SMOKE, tmp_path, tasks, ["recall.batch=4", "recall.model=smollm2"])
    assert {cell.method: cell.recall for cell in changed.cells if cell.recall} == {
        "no-negatives": RecallTraining("smollm2", 10, updates=5, batch=4, negatives=False),
        "best": RecallTraining("smollm2", 10, updates=5, batch=4),
    }
    for task, setting, message in (
        (tasks[0], "recall.batches=4", "unknown setting of recall 'batches': choose one of batch"),
        (tasks[0], "recall.batch=few", "'few' is no batch of recall: give int"),
        (tasks[0], "recall.precision=fp32", "recall.precision is a model's: add --set recall.model=smollm2"),
        (tasks[0], "rl.batch=4", "'rl.batch=4' would change nothing"),
        ("taxi-pickup", "recall.batch=4", "'recall.batch=4' would change nothing"),
    ):
        with pytest.raises(UsageError, match=message):
            make_plan(TARGETS["table2"], SMOKE, tmp_path, [task], [setting])
    with pytest.raises(UsageError, match=r"unknown recall\.precision 'fp64': choose one of fp32, bf16, auto"):
        make_plan(TARGETS["table2"], PRESETS["smollm2"], tmp_path, tasks, ["recall.precision=fp64"])
    with pytest.raises(UsageError, match="gain has no method of a player who remembers"):
        make_plan(TARGETS["gain"], SMOKE, tmp_path, tasks)


@pytest.mark.slow
def test_a_column_of_known_repositories_is_made_from_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NATLANG_CACHE")  # where `natlang data fetch` put the repositories
    if not pinned_repository("flask").is_cached:
        pytest.skip("the repositories are not here: run natlang data fetch")
    plan = make_plan(TARGETS["figure3"], SMOKE, tmp_path, ["autoexplore-known-depth1"], split="validation")
    table = {(entry.method, entry.sampled): entry for entry in reproduce(plan, 2, silent, silent)}
    for method in ("no-negatives", "best"):
        for sampled in (False, True):
            assert table[method, sampled].mean > table["random-legal", False].mean
    assert (tmp_path / "figure3.png").exists()
    assert {entry.seeds for entry in reproduce(plan, 2, silent, silent)} == {(), (0,)}


def test_wrong_names_are_one_line(tmp_path: Path) -> None:
    for arguments, message in (
        (("figure9",), "unknown target"),
        (("figure2", "--preset", "quik"), "choose one of quick"),
        (("figure2", "--task", "taxi"), "unknown task"),
        (("figure2", "--set", "rl.entropie=1"), "unknown config key"),
        (("figure2", "--set", "seed=5"), "choose seeds with --seed"),
        (("figure2", "--method", "one-step"), "unknown method"),
        (("table2", "--preset", "smollm2", "--method", "faithful"), "unknown method"),
        (("gain-smollm2", "--method", "one-step"), "choose --method one-step-sft,one-step"),
    ):
        result = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(tmp_path / "out")])
        assert isinstance(result.exception, UsageError)
        assert message in str(result.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_seeds_and_methods_are_chosen_and_several_seeds_have_students_interval(tmp_path: Path) -> None:
    plan = make_plan(TARGETS["figure2"], SMOKE, tmp_path / "out", methods=["rlft-only"], seeds=[0, 1])
    assert plan.command.startswith("reflect-rl reproduce figure2 --preset smoke --method rlft-only --seed 0 --seed 1 ")
    table = reproduce(plan, 1, silent, silent)
    (entry,) = [each for each in table if each.method == "rlft-only" and not each.sampled]
    assert entry.kind == "seeds"
    assert len(entry.rates) == 2
    assert entry.interval is not None
    assert entry.interval.low <= entry.mean <= entry.interval.high  # type: ignore[operator]
    assert why_not("alfworld-tomato", "no-curriculum", SMOKE, []) is not None


def test_settings_are_chosen_on_validation_tasks_which_no_protocol_has(tmp_path: Path) -> None:
    for task in ("taxi-pickup", "taxi-dropoff-maps", "alfworld"):
        test, validation = protocol_for(task), protocol_for(task, "validation")
        assert validation.kwargs["split"] == "validation"
        assert validation.name == f"{test.name}-validation"
        assert not {each.task_id for each in validation.episodes} & {each.task_id for each in test.episodes}
        assert 10 < len(validation.episodes) <= len(test.episodes)
        assert protocol_for(task, "validation") == validation
    plan = make_plan(TARGETS["figure3"], PRESETS["smoke"], tmp_path, split="validation")
    assert "--split validation" in plan.command
    assert {cell.evaluation.name for cell in plan.cells} == {"validation"}
    assert {cell.sampled.name for cell in plan.cells if cell.sampled} == {"validation-sampled"}


def test_many_curves_are_drawn_side_by_side(tmp_path: Path) -> None:
    def width(count: int) -> int:
        runs = {f"method {number % 2}, {number}": tmp_path / str(number) for number in range(count)}
        for folder in runs.values():
            folder.mkdir(exist_ok=True)
            rows = [{"success": 0.1 * at, "episodes": 8 * at, "stage": at // 3, "iteration": at} for at in range(6)]
            (folder / "curve.json").write_text(json.dumps(rows))
        return int.from_bytes(draw_curves(runs, tmp_path / "curves.png").read_bytes()[16:20], "big")

    one_panel = width(7)
    assert width(2) == one_panel
    assert one_panel < width(8) < 2 * one_panel, "two panels"


def test_each_process_of_cells_gets_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers: SimpleQueue[int] = multiprocessing.get_context("spawn").SimpleQueue()
    for number in range(3):
        numbers.put(number)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv(processes.GPU, "7")
    gpus: list[int] = []
    for _ in range(3):
        take_gpu(numbers)
        gpus.append(processes.gpu())
    assert gpus == [0, 1, 0]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    take_gpu(numbers)
    assert processes.gpu() == 0, "as it was"


@pytest.mark.parametrize("target", ["table2", "figure2", "figure3", "figure4"])
def test_a_pretrained_model_has_every_row_of_the_taxi(tmp_path: Path, target: str) -> None:
    tasks = [each for each in TARGETS[target].tasks if each.startswith("taxi")]
    plan = make_plan(TARGETS[target], PRESETS["smollm2"], tmp_path, tasks)
    assert plan.empty == {}
    assert {cell.iterations for cell in plan.cells} == {0, 8}
