"""AutoExplore-Search: what a search finds, which commands are offered, the exact plan, and its baselines."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import natlang_envs
from natlang_envs import UsageError
from natlang_envs.autoexplore.searching.env import AutoExploreSearchEnv
from natlang_envs.autoexplore.searching.line_index import LineIndex
from natlang_envs.autoexplore.searching.listing import near_words
from natlang_envs.autoexplore.tasks import RepositoryTasks
from natlang_envs.evaluation import evaluate
from natlang_envs.evaluation.agents import is_privileged, load_agent
from natlang_envs.evaluation.protocols import Episode, Protocol
from natlang_envs.repository.hits import asked_words, read_list
from natlang_envs.repository.tree import open_repository
from natlang_envs.repository.words import stem
from tests.support.explore_games import brute_force
from tests.support.folders import write

ID = "NatLang/AutoExplore-Search-v0"
SHOP: dict[str, bytes | str] = {
    "shop/prices.py": "PRICES = {'tea': 3}\n\n\ndef price_of(name):\n    return PRICES[name]  # a discount may come\n",
    "shop/discounts.py": "def reduced(amount):\n    '''A tenth off on Sundays.'''\n    return amount * 9 // 10\n",
    "shop/days.py": "SUNDAY = 6\n",
    "README.md": "# Shop\nThe price list is in prices.py, the discount on Sundays elsewhere.\n",
    "logo.png": b"\x89PNG\0price",
}
QUESTION = "Which discount is taken off the price?"


def shop_env(folder: Path, **arguments: object) -> AutoExploreSearchEnv:
    write(folder, SHOP)
    given = {"repository": str(folder), "question": QUESTION, "target": "shop/discounts.py", **arguments}
    return AutoExploreSearchEnv(**given)  # type: ignore[arg-type]


def test_a_game_from_the_first_word_to_the_file(tmp_path: Path) -> None:
    env = shop_env(tmp_path)
    observation, info = env.reset(seed=0)
    assert "# Hits\n(nothing is searched for)\n# Steps left\n15" in observation
    assert info["admissible_commands"] == ("search discount", "search taken", "search off", "search price", "exit")
    observation, reward, *_, info = env.step("search price")
    assert reward == -1
    assert info["feedback"] == (
        "price: 4 lines in 2 of all 5 files\n"
        "shop/prices.py (4 lines): PRICES = {'tea': 3}\n"
        "README.md (1 line): The price list is in prices.py, the discount on Sundays elsewhere."
    )
    assert observation.endswith(f"# Hits\n(the last result)\n# Steps left\n14\n# Last result\n{info['feedback']}")
    assert "search price" not in info["admissible_commands"]
    observation, *_, info = env.step("cat README.md")
    assert "# Hits\nprice: 4 lines in 2 of all 5 files\n" in observation
    assert info["admissible_commands"][:9] == (
        *("search discount", "search taken", "search off"),
        *("search elsewhere", "search list", "search sundays"),
        *("cat shop/prices.py", "id shop/prices.py", "cat README.md"),
    )
    *_, info = env.step("search sundays")
    assert read_list(info["feedback"]).keys() == {"shop/days.py", "README.md", "shop/discounts.py"}
    _, reward, terminated, truncated, info = env.step("id shop/discounts.py")
    assert (reward, terminated, truncated, info["success"]) == (15, True, False, True)


def test_a_file_that_was_read_can_be_named_from_any_list(tmp_path: Path) -> None:
    env = shop_env(tmp_path)
    env.reset(seed=0)
    env.step("search off")
    env.step("cat shop/discounts.py")
    *_, info = env.step("search price")
    assert "id shop/discounts.py" in info["admissible_commands"]
    assert "cat shop/discounts.py" not in info["admissible_commands"]
    assert info["admissible_commands"][-2:] == ("id shop/discounts.py", "exit")


@pytest.mark.parametrize("command", ["search", "search tea", "SEARCH price", "id shop/days.py", "cat /etc/passwd", ""])
def test_what_is_not_listed_does_nothing(tmp_path: Path, command: str) -> None:
    env = shop_env(tmp_path)
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(command)
    assert (reward, terminated) == (-1, False)
    assert "is not one of the listed commands: nothing was done." in info["feedback"]


def test_ranked_searches_add_up_and_begin_again(tmp_path: Path) -> None:
    env = shop_env(tmp_path, order="ranked")
    env.reset(seed=0)
    *_, info = env.step("search price")
    assert "search again" in info["admissible_commands"]
    *_, info = env.step("search off")
    assert info["feedback"].startswith("price, off: ")
    assert next(iter(read_list(info["feedback"]))) in {"shop/prices.py", "shop/discounts.py"}
    once = info["feedback"]
    *_, info = env.step("search again")
    assert info["feedback"] == "(nothing is searched for)"
    env.step("search off")
    *_, info = env.step("search price")
    assert info["feedback"].partition("\n")[2] == once.partition("\n")[2]


def test_the_last_step_without_a_name_loses(tmp_path: Path) -> None:
    env = shop_env(tmp_path, horizon=2)
    env.reset(seed=0)
    env.step("search price")
    _, reward, terminated, truncated, info = env.step("search off")
    assert (reward, terminated, truncated) == (-15, True, False)
    assert info["feedback"].endswith("That was the last step. The search is over.")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"order": "rank"}, "unknown order 'rank': choose one of ranked"),
        ({"file_budget": 0}, "file_budget must be"),
        ({"depth": 3}, "unknown depth 3"),
        ({"wording": "natura"}, "natural"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        AutoExploreSearchEnv(**arguments)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="oder"):
        gymnasium.make(ID, oder="lines")


WORDS = st.sampled_from(["price", "prices", "off", "at", "Price", "ice", "no_price", "été", "x1", "sunday"])


@pytest.mark.skipif(shutil.which("grep") is None, reason="needs grep")
@settings(max_examples=25, deadline=None)
@given(
    lines=st.lists(st.lists(WORDS, max_size=4).map(" ".join), max_size=12), word=st.sampled_from(["price", "off", "at"])
)
def test_lines_are_counted_as_grep_counts_them(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], word: str
) -> None:
    folder = write(tmp_path_factory.mktemp("grep"), {"a.txt": "\n".join(lines), "b.txt": "nothing\n"})
    alone = "(^|[^[:alnum:]]){}(s|e|es|ed|ing)?([^[:alnum:]]|$)"
    pattern = stem(word) if len(stem(word)) > 3 else alone.format(stem(word))
    command = ["grep", "-icE", pattern, str(folder / "a.txt")]
    grep = subprocess.run(command, capture_output=True, text=True, check=False, env={"LC_ALL": "C.UTF-8"})
    found = LineIndex(open_repository(folder)).search(word)
    assert found.lines == int(grep.stdout)


@pytest.mark.parametrize("target", sorted(set(SHOP) - {"logo.png"}))
def test_no_way_is_shorter_than_the_oracles(tmp_path: Path, target: str) -> None:
    env = shop_env(tmp_path, target=target, file_budget=60)
    env.reset(seed=0)
    assert len(env.oracle()) == brute_force(env, 4)


def test_a_file_that_no_word_lists_cannot_be_named(tmp_path: Path) -> None:
    env = shop_env(tmp_path, target="logo.png")
    env.reset(seed=0)
    assert env.oracle() == ["exit"]
    assert not env.every_task_can_be_won


@given(st.text(max_size=400), st.text(max_size=60))
def test_words_offered_beside_the_questions_are_new_and_few(text: str, question: str) -> None:
    near = near_words(text, question, _index())
    assert len(near) <= 6
    assert not set(map(stem, near)) & set(map(stem, asked_words(question)))
    assert len(asked_words(question)) <= 10


def _index(made: list[LineIndex] = []) -> LineIndex:  # noqa: B006 - one for all examples
    if not made:
        folder = Path(natlang_envs.__file__).parent / "autoexplore" / "repositories"
        made.append(LineIndex(open_repository(next(each for each in sorted(folder.iterdir()) if each.is_dir()))))
    return made[0]


def test_never_more_than_forty_commands() -> None:
    env = AutoExploreSearchEnv(dataset="embedded")
    env.action_space.seed(0)
    most = 0
    for seed in range(60):
        _, info = env.reset(seed=seed)
        ended = False
        while not ended:
            most = max(most, len(info["admissible_commands"]))
            commands = [each for each in info["admissible_commands"] if not each.startswith(("id", "exit"))] or ["exit"]
            _, _, terminated, truncated, info = env.step(commands[seed % len(commands)])
            ended = terminated or truncated
    assert 12 < most <= 40  # the embedded repositories are small


def test_golden_transcript(golden: Callable[[str, str], None]) -> None:
    lines = [ID]
    env = AutoExploreSearchEnv(dataset="embedded")
    for task_id in ("ferry-line/06", "seed-library/02"):
        observation, info = env.reset(options={"task_id": task_id})
        lines.append(f"== {task_id}\n{observation}\n-- {'; '.join(info['admissible_commands'])}")
        *way, name = env.oracle()
        for command in [*way, f"cat {name.removeprefix('id ')}", name]:
            observation, reward, _, _, info = env.step(command)
            lines.append(f"> {command}\n{observation}\n-- {'; '.join(info['admissible_commands'])}\n= {reward:g}")
    golden("AutoExplore-Search-v0.txt", "\n".join(lines) + "\n")


IDS = tuple(RepositoryTasks("all", None).ids())
EVERYTHING = Protocol("all/searched", ID, {}, 15, 1, tuple(Episode(each, seed) for seed, each in enumerate(IDS)), "")


@pytest.mark.parametrize(
    ("agent", "privileged", "low", "high"),
    [
        ("random", False, 0.05, 0.3),
        ("first-hit", False, 0.6, 0.9),
        ("first-hit-reader", False, 0.6, 0.95),
        ("bm25", True, 0.5, 0.95),
        ("oracle", True, 0.75, 1.0),
    ],
)
def test_how_often_each_baseline_is_right(agent: str, privileged: bool, low: float, high: float) -> None:
    assert is_privileged(load_agent(agent)) is privileged
    played = evaluate(load_agent(agent), EVERYTHING)[1]
    assert low <= sum(each.success for each in played) / len(played) <= high


def test_a_searching_agent_refuses_an_environment_without_searches() -> None:
    episodes = EVERYTHING.episodes[:1]
    with pytest.raises(UsageError, match="give it NatLang/AutoExplore-Search-v0"):
        evaluate(load_agent("first-hit"), Protocol("a/b", "NatLang/AutoExplore-v0", {}, 15, 1, episodes, ""))
