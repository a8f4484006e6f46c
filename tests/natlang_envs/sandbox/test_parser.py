from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.sandbox.commands.parser import MAX_LINE, CommandLine, ParseError, parse, quote
from tests.strategies import any_text, shell_like


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls", CommandLine(("ls",))),
        ("  cat  a\tb \n", CommandLine(("cat", "a", "b"))),
        ("cat 'a b' \"c d\" e\\ f", CommandLine(("cat", "a b", "c d", "e f"))),
        ("echo ''", CommandLine(("echo", ""))),
        ("echo 'a;b|c&d$e`f`(g)<h>*?'", CommandLine(("echo", "a;b|c&d$e`f`(g)<h>*?"))),
        ('echo "a\\"b\\$c\\n"', CommandLine(("echo", 'a"b$c\\n'))),
        ("echo hi > f", CommandLine(("echo", "hi"), "f", False)),
        ("echo hi>>f", CommandLine(("echo", "hi"), "f", True)),
        ("> f echo hi", CommandLine(("echo", "hi"), "f", False)),
        ("echo 'two\nlines' > f", CommandLine(("echo", "two\nlines"), "f", False)),
        ("echo a2>f", CommandLine(("echo", "a2"), "f", False)),
        ("cat a~ b#", CommandLine(("cat", "a~", "b#"))),
        ("cat a|head -1 > f", CommandLine(("cat", "a"), then=CommandLine(("head", "-1"), "f"))),
        ("ls 2>/dev/null | wc -l", CommandLine(("ls",), errors="/dev/null", then=CommandLine(("wc", "-l")))),
        ("ls 2>&1", CommandLine(("ls",), errors="&1")),
        ("cat <<'EOF' > a.txt\n$a `b`\n\n  \\c\nEOF\n", CommandLine(("cat",), "a.txt", given="$a `b`\n\n  \\c\n")),
        ("cat >> a << EOF\n\\$x \\\\ \\n $ 1\nEOF", CommandLine(("cat",), "a", True, given="$x \\ \\n $ 1\n")),
        ("cat <<-E\n\tx\n\t\tE", CommandLine(("cat",), given="x\n")),
        ("cat <<E\nE", CommandLine(("cat",), given="")),
    ],
)
def test_lines(line, expected):
    assert parse(line) == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "no command"),
        (" \t ", "no command"),
        ("> f", "no command"),
        ("ls; ls", "one command"),
        ("ls && ls", "one command"),
        ("ls &", "one command"),
        ("ls || cat", "between two commands"),
        ("ls |", "no command"),
        ("| ls", "no command"),
        ("echo a > f | cat", "last command of a pipe"),
        ("cat <<EOF\na", "no end: close it with a line that is EOF"),
        ("cat <<'E'\na\nE\nls", "nothing may follow the line E"),
        ("cat << EOF\n$HOME\nEOF", "here-document unless its word is quoted"),
        ("cat <<\na\n", "needs one word"),
        ("cat <<A <<B\nA", "needs one word"),
        ("cat <<< a", "needs one word"),
        ("cat < a", "input"),
        ("echo $HOME", "variables"),
        ('echo "$HOME"', "single quotes"),
        ('echo "`ls`"', "single quotes"),
        ("echo `ls`", "substitution"),
        ("(ls)", "subshells"),
        ("cat *.py", "patterns"),
        ("cat a?", "patterns"),
        ("ls\nls", "a line break"),
        ("cat ~/a", "`~`"),
        ("ls # all", "`#`"),
        ("echo a 2> f", "only standard output"),
        ("echo a > f > g", "one file only"),
        ("echo a >", "no file after"),
        ("echo a > > f", "one file only"),
        ("echo a >& f", "one command"),
        ("echo 'a", "single quote"),
        ('echo "a', "double quote"),
        ("echo a\\", "backslash"),
        ("cat a\0b", "NUL"),
        ("echo " + "a" * MAX_LINE, "longer"),
    ],
)
def test_refused_in_words(line, words):
    with pytest.raises(ParseError, match=words) as caught:
        parse(line)
    assert "\n" not in str(caught.value)


@given(shell_like | any_text)
def test_whatever_is_read_is_read_as_sh_does(line):
    try:
        read = parse(line)
    except ParseError:
        return
    if read.target is None and not read.then and not read.errors and read.given is None and not set(line) & set("\\\r"):
        assert list(read.words) == shlex.split(line.strip(" \t\r\n"), posix=True) or "\x0b" in line or "\x0c" in line


@given(any_text.filter(lambda word: "\0" not in word))
def test_quoting_is_read_back(word):
    assert parse(f"cat {quote(word)} {quote(word)}").words == ("cat", word, word)
    assert parse(f"cat x > {quote(word)}").target == word


@given(st.text("ab '\"\\\n", max_size=12))
def test_quoting_is_what_sh_reads(word):
    assert shlex.split(quote(word)) == [word]
