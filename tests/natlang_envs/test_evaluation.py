"""Evaluation: protocols that are pinned, runs that repeat, agents of every kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from natlang_envs import UsageError
from natlang_envs.alfworld import protocols as alfworld_protocols
from natlang_envs.autoexplore import protocols as explore_protocols
from natlang_envs.autoexplore.dataset.catalogue import catalogue as load_catalogue
from natlang_envs.change import protocols as change_protocols
from natlang_envs.change.free_edits.task_sampling import free_tasks
from natlang_envs.change.repositories import change_repositories
from natlang_envs.dangerous_taxi import protocols as taxi_protocols
from natlang_envs.dangerous_taxi.tasks import split_of_task
from natlang_envs.env import unwrap
from natlang_envs.evaluation import (
    Agent,
    AgentInput,
    Decision,
    Protocol,
    evaluate,
    load_agent,
    load_protocol,
    protocol_names,
    read_run,
    score,
)
from natlang_envs.evaluation.agents import OracleAgent, RandomAgent, RandomLegalAgent
from natlang_envs.evaluation.protocols import Episode, protocol_files
from natlang_envs.evaluation.runner import plan_lengths, score_run
from natlang_envs.evaluation.runs import RUN_FILE, TRAJECTORIES_FILE
from natlang_envs.evaluation.statistics import wilson
from natlang_envs.trajectory import Trajectory, difference, replay
from tests.archives import needs_repositories
from tests.support.free import needs_lab
from tests.support.isolation_here import needs_isolation

NAMES = protocol_names()
OFFICIAL = [name for name in NAMES if load_protocol(name).kwargs.get("source") == "official"]  # a download of others
SLOW = {name: [pytest.mark.slow] for name in NAMES if "search" in name}  # whose plans take minutes
SLOW |= {name: [pytest.mark.slow, needs_lab, needs_isolation] for name in NAMES if "change-free" in name}
PLAYABLE = [
    pytest.param(name, marks=[needs_repositories(name), *SLOW.get(name, [])]) for name in NAMES if name not in OFFICIAL
]
SMALL = replace(load_protocol("dangerous-taxi-dropoff-cities/v1"), runs=3)
SMALL = replace(SMALL, episodes=SMALL.episodes[:11])


# Protocols.


def test_the_protocol_files_are_what_the_generator_makes() -> None:
    made = {protocol.name: protocol for protocol in taxi_protocols.protocols()}
    if any(name.startswith("autoexplore") for name in NAMES):
        made |= {protocol.name: protocol for protocol in explore_protocols.protocols()}
        made |= {protocol.name: protocol for protocol in explore_protocols.answer_protocols()}
        made |= {protocol.name: protocol for protocol in change_protocols.protocols()}
    made |= {protocol.name: protocol for protocol in alfworld_protocols.protocols(official=False)}
    assert sorted([*made, *OFFICIAL]) == NAMES
    folder = Path(taxi_protocols.__file__).parents[1] / "evaluation" / "protocols"
    for name, text in protocol_files(made.values()).items():
        assert (folder / f"{name}.json").read_text(encoding="utf-8") == text, (
            f"{name}: run python -m natlang_envs.<environment>.protocols, and give it a new version"
        )
        assert load_protocol(name) == made[name]


def test_digests_are_pinned(golden: Callable[[str, str], None]) -> None:
    golden("protocol-digests.txt", "".join(f"{load_protocol(name).digest} {name}\n" for name in NAMES))


@pytest.mark.parametrize("change", [{"horizon": 14}, {"runs": 2}, {"kwargs": {}}, {"env_id": "x"}, {"name": "x"}])
def test_a_digest_covers_everything_but_the_description(change: dict[str, Any]) -> None:
    protocol = load_protocol(NAMES[0])
    assert replace(protocol, **change).digest != protocol.digest
    assert replace(protocol, episodes=protocol.episodes[1:]).digest != protocol.digest
    assert replace(protocol, episodes=protocol.episodes[::-1]).digest != protocol.digest
    assert replace(protocol, description="other words").digest == protocol.digest


@pytest.mark.parametrize("name", NAMES)
def test_a_protocol_holds_enough_held_out_tasks(name: str) -> None:
    protocol = load_protocol(name)
    tasks = [episode.task_id for episode in protocol.episodes]
    if name == "alfworld-tomato/v1":
        assert len(set(tasks)) == 38
        return
    assert len(tasks) == len(set(tasks)) >= 100
    assert protocol.runs == 1
    if "change-free" in name:
        assert set(tasks) == set(free_tasks("test"))
    elif name.startswith("autoexplore"):
        known = change_repositories() if "change" in name else load_catalogue()
        split = "train" if "-known" in name else "test"
        assert {known[task.partition("/")[0]].split for task in tasks} == {split}
    if name.startswith("dangerous-taxi"):
        assert {split_of_task(task) for task in tasks} == {"test"}
        assert len(tasks) == (200 if "-cities" in name else 100)
        if "-cities" in name:
            assert len({task.split("/")[0] for task in tasks}) == len(tasks), "one start in each city"


# The oracle's entries on the boards hold all episodes, too.
@pytest.mark.parametrize("episodes", [20, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PLAYABLE)
def test_the_oracle_is_perfect_on_every_protocol(name: str, episodes: int) -> None:
    protocol = load_protocol(name)
    protocol = protocol.first(min(episodes, len(protocol.episodes)))
    run, trajectories = evaluate(OracleAgent(), protocol, name="oracle")
    found = score_run(protocol, trajectories)
    env = protocol.make_env()
    if unwrap(env).every_task_can_be_won:
        assert found.success_rate == found.interval.high == 1.0
    assert (found.mean_regret, found.episodes) == (0.0, len(protocol.episodes))
    low = {20: 0.83, 38: 0.9}.get(len(protocol.episodes), 0.96)
    assert found.interval.low > (0.5 if "answer" in name else low)  # a search does not list every file
    assert run.protocol_digest == protocol.digest
    for each in trajectories[:10]:
        assert difference(each, replay(env, each)) is None


@needs_repositories("autoexplore-answer-search-listed/v1")
def test_a_plan_is_as_long_as_it_said_at_first() -> None:
    protocol = load_protocol("autoexplore-answer-search-listed/v1")
    # Two targets by other searches; a word that another line says too; a file that is read on before it is closed.
    tasks = ("xarray/63a2b175", "nltk/702ecbe5", "scrapy/33197b46")
    few = replace(protocol, episodes=tuple(each for each in protocol.episodes if each.task_id in tasks))
    found = score_run(few, evaluate(OracleAgent(), few, name="oracle")[1])
    assert (found.mean_regret, found.success_rate, found.tasks) == (0.0, 1.0, 3)


def test_a_wrong_protocol_is_named_with_the_closest() -> None:
    with pytest.raises(UsageError, match="unknown protocol 'dangerous-taxi-pickup/v9': choose one of dangerous"):
        load_protocol("dangerous-taxi-pickup/v9")
    with pytest.raises(UsageError, match="unknown protocol"):
        load_protocol("../../secrets")


# Agents.


def first_command(view: AgentInput) -> str:
    return view.admissible_commands[0]


@dataclass
class Batched:
    """Decides for many episodes at a time, and notes what it was shown."""

    seen: list[AgentInput]
    sampling: bool = False

    def act(self, views: Sequence[AgentInput]) -> list[Decision]:
        self.seen += views
        return [Decision(view.admissible_commands[0], "south, always", 7) for view in views]


def test_a_function_is_an_agent_and_so_is_a_batch_agent() -> None:
    _, plain = evaluate(first_command, SMALL)
    batched = Batched([])
    run, same = evaluate(batched, SMALL, name="batched")
    assert [each.actions for each in same] == [each.actions for each in plain]
    assert {each.reflections for each in plain} == {(None,) * len(each.actions) for each in plain}
    assert {text for each in same for text in each.reflections} == {"south, always"}
    assert run.tokens == 7 * sum(len(each.actions) for each in same)
    assert (run.agent, run.runs) == ("batched", 1)


def test_a_view_holds_what_the_player_sees_and_not_the_environment() -> None:
    agent = Batched([])
    _, trajectories = evaluate(agent, SMALL)
    assert all(view.env is None for view in agent.seen)
    starts = [view for view in agent.seen if not view.path]
    assert len(starts) == len(SMALL.episodes)
    later = next(view for view in agent.seen if view.path)
    assert later.path[-1].action == "move south"
    assert later.path[-1].feedback == "The taxi moved south."
    assert later.prompt().endswith(f"Observation: {later.observation}")
    assert "Previous path: none" in later.prompt(history="none")
    assert [len(view.path) for view in agent.seen] == sorted(len(view.path) for view in agent.seen), "not in step"
    assert trajectories[0].task_id == SMALL.episodes[0].task_id


def test_only_a_privileged_agent_gets_the_environment() -> None:
    views: list[AgentInput] = []

    def spy(view: AgentInput) -> str:
        views.append(view)
        assert view.env is not None
        return view.env.oracle()[0]

    spy.privileged = True  # type: ignore[attr-defined]
    _, trajectories = evaluate(spy, SMALL)
    assert all(each.success for each in trajectories)


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (lambda view: 3, "a str or a Decision, not 3"),
        (lambda view: None, "a str or a Decision, not None"),
        (lambda view: ("move south", "why not"), "a str or a Decision"),
    ],
)
def test_a_wrong_answer_raises(agent: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        evaluate(agent, SMALL)


def test_a_missing_answer_raises() -> None:
    class Lazy:
        def act(self, views: Sequence[AgentInput]) -> list[str]:
            return ["move south"] * (len(views) - 1)

    with pytest.raises(UsageError, match="answered 11 views with 10 decisions"):
        evaluate(Lazy(), SMALL)


def test_unknown_words_are_an_action_like_any_other() -> None:
    _, trajectories = evaluate(lambda view: "\ud800 fly", SMALL)
    assert all(each.actions == ("\\ud800 fly",) and each.rewards == (-10.0,) for each in trajectories)
    assert difference(trajectories[0], replay(SMALL.make_env(), trajectories[0])) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("orakel", "unknown agent 'orakel': choose one of oracle"),
        ("oracle:fast", "agent 'oracle' takes no argument: write --agent oracle"),
        ("", "unknown agent ''"),
    ],
)
def test_a_wrong_agent_is_named(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_agent(name)


def test_a_module_without_a_function_is_told_how_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_agent.py").write_text("def crow(prompt):\n    return 'move north'\n")
    monkeypatch.chdir(tmp_path)
    for name, remedy in (("my_agent", "my_agent:FUNCTION"), ("my_agent.py:crow", "my_agent:crow")):
        with pytest.raises(UsageError, match=f"write --agent {remedy}$"):
            load_agent(name)


def test_more_episodes_than_a_protocol_has_are_refused() -> None:
    count = len(SMALL.episodes)
    assert SMALL.first(count) is SMALL
    with pytest.raises(UsageError, match=f"{SMALL.name} has {count} episodes, not {count + 1}"):
        evaluate(RandomAgent(), SMALL, episodes=count + 1)


def test_built_in_agents_are_found_by_name() -> None:
    kinds = {"random": RandomAgent, "random-legal": RandomLegalAgent, "oracle": OracleAgent}
    assert {name: type(load_agent(name)) for name in kinds} == kinds


# Runs.


def test_an_agent_that_samples_plays_every_run_and_repeats_exactly() -> None:
    _, first = evaluate(RandomLegalAgent(), SMALL)
    _, again = evaluate(RandomLegalAgent(), SMALL)
    assert first == again
    assert [(each.task_id, each.seed, each.run) for each in first] == [
        (episode.task_id, episode.seed, run) for run in range(3) for episode in SMALL.episodes
    ]
    by_run = [[each.actions for each in first if each.run == run] for run in range(3)]
    assert by_run[0] != by_run[1] != by_run[2], "the runs of a task are the same"


def test_an_agent_that_does_not_sample_plays_once() -> None:
    run, trajectories = evaluate(OracleAgent(), SMALL)
    assert run.runs == 1
    assert len(trajectories) == len(SMALL.episodes)


@pytest.mark.parametrize("agent", [RandomAgent(), RandomLegalAgent(), OracleAgent(), first_command])
@pytest.mark.parametrize("batch", [1, 4, 100])
def test_the_batch_size_changes_nothing(agent: Agent, batch: int) -> None:
    assert evaluate(agent, SMALL, batch=batch)[1] == evaluate(agent, SMALL)[1]


def test_progress_counts_every_episode() -> None:
    counted: list[tuple[int, int]] = []
    evaluate(OracleAgent(), SMALL, batch=4, progress=lambda now: counted.append((now.done, now.total)))
    assert counted == [(done, 11) for done in range(1, 12)]


def test_a_run_is_written_and_read_again(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    run, trajectories = evaluate(RandomAgent(), SMALL, name="random", out=out)
    assert read_run(out) == (run, trajectories)
    assert sorted(path.name for path in out.iterdir()) == [RUN_FILE, TRAJECTORIES_FILE]
    assert not {"score", "success_rate", "return"} & set(json.loads((out / RUN_FILE).read_text()))
    assert {"python", "gymnasium", "numpy"} <= set(run.versions)


def test_a_second_run_overwrites_nothing(tmp_path: Path) -> None:
    evaluate(RandomAgent(), SMALL, out=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(UsageError, match="already holds a run: choose another --out"):
        evaluate(OracleAgent(), SMALL, out=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "is missing"),
        (b"{", "cannot be read"),
        (b"\xff", "cannot be read"),
        (b"[]", "must have exactly the keys"),
        (b"{}", "must have exactly the keys"),
    ],
)
def test_a_corrupt_run_is_refused_in_one_line(content: bytes | None, words: str, tmp_path: Path) -> None:
    evaluate(OracleAgent(), SMALL, out=tmp_path)
    path = tmp_path / RUN_FILE
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=words) as refused:
        read_run(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("key", "value"), [("runs", "1"), ("runs", True), ("seconds", None), ("versions", [])])
def test_a_run_with_a_value_of_another_type_is_refused_by_name(key: str, value: object, tmp_path: Path) -> None:
    evaluate(OracleAgent(), SMALL, out=tmp_path)
    content = json.loads((tmp_path / RUN_FILE).read_text())
    (tmp_path / RUN_FILE).write_text(json.dumps(content | {key: value}))
    with pytest.raises(UsageError, match=f"{key} must be"):
        read_run(tmp_path)


# Scores.


def episode(task_id: str, run: int, steps: int, reward: float, success: bool) -> Trajectory:
    return Trajectory(
        task_id, 0, run, ("a",) * steps, (None,) * steps, (reward,) * steps, ("",) * (steps + 1), True, False, success
    )


def test_a_score_is_what_a_hand_calculates() -> None:
    single = [episode("a", 0, 4, -1.0, True), episode("b", 0, 2, -2.0, False), episode("c", 0, 6, 0.5, True)]
    found = score(single, {"a": 3, "b": 2, "c": 2})
    assert found.success_rate == pytest.approx(2 / 3)
    assert found.interval == wilson(2, 3)
    assert (found.episodes, found.tasks) == (3, 3)
    assert found.mean_return == pytest.approx((-4 - 4 + 3) / 3)
    assert found.mean_steps == 4
    assert found.mean_regret == pytest.approx((1 + 4) / 2), "over the successful episodes only"


def test_repeated_tasks_are_resampled_as_one() -> None:
    repeated = [episode(task, run, 2, 0.0, task == "a") for task in "ab" for run in range(5)]
    found = score(repeated, {"a": 2, "b": 2})
    assert (found.episodes, found.tasks) == (10, 2)
    assert found.interval == (0.0, 1.0), "two tasks say next to nothing, however often they are played"
    assert found.mean_regret == 0.0


def test_without_success_there_is_no_regret() -> None:
    assert score([episode("a", 0, 1, -10.0, False)], {"a": 1}).mean_regret is None


def test_plan_lengths_are_those_of_the_environment() -> None:
    lengths = plan_lengths(SMALL)
    _, trajectories = evaluate(OracleAgent(), SMALL)
    assert lengths == {each.task_id: len(each.actions) for each in trajectories}


def test_a_protocol_of_ones_own_can_be_played() -> None:
    mine = Protocol("mine/v1", "NatLang/DangerousTaxi-v0", {}, 2, 1, (Episode("classic/2.3/red-green", 5),), "")
    _, (trajectory,) = evaluate(OracleAgent(), mine)
    assert trajectory.truncated
    assert len(trajectory.actions) == 2


def test_an_agents_own_settings_are_none_of_a_models(tmp_path: Path) -> None:
    class Tuned(RandomAgent):
        settings = (8, 0.5)

    run, _ = evaluate(Tuned(), "dangerous-taxi-pickup/v1", out=tmp_path, episodes=1)
    assert run.settings is None
