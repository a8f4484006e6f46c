"""grep, find, wc, sed -n, pwd, pipes and here-documents: as the real programs, without a process, in bounded time."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natlang_envs import UsageError
from natlang_envs.sandbox.commands.regular_expression import Expression, ExpressionError, Syntax
from natlang_envs.sandbox.isolation.isolation import Limits
from natlang_envs.sandbox.sandbox import AutoExploreSandbox
from tests.strategies import examples
from tests.support.folders import write

TEXT = "".join(f"row {number}\n" for number in range(1, 13))
FILES = {
    "README.md": "# Tea\n\nA cup of tea, a Cup.\n",
    "src/a.py": "def tea(cup):\n    return cup\n\n\ndef pot():\n    return tea(2)  # teapot\n",
    "src/deep/b.PY": "TEA = 1\n",
    "src/deep/c.txt": TEXT,
    "no-end": "one\ntwo",
    "empty": "",
    "blob": b"tea\0\n",
    "\u00fc.txt": "\u00fcber \u00fcber\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    return write(tmp_path / "shop", FILES)


@pytest.mark.skipif(sys.platform != "linux", reason="the programs of other systems have other options")
@pytest.mark.parametrize(
    "line",
    [
        *("grep tea README.md", "grep -n tea README.md src/a.py", "grep -in TEA README.md", "grep -c tea src/a.py"),
        *(
            "grep -v tea README.md",
            "grep -w tea src/a.py",
            "grep -x 'def pot():' src/a.py",
            "grep -l tea README.md no-end",
        ),
        *(
            "grep -L tea README.md no-end",
            "grep -h tea README.md src/a.py",
            "grep -H tea README.md",
            "grep nothing README.md",
        ),
        *("grep -E 'def (tea|pot)' src/a.py", "grep 'def \\(tea\\|pot\\)' src/a.py", "grep -E 'o+|^#' README.md"),
        *(
            "grep -F 'tea(' src/a.py",
            "grep '^$' README.md",
            "grep 'w 1[0-2]$' src/deep/c.txt",
            "grep -E '1{2}' src/deep/c.txt",
        ),
        *(
            "grep -A1 'def' src/a.py",
            "grep -n -B 1 -A 1 'row [37]$' src/deep/c.txt",
            "grep -nC1 pot src/a.py",
            "grep two no-end",
        ),
        *(
            "grep -m 2 row src/deep/c.txt",
            "grep -e tea -e pot src/a.py",
            "grep tea missing README.md",
            "grep -s tea missing",
        ),
        *(
            "grep -q tea README.md",
            "grep tea blob",
            "grep -c tea blob",
            "grep -n '' no-end",
            "grep -E '\\bcup\\b' src/a.py",
        ),
        *(
            "grep '[[:upper:]]up' README.md",
            "grep -E '^[^#]' README.md",
            "grep -i \u00dcBER \u00fc.txt",
            "grep -E 'a{1,' README.md",
        ),
        *(
            "grep -P '\\d\\d' src/deep/c.txt",
            "grep -P 'te(?:a|e)' README.md",
            "grep -rn pot src/a.py",
            "grep '*' README.md",
        ),
        *("wc -l src/a.py", "wc README.md src/a.py empty", "wc -c no-end", "wc -w README.md src/a.py", "wc missing"),
        *("wc -m \u00fc.txt", "cat README.md | wc -l", "wc < /dev/null"),
        *("sed -n 3,5p src/deep/c.txt", "sed -n '2p' no-end", "sed -n '11,$p' src/deep/c.txt", "sed -n '$p' no-end"),
        *(
            "sed -n 5,2p src/deep/c.txt",
            "sed -n '2,+2p' src/deep/c.txt",
            "sed -n -e 99,100p no-end",
            "cat no-end | sed -n 1p",
        ),
        *(
            "cat src/deep/c.txt | head -n 5 | tail -n 2",
            "grep row src/deep/c.txt | grep 1 | wc -l",
            "head -2 - < /dev/null",
        ),
        *(
            "cat README.md missing 2>/dev/null | head -1",
            "cat missing 2>&1 | wc -l",
            "tail -n 1 README.md no-end | cat -n",
        ),
        *("cat <<'EOF' | grep -n b\na\nb $x\nEOF", "wc -c <<E\n\\$x\\\\\nE", "cat - no-end <<A\nfirst\nA"),
        *("find . -maxdepth 0", "find src/a.py", "find . -name nothing"),
    ],
)
def test_what_the_real_programs_say(shop: Path, line: str) -> None:
    if "<" in line and "<<" not in line:
        line = line.partition("<")[0]
    real = subprocess.run(
        ["/bin/bash", "-c", line],
        cwd=shop,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
    )
    with AutoExploreSandbox(shop) as sandbox:
        ours = sandbox.execute(line)
    assert (ours.stdout, ours.exit_code) == (real.stdout.decode(), real.returncode)
    assert bool(ours.stderr) == bool(real.stderr)


@pytest.mark.skipif(shutil.which("find") is None, reason="compares with find, which is not installed")
@pytest.mark.parametrize(
    "line",
    [
        *("find . -name '*.py'", "find -iname '*.py'", "find src -type d", "find . -type f -name '[!a]*'", "find ."),
        *("find src ! -name '*.txt' -type f", "find . -name '*.md' -o -name '*.txt'", "find . -path './src/*.txt'"),
        *("find . -maxdepth 1 -type f -not -name '*.*'", "find src/ -name 'b*'", "find missing src -name 'a*'"),
        *("grep -r tea", "grep -rn tea .", "grep -rl tea src", "grep -rc row src/", "grep -rhi tea --include='*.py'"),
        *(
            "grep -rIl tea . --exclude-dir=deep",
            "grep -rL tea",
            "grep -R tea --exclude='*.md' .",
            "grep -rn 'def ' src",
        ),
    ],
)
def test_trees_are_searched_as_the_real_programs_do_and_in_order(shop: Path, line: str) -> None:
    real = subprocess.run(
        ["/bin/bash", "-c", line], cwd=shop, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    with AutoExploreSandbox(shop) as sandbox:
        ours = sandbox.execute(line)
    assert (sorted(ours.stdout.split("\n")), ours.exit_code) == (
        sorted(real.stdout.decode().split("\n")),
        real.returncode,
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("grep -E 'a(b' README.md", "Unmatched ("),
        ("grep '[a' README.md", "Unmatched ["),
        ("grep 'a\\1' README.md", "\\1 is not supported here"),
        ("grep -E '\\d' README.md", "write [0-9]"),
        ("grep -P '(?=a)' README.md", "not supported here"),
        ("grep -E '(a{900}){900}' README.md", "too big"),
        ("grep -o a README.md", "option '-o' is not here"),
        ("grep", "there is no pattern"),
        ("find . -exec rm", "'-exec' is not here"),
        ("find . -name", "missing argument"),
        ("find . -name *.py", "quote it"),
        ("sed s/a/b/ README.md", "only -n 'A,Bp' is here"),
        ("sed -n 1p README.md no-end", "one file at a time"),
        ("echo 1 | python src/a.py", "standard input is empty here"),
        ("ls | frobnicate", "frobnicate: command not found"),
    ],
)
def test_what_is_not_here_is_said_and_does_nothing(shop: Path, line: str, says: str) -> None:
    with AutoExploreSandbox(shop) as sandbox:
        result = sandbox.execute(line)
        assert says in result.stderr
        assert result.stdout == ""
        assert result.exit_code
        assert not sandbox.changed_files()


def test_here_documents_write_files(shop: Path) -> None:
    with AutoExploreSandbox(shop) as sandbox:
        for line in ("cat <<'EOF' > new.py\nx = '$y'\n\nprint(x)\nEOF", "cat >> new.py <<EOF\n# \\$z\nEOF"):
            assert tuple(sandbox.execute(line)) == ("", "", 0, None)
        assert sandbox.execute("cat new.py").stdout == "x = '$y'\n\nprint(x)\n# $z\n"
        assert sandbox.execute("pwd").stdout == "/work\n"
        sandbox.execute("cd src")
        assert sandbox.execute("pwd").stdout == "/work/src\n"


def test_utf_16_is_shown_as_text(shop: Path) -> None:
    write(shop, {"le": "tea\n".encode("utf-16"), "be": b"\xfe\xff" + "\u00fc\n".encode("utf-16-be")})
    with AutoExploreSandbox(shop) as sandbox:
        assert sandbox.execute("cat le") == ("tea\n", "", 0, None)
        assert sandbox.execute("cat be").stdout == "\u00fc\n"
        sandbox.execute("cat le > copy")
        assert sandbox.overlay.read("copy") == (shop / "le").read_bytes()


@pytest.mark.parametrize("state", [["", {}], ["", ""], ["", b""], ["", set()]])
def test_what_is_no_list_of_changes_is_no_state(shop: Path, state: list[object]) -> None:
    with AutoExploreSandbox(shop) as sandbox, pytest.raises(UsageError, match="no state"):
        sandbox.restore(state)


def test_links_are_not_followed(shop: Path) -> None:
    (shop / "out").symlink_to("/etc")
    (shop / "src" / "secret").symlink_to("/etc/passwd")
    with AutoExploreSandbox(shop) as sandbox:
        assert "root" not in sandbox.execute("grep -r root .").stdout
        assert sandbox.execute("find . -type l").stdout == "./out\n./src/secret\n"
        assert sandbox.execute("grep root out src/secret").exit_code == 2
        assert "only /work is visible" in sandbox.execute("find ../.. -name passwd").stderr


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|aa)+$", "(a*)*c", "a*a*a*a*a*b", "(.*.*.*.*.*)+x", "((a|b)*a(a|b){20})+c"]
)
def test_no_expression_takes_long(shop: Path, pattern: str) -> None:
    write(shop, {"long": "ab" + "a" * 50_000 + "\n"})
    with AutoExploreSandbox(shop, limits=Limits(seconds=1.0)) as sandbox:
        begun = time.monotonic()
        sandbox.execute(f"grep -E '{pattern}' long")
        assert time.monotonic() - begun < 2


def test_a_search_has_the_limits_of_all_commands(shop: Path) -> None:
    write(shop, {"many": "x\n" * 200_000, "wide": "y" * (3 << 20)})
    with AutoExploreSandbox(shop, limits=Limits(output=1000)) as sandbox:
        assert "more than 1000 bytes" in str(sandbox.execute("grep x many").stopped)
        assert sandbox.execute("grep -c x many").stdout == "200000\n"
        assert sandbox.execute("cat many | wc -l").stdout == "200000\n"
        assert sandbox.execute("grep -c y wide").exit_code == 0


_ATOM = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", "a*", "b+", "(a|b)", "(ab)*", "a?", "b{2}", "(a|)", "^", "$", "\\b", "\\w"]
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(_ATOM, max_size=6).map("".join), st.lists(st.text("ab c", max_size=8), max_size=5), st.booleans())
def test_expressions_mean_what_they_mean_to_python(pattern: str, lines: list[str], ignore_case: bool) -> None:
    ours = Expression(pattern, kind="extended", ignore_case=ignore_case)
    theirs = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    for line in (*lines, "aabb", "", "ab ab"):
        assert ours.found_in(line, lambda: None) == (theirs.search(line) is not None), (pattern, line)


@given(st.text("ab*+?|(){}[]^$\\.1,-:", max_size=12), st.sampled_from(["basic", "extended", "perl", "fixed"]))
def test_whatever_is_given_is_an_expression_or_is_refused_in_words(pattern: str, kind: Syntax) -> None:
    try:
        expression = Expression(pattern, kind=kind)
    except ExpressionError as error:
        refused = str(error)
    else:
        refused = ""
        assert expression.found_in(pattern, lambda: None) or kind != "fixed"
    assert "\n" not in refused
    assert not refused or kind != "fixed"
