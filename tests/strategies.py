"""All Hypothesis strategies of the tests."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from natlang_envs.dangerous_taxi.words import COMMANDS
from natlang_envs.prompt import PathStep
from natlang_envs.trajectory import Trajectory


def examples(count: int) -> int:
    """Return how many examples a costly test takes: `count` in `make test-full`, and a fifth of them in `make test`."""
    return count if settings().max_examples > 25 else count // 5


# Any string a caller can build in Python: lone surrogates, NUL and line breaks too.
any_text = st.text(st.characters(exclude_categories=()), max_size=60)
# Strings that can be encoded, as environments hand them out.
valid_text = st.text(max_size=60)

CITY_SAMPLE = [f"map-{number:04d}" for number in range(0, 10_000, 67)]  # 150 of the generated cities

seeds = st.integers(0, 2**31 - 1)
cities = st.one_of(st.just("classic"), st.integers(0, 9_999).map(lambda number: f"map-{number:04d}"))

taxi_command = st.sampled_from(COMMANDS)
near_command = taxi_command.flatmap(
    lambda command: st.sampled_from([command.upper(), f" {command}", f"{command}\n", command[:-1], f"{command}\0"])
)
action = st.one_of(taxi_command, taxi_command, near_command, any_text)
actions = st.lists(action, min_size=1, max_size=40)

path = st.lists(st.builds(PathStep, valid_text, valid_text), max_size=8)
history = st.one_of(st.sampled_from(["full", "none"]), st.integers(0, 10))
command_lists = st.lists(valid_text, min_size=1, max_size=60, unique=True)

# Command lines made of what matters to a shell, to paths and to the sandbox's own commands.
_shell_piece = st.one_of(
    st.sampled_from(["cd", "ls", "cat", "head", "tail", "echo", "-n", "-c", "-e", "-5", "+3", "--", "-laR", "5"]),
    st.sampled_from([" ", " ", "  ", "\t", "\n", "'", '"', "\\", ">", ">>", ";", "|", "&", "$", "`", "(", "<", "*"]),
    st.sampled_from(["..", "/", ".", "//", "/work", "/etc/passwd", "../secret.txt", "~", "src", "main.py", "-"]),
    st.sampled_from(["to-file", "to-folder/", "to-root", "to-up/secret.txt", "loop", "dangling", "fifo", "README.md"]),
    st.sampled_from([".git", ".git/config", "empty/", "data.bin", "\\x2e", "\\x2f", "\udcff", "ümlaut", "\0"]),
    any_text,
)
shell_like = st.lists(_shell_piece, max_size=12).map("".join)
native_line = st.builds(
    lambda name, words: " ".join([name, *words]),
    st.sampled_from(["cd", "ls", "cat", "head", "tail", "echo"]),
    st.lists(_shell_piece, max_size=5),
)

_hash = st.text("0123456789abcdef", min_size=64, max_size=64)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    """An episode as a file may hold it; no environment need have played it."""
    steps = draw(st.integers(0, 6))

    def each(strategy: st.SearchStrategy, length: int = steps) -> tuple:
        return tuple(draw(st.lists(strategy, min_size=length, max_size=length)))

    return Trajectory(
        task_id=draw(valid_text),
        seed=draw(seeds),
        run=draw(st.integers(0, 100)),
        actions=each(valid_text),
        reflections=each(st.none() | valid_text),
        rewards=each(st.floats(allow_nan=False, allow_infinity=False)),
        digest=draw(_hash),
        terminated=draw(st.booleans()),
        truncated=draw(st.booleans()),
        success=draw(st.booleans()),
    )
