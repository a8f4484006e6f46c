"""The copilot's loop in its three modes, with real sandboxes; answers come from the test."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from natlang_envs import UsageError
from natlang_envs.autoexplore.agent_driver import AgentDriver, OpenQuestionEnv
from natlang_envs.copilot.copilot import (
    MAX_UNREADABLE,
    AutoExploreCopilot,
    Ending,
    Mode,
    PromptContent,
    Turn,
    describe,
)
from natlang_envs.evaluation.agents import AgentInput, agent_names, load_agent
from natlang_envs.repository.tree import open_repository
from natlang_envs.sandbox.sandbox import CommandResult
from tests.support.chat_server import part
from tests.support.folders import write
from tests.support.hostile import tree_hash

FILES = {"README.md": "# Boats\n", "src/a b.py": "x = 1\n", "src/-n": "dash\n", "src/deep/c.txt": "silver whistle\n"}


class Script:
    """Answers one line after the other, then no more."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)

    def reply(self, copilot: AutoExploreCopilot) -> str | None:
        return next(self._lines, None)


@pytest.fixture
def boats(tmp_path: Path) -> Path:
    folder = tmp_path / "boats"
    folder.mkdir()
    write(folder, FILES)
    return folder


def drive(folder: Path, *lines: str, mode: Mode = "identify", **arguments: object) -> tuple[Ending, list[Turn]]:
    with AutoExploreCopilot("Which file?", folder, mode=mode, **arguments) as copilot:  # type: ignore[arg-type]
        return copilot.run(Script(lines)), copilot.turns


@pytest.mark.parametrize(
    ("lines", "ending"),
    [
        (("id README.md",), Ending("identified", "README.md")),
        (("cd src", "id 'a b.py'"), Ending("identified", "src/a b.py")),
        (("cd src", "id a b.py"), Ending("identified", "src/a b.py")),
        (("id /work/src/deep/c.txt",), Ending("identified", "src/deep/c.txt")),
        (("cd src/deep", "id ../../README.md"), Ending("identified", "README.md")),
        (("cd src", "id -n"), Ending("identified", "src/-n")),
        (("exit",), Ending("left")),
        (("exit now",), Ending("left")),
        (("ls",), Ending("left")),
        ((), Ending("left")),
    ],
)
def test_identify(boats: Path, lines: tuple[str, ...], ending: Ending) -> None:
    assert drive(boats, *lines)[0] == ending


@pytest.mark.parametrize(
    ("line", "mode", "says"),
    [
        ("id nothing.py", "identify", "nothing.py: there is no such file here"),
        ("id", "identify", "id: there is no such file here"),
        ("id src", "identify", "src: this is a folder"),
        ("id ../../../etc/passwd", "identify", "there is no such file"),
        ("answer 42", "identify", "answer: this is no command of this task; it ends with id FILE or exit"),
        ("answer", "answer", "write the answer after the word"),
        ("id README.md", "answer", "it ends with answer TEXT or exit"),
        ("id README.md", "change", "it ends with exit"),
        ("rg x", "identify", "rg: command not found"),
        ("next page", "identify", "next: command not found"),
        ("Well, who knows.", "change", "No command was found"),
    ],
)
def test_a_wrong_end_is_answered_and_ends_nothing(boats: Path, line: str, mode: Mode, says: str) -> None:
    with AutoExploreCopilot("Which?", boats, mode=mode) as copilot:
        turn = copilot.take(line)
        assert says in turn.result.stderr
        assert turn.result.exit_code != 0
        assert copilot.ending is None
        assert says in part(copilot.prompt(), "Last result")


def test_answer_and_change_end_as_told(boats: Path) -> None:
    before = tree_hash(boats)
    assert drive(boats, "ls", "answer It is `c.txt`; see there", mode="answer")[0] == Ending(
        "answered", "It is `c.txt`; see there"
    )
    with AutoExploreCopilot("Add a file.", boats, mode="change") as copilot:
        assert copilot.run(Script(["echo one > new.txt", "echo '# Ships' > README.md", "exit"])) == Ending("done")
        assert copilot.succeeded
        assert [(each.path, each.kind) for each in copilot.sandbox.changed_files()] == [
            ("README.md", "modified"),
            ("new.txt", "added"),
        ]
        with pytest.raises(UsageError, match="come to an end"):
            copilot.take("ls")
    assert tree_hash(boats) == before


@pytest.mark.parametrize(
    ("mode", "said", "ending"),
    [
        ("identify", "I know.\nFinal Answer: src/a b.py", Ending("identified", "src/a b.py")),
        ("identify", "id src/a b.py since that is where it stands", Ending("identified", "src/a b.py")),
        ("identify", "id README.md holds it", Ending("identified", "README.md")),
        ("identify", "<answer>README.md</answer>", Ending("identified", "README.md")),
        ("answer", "Final Answer: It is `x`.", Ending("answered", "It is `x`.")),
        ("answer", "answer: 7", Ending("answered", "7")),
        ("change", "Final Answer: I did it.", Ending("done")),
    ],
)
def test_a_final_answer_is_meant_as_the_mode_ends(boats: Path, mode: Mode, said: str, ending: Ending) -> None:
    assert drive(boats, said, mode=mode)[0] == ending


def test_several_commands_and_here_documents(boats: Path) -> None:
    with AutoExploreCopilot("Add a file.", boats, mode="change") as copilot:
        turn = copilot.take("```sh\ncd src && ls\npwd\n```")
        assert turn.command == "cd src && ls"
        assert turn.result.stdout.split() == ["-n", "a", "b.py", "deep"]
        assert turn.result.stderr == "[only the first command was run; what else stood with it was not: 1]\n"
        turn = copilot.take("I write it:\n```sh\ncat <<'EOF' > new.py\nx = '$'\nEOF\n```")
        assert turn.result.exit_code == 0
        assert copilot.take("grep -n x new.py | wc -l").result.stdout == "1\n"
        turn = copilot.take("cat <<'EOF' > half.py\nx = 1")
        assert "the here-document has no end" in turn.result.stderr
        assert [each.path for each in copilot.sandbox.changed_files()] == ["src/new.py"]


def test_the_prompt_tells_the_state_of_the_sandbox(boats: Path) -> None:
    with AutoExploreCopilot("Which  file\nis it?", boats, steps=9) as copilot:
        first = copilot.prompt()
        assert part(first, "Task") == "Find the file that answers this question, and name it: Which file is it?"
        assert part(first, "Current folder") == "/work"
        assert part(first, "Folders here") == "src"
        assert part(first, "Files here") == "README.md"
        assert part(first, "Commands so far") == "(none)"
        assert part(first, "Last result") == "(no command yet)"
        assert part(first, "Steps left") == "9"
        assert "Choices" not in first
        copilot.take("I go there.\nAction: cd src")
        copilot.take("cat nowhere")
        second = copilot.prompt()
        assert part(second, "Current folder") == "/work/src"
        assert part(second, "Files here") == "-n\na b.py"
        assert part(second, "Commands so far") == "1. cd src\n2. cat nowhere"
        assert part(second, "Last result") == "cat: nowhere: No such file or directory\n[exit code 1]"
        assert part(second, "Steps left") == "7"
        assert copilot.turns[0].reasoning == "I go there."
        copilot.take("echo made > here.txt")
        assert part(copilot.prompt(), "Files here") == "-n\na b.py\nhere.txt"
        assert part(copilot.prompt(), "Last result") == "(no output)"
        for mode, word in (("identify", "id FILE"), ("answer", "answer TEXT"), ("change", "exit")):
            with AutoExploreCopilot("Which?", boats, mode=mode) as other:  # type: ignore[arg-type]
                assert f"- {word} " in other.instructions
                assert "{" not in other.instructions


def test_what_a_prompt_leaves_out(boats: Path) -> None:
    write(boats, {f"many/{number:03}": "" for number in range(250)} | {"long.txt": "y" * 10_000})
    shown = PromptContent(files=False, results=2, characters=100)
    with AutoExploreCopilot("Which?", open_repository(boats, again=True), shown=shown) as copilot:
        for line in ("cat README.md", "cat long.txt", f"echo {'z' * 500}"):
            copilot.take(line)
        prompt = copilot.prompt()
        assert "# Files here" not in prompt
        assert "Boats" not in prompt
        assert part(prompt, "Earlier result: cat long.txt").startswith("y" * 100 + "\n[cut: 100 of 10,000 characters")
        assert f"3. echo {'z' * 295} … [cut]" in prompt
        copilot.shown = PromptContent()
        copilot.take("cd many")
        assert part(copilot.prompt(), "Files here").endswith("199\n(and 50 more: see ls)")


def test_choices_are_the_commands_of_the_environment(boats: Path) -> None:
    write(boats, {f"many/{number:02}": f"number {number}\n" for number in range(40)})
    with AutoExploreCopilot("Which?", open_repository(boats, again=True), shown=PromptContent(choices=True)) as copilot:
        env = OpenQuestionEnv(copilot.sandbox.repository, "Which?", 30)
        _, info = env.reset()
        for wanted in ("cd src", "cat -n", "cat a b.py", "cd ..", "cd many", "next page", "cat 30", "previous page"):
            choices = copilot.choices()
            assert tuple(each.command for each in choices) == info["admissible_commands"]
            assert part(copilot.prompt(), "Choices").split("\n") == [
                f"{each.label}. {each.command}" for each in choices
            ]
            label = next(each.label for each in choices if each.command == wanted)
            turn = copilot.take(f"Choice: {label}")
            assert turn.command == wanted
            assert turn.result.exit_code == 0, turn.result.stderr
            _, _, _, _, info = env.step(wanted)
            if wanted.startswith("cat "):
                assert turn.result.stdout.strip() in info["feedback"]
        assert copilot.take("id 07").command == "id 07"
        assert copilot.ending == Ending("identified", "many/07")


def test_nonsense_ends_after_some_answers_and_steps_run_out(boats: Path) -> None:
    ending, turns = drive(boats, *["Hm, dear me."] * 10)
    assert ending == Ending("no command")
    assert len(turns) == MAX_UNREADABLE
    ending, turns = drive(boats, "Hm, dear me.", "Hm, dear me.", "ls", "Hm, dear me.", "ls", steps=5)
    assert ending == Ending("no step left")
    assert len(turns) == 5
    assert drive(boats, "id README.md", steps=1)[0] == Ending("identified", "README.md")


def test_a_result_in_words() -> None:
    assert describe(CommandResult("", "", 0), 10) == "(no output)"
    assert describe(CommandResult("a\n", "b\n", 3, "it took too long"), 10) == (
        "a\nb\n[stopped: it took too long]\n[exit code 3]"
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"question": "  "}, "question is empty"),
        ({"repository": "/nowhere/at/all"}, "does not exist"),
        ({"repository": __file__}, "is a file"),
        ({"mode": "guess"}, "unknown mode 'guess'"),
        ({"steps": 0}, "steps must be a whole number of at least 1"),
        ({"mode": "change", "shown": PromptContent(choices=True)}, "to identify a file only"),
    ],
)
def test_bad_arguments_are_one_line(boats: Path, change: dict[str, object], says: str) -> None:
    arguments: dict[str, object] = {"question": "Which?", "repository": boats, **change}
    with pytest.raises(UsageError, match=says) as raised:
        AutoExploreCopilot(**arguments)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


def test_an_original_that_changes_is_named(boats: Path) -> None:
    with AutoExploreCopilot("Which?", open_repository(boats, again=True)) as copilot:
        (boats / "README.md").write_text("other")
        turn = copilot.take("cat README.md")
        assert turn.result.stdout == "other"
        assert turn.result.stderr == "[README.md changed in the original: it is taken as it is now]\n"
    assert open_repository(boats).read("README.md") == b"other"


def play(folder: Path, name: str, question: str, steps: int = 30) -> AutoExploreCopilot:
    with AutoExploreCopilot(question, folder, steps=steps, shown=PromptContent(choices=True)) as copilot:
        copilot.run(AgentDriver(name, load_agent(name), seed=1))
        return copilot


@pytest.mark.parametrize("agent", ["bm25", "depth-first"])
def test_agents_find_the_file(boats: Path, agent: str) -> None:
    copilot = play(boats, agent, "Where is the silver whistle?")
    assert copilot.ending == Ending("identified", "src/deep/c.txt")
    assert any("read" in turn.reasoning.lower() for turn in copilot.turns)


def test_agents_that_draw_and_the_one_that_knows(boats: Path) -> None:
    first, again = (play(boats, "random", "Which?", 8) for _ in range(2))
    assert first.turns == again.turns
    assert first.ending is not None
    assert play(boats, "random-legal", "Which?", 8).ending == Ending("no step left")
    with pytest.raises(UsageError, match="has to be told the answer"):
        play(boats, "oracle", "Which?")
    assert {"bm25", "depth-first", "random", "random-legal", "oracle"} <= set(agent_names())


def test_an_agent_that_says_what_is_not_listed_moves_nothing(boats: Path) -> None:
    def wild(view: AgentInput) -> str:
        return "echo `cat x` > README.md\nls" if len(view.path) % 2 else "cd src/deep"

    with AutoExploreCopilot("Which?", boats, shown=PromptContent(choices=True)) as copilot:
        assert copilot.run(AgentDriver("wild", wild)) == Ending("no command")
        assert copilot.sandbox.cwd == ""
        assert copilot.sandbox.changed_files() == ()
    with AutoExploreCopilot("Which?", boats) as copilot, pytest.raises(UsageError, match="use --mode identify"):
        copilot.run(AgentDriver("wild", wild))


@pytest.mark.parametrize(
    ("said", "command", "printed", "left_over"),
    [
        (
            "cd src && ls && cat total.py | wc -l",
            "cd src && ls && cat total.py | wc -l",
            "test_total.py\ntotal.py\n5\n",
            0,
        ),
        ("```bash\nls src && cat nothing && pwd\n```", "ls src && cat nothing && pwd", "test_total.py\ntotal.py\n", 0),
        ("ls src && pwd; ls", "ls src && pwd", "test_total.py\ntotal.py\n/work\n", 1),
        ("echo 'a && b' && pwd", "echo 'a && b' && pwd", "a && b\n/work\n", 0),
        ("pwd || ls && ls", "pwd", "/work\n", 2),
        ("ls src && exit && ls", "ls src && exit && ls", "test_total.py\ntotal.py\n", 0),
    ],
)
def test_commands_that_are_chained_run_in_turn(
    sums: Path, said: str, command: str, printed: str, left_over: int
) -> None:
    with AutoExploreCopilot("Do.", sums, mode="change", chained=True) as copilot:
        turn = copilot.take(said)
        assert turn.command == command
        assert turn.result.stdout == printed
        assert turn.result.exit_code == ("nothing" in said)
        assert (f"was not: {left_over}]" in turn.result.stderr) is (left_over > 0)
        assert (copilot.ending is not None) is ("exit" in said)
    with AutoExploreCopilot("Do.", sums, mode="change") as copilot:
        first = copilot.take(said).command or ""  # the first alone, and what follows `cd`
        assert first.count("&&") - first.count("'a && b'") == said.startswith("cd")
