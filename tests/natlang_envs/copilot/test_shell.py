"""The command is found in whatever a person or a model answers, and nothing else is taken for one."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.answers import Reading, read_answer
from natlang_envs.answers.texts import parts_of
from natlang_envs.conformance.answer_forms import FORMS as KIT
from natlang_envs.conformance.answer_forms import NO_COMMAND, messages, rendered
from natlang_envs.copilot.shell import Shell
from natlang_envs.prompt import Choice


def read_reply(said: str, choices: Sequence[Choice] = (), final: str = "answer") -> Reading:
    labels, commands = [each.label for each in choices], [each.command for each in choices]
    return read_answer(said, commands, labels=labels, free=Shell(final))


CHOICES = [Choice("A", "cd docs"), Choice("B", "cat with space.txt"), Choice("Cd", "exit")]


@pytest.mark.parametrize(
    ("said", "command", "reasoning"),
    [
        ("ls", "ls", ""),
        ("  $ ls -a  \n", "ls -a", ""),
        ("`cat x`", "cat x", ""),
        ("grep foo bar", "grep foo bar", ""),
        ("echo 'a\nb' > x", "echo 'a\nb' > x", ""),
        ("echo '```\nls\n```' > x", "echo '```\nls\n```' > x", ""),
        ("echo 'Action: ls' > x", "echo 'Action: ls' > x", ""),
        ("answer It's here; and $there (see x.py)", "answer It's here; and $there (see x.py)", ""),
        ("answer One\ntwo", "answer One\ntwo", ""),
        ("I look first.\nAction: cat x.py", "cat x.py", "I look first."),
        ("Thought: look\nAction: ls\nObservation: a b\nThought: so\nAction: id a", "ls", "Thought: look"),
        ("**Action:** `cat x`", "cat x", ""),
        ("Thought 1: hm\nAction 1: cat x\nObservation 1: y", "cat x", "Thought 1: hm"),
        ("Thought: hm\nAction: cat\nAction Input: x y.txt", "cat x y.txt", "Thought: hm"),
        ("Action:\n```sh\ncat x\n```", "cat x", ""),
        ("Action: echo 'a\nb' > x\nObservation: done", "echo 'a\nb' > x", ""),
        ("Action: answer One thing.\nAnd another.", "answer One thing.\nAnd another.", ""),
        ("Let me see:\n```bash\n$ cat x\n```\nThen more.", "cat x", "Let me see:\n\nThen more."),
        ("```\n# look\n\nls\n```", "ls", ""),
        ("```python\nimport os\nos.x()\n```\n```sh\nls\n```", "ls", "```python\nimport os\nos.x()\n```"),
        ("```sh\necho 'a\n# b' > x\n```", "echo 'a\n# b' > x", ""),
        ('```sh\necho "it\'s\n\\"b\\"" > x\n```', 'echo "it\'s\n\\"b\\"" > x', ""),
        ("```sh\necho 'open\nb\n```", "echo 'open", ""),
        ("I would read it with `cat x` now.", "cat x", "I would read it with `cat x` now."),
        ("The file named `cat` is odd.\nls docs\nThen more", "ls docs", "The file named `cat` is odd.\nThen more"),
        ("<think>maybe `cat a`, or\nls?</think>\ncat b", "cat b", "maybe `cat a`, or\nls?"),
        ("no opening tag</think>cat b", "cat b", "no opening tag"),
        ("I think we should look at the documents.", None, "I think we should look at the documents."),
        ("A", None, "A"),
        ("", None, ""),
        ("Action: ", None, "Action:"),
        ("```\n```", None, "```\n```"),
        ("\x00\x1b[2J", None, "\x00\x1b[2J"),
    ],
)
def test_the_command_and_the_rest(said: str, command: str | None, reasoning: str) -> None:
    reply = read_reply(said)
    assert reply.command == command
    assert reply.rest == reasoning


@pytest.mark.parametrize(
    ("said", "command"),
    [
        ("A", "cd docs"),
        ("(A)", "cd docs"),
        ("A.", "cd docs"),
        ("A. cd docs", "cd docs"),
        ("**A**", "cd docs"),
        ("Choice: B", "cat with space.txt"),
        ("cat with space.txt", "cat with space.txt"),
        ("Action: B", "cat with space.txt"),
        ("```\nB\n```", "cat with space.txt"),
        ("The documents come first.\nA", "cd docs"),
        ("Cd", "exit"),
        ("a", "a"),  # labels are exact; the sandbox says that there is no such command
        ("Z", None),
        ("cat x", "cat x"),  # what is not listed is a command all the same
    ],
)
def test_a_choice_by_its_label_or_its_words(said: str, command: str | None) -> None:
    assert read_reply(said, CHOICES).command == command


DOCUMENT = "cat <<'END' > notes.md\n# Notes\n\n- `ls` and exit\nEND"
FORMS = {
    "an object": ('{"command": "head -5 b.md"}', "head -5 b.md", 0),
    "an object with a thought": ('I see.\n{"reasoning": "so", "action": "ls lib"}', "ls lib", 0),
    "an object in lines, in a block": ('```json\n{\n  "cmd": "ls lib"\n}\n```', "ls lib", 0),
    "a tool and its arguments": ('{"tool": "cat", "args": {"path": "a b.md"}}', "cat 'a b.md'", 0),
    "words": ('{"command": ["bash", "-lc", "ls lib"]}', "ls lib", 0),
    "an answer as an object": ('{"final_answer": "It is 7"}', "answer It is 7", 0),
    "a tag": ("Look.\n<command>ls lib</command>", "ls lib", 0),
    "a tag with a block": ("<execute_bash>\n```sh\nls lib\n```\n</execute_bash>", "ls lib", 0),
    "Hermes, Qwen": ('<tool_call>\n{"name": "sh", "arguments": {"cmd": "ls lib"}}\n</tool_call>', "ls lib", 0),
    "Qwen Coder": ("<tool_call>\n<function=sh>\n<parameter=command>\nls lib\n</parameter>\n</function>", "ls lib", 0),
    "Llama": ('<function=shell>{"command": "ls lib"}</function>', "ls lib", 0),
    "Llama's tag": ('<|python_tag|>{"name": "run", "parameters": {"command": "ls lib"}}<|eom_id|>', "ls lib", 0),
    "Llama 4": ('[shell(command="ls lib")]', "ls lib", 0),
    "a function": ("cat('b.md')", "cat b.md", 0),
    "Gemma": ("```tool_code\nprint(shell('ls lib'))\n```", "ls lib", 0),
    "an object in lines after a label": ('Action:\n{\n  "cmd": "ls lib"\n}', "ls lib", 0),
    "two objects": ('{"action": "ls lib"}\n{"action": "cat b.md"}', "ls lib", 1),
    "a label before a call": ('Action: ls lib\n\n<tool_call>{"name": "pwd"}</tool_call>', "ls lib", 0),
    "Granite": ('<|tool_call|>[{"name": "sh", "arguments": {"command": "ls lib"}}]', "ls lib", 0),
    "a box with text": ("So: \\boxed{\\text{ls lib}}", "ls lib", 0),
    "an example in a tag": ("<example>\n```sh\ncat x\n```\n</example>\n```sh\nls lib\n```", "ls lib", 0),
    "an object as Python writes it": ("{'thought': 'hm', 'command': 'ls lib'}", "ls lib", 0),
    "exit with a full stop": ("exit.", "exit", 0),
    "id with a colon": ("id: a.py", "id a.py", 0),
    "Mistral": ('[TOOL_CALLS][{"name": "bash", "arguments": {"command": "ls lib"}}]', "ls lib", 0),
    "Mistral's newer": ('[TOOL_CALLS]bash[ARGS]{"command": "ls lib"}', "ls lib", 0),
    "GLM": ("<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls lib</arg_value>\n</tool_call>", "ls lib", 0),
    "Claude": ('<invoke name="bash">\n<parameter name="command">ls lib</parameter>\n</invoke>', "ls lib", 0),
    "Kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>"
        '{"command": "ls lib"}<|tool_call_end|><|tool_calls_section_end|>',
        "ls lib",
        0,
    ),
    "DeepSeek": (
        "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>bash\n"
        '```json\n{"command": "ls lib"}\n```<\uff5ctool\u2581call\u2581end\uff5c>',
        "ls lib",
        0,
    ),
    "OpenAI": ('{"tool_calls": [{"function": {"name": "sh", "arguments": "{\\"command\\": \\"ls\\"}"}}]}', "ls", 0),
    "several calls": ('<tool_call>{"name": "ls"}</tool_call>\n<tool_call>{"name": "pwd"}</tool_call>', "ls", 1),
    "gpt-oss": (
        "<|channel|>analysis<|message|>`cat x`?<|end|><|start|>assistant<|channel|>final<|message|>ls",
        "ls",
        0,
    ),
    "gpt-oss, a call": (
        '<|channel|>commentary to=functions.sh <|constrain|>json<|message|>{"command":"ls lib"}<|call|>',
        "ls lib",
        0,
    ),
    "gpt-oss without marks": ("analysisThey want `cat x`.assistantfinalls lib", "ls lib", 0),
    "tokens at the end": ("ls lib<|im_end|>\n<|im_start|>user\ncat x", "ls lib", 0),
    "a full-width token": ("ls lib<\uff5cend\u2581of\u2581sentence\uff5c>", "ls lib", 0),
    "a block of any name": ("So:\n\n```run_this\nls lib\n```", "ls lib", 0),
    "a block without an end": ("Now\n```sh\nls lib", "ls lib", 0),
    "a block on one line": ("Now ```sh ls lib``` I think", "ls lib", 0),
    "blocks": ("```sh\nls\n```\nand\n```sh\ncat b.md\npwd\n```", "ls", 2),
    "a block with what it printed": ("```\nme@box:~/work$ ls lib\na.py\n```", "ls lib", 1),
    "CR": ("```bash\r\nls lib\r\n```\r\n", "ls lib", 0),
    "a document in a block": (f"I write it.\n```bash\n{DOCUMENT}\n```", DOCUMENT, 0),
    "a document in a block after a label": (
        "Action:\n```\ncat <<'E' > x\nAction: b\nE\n```",
        "cat <<'E' > x\nAction: b\nE",
        0,
    ),
    "a document, and a command": (f"```bash\n{DOCUMENT}\nls\n```", DOCUMENT, 1),
    "a document alone": (DOCUMENT, DOCUMENT, 0),
    "a document in prose": (f"This writes it:\n\n{DOCUMENT}\n\nThat is all.", DOCUMENT, 0),
    "a document with JSON": ('```sh\ncat <<E > x\n{"command": "ls"}\nE\n```', 'cat <<E > x\n{"command": "ls"}\nE', 0),
    "a program in a document": ("python - <<'P'\nprint(1)\nP", "python - <<'P'\nprint(1)\nP", 0),
    "numbered": ("2) ls lib", "ls lib", 0),
    "a list of commands": ("My plan:\n1. cd lib\n2. cat b.md\n3. exit", "cd lib", 2),
    "a point": ("* ls lib", "ls lib", 0),
    "an arrow": ("\u2192 ls lib", "ls lib", 0),
    "bold": ("**ls lib**", "ls lib", 0),
    "labelled": ("Next command: ls lib", "ls lib", 0),
    "labelled in bold": ("I look.\n**Command**: `ls lib`", "ls lib", 0),
    "a heading": ("## Command\n\nls lib\n", "ls lib", 0),
    "indented": ("The next one:\n\n    ls lib\n", "ls lib", 0),
    "ReAct with an object": ('Thought: hm\nAction: terminal\nAction Input: {"command": "ls lib"}', "ls lib", 0),
    "ReAct's brackets": ("Thought: hm\nAction: cat[b.md]", "cat b.md", 0),
    "ReAct's end": ("Thought: so\nAction: Finish[It is 7]", "answer It is 7", 0),
    "one after the other": ("cd lib && ls -a; pwd", "cd lib && ls -a", 1),
    "one after the other, labelled": ("Action: cd lib && ls", "cd lib && ls", 0),
    "a pipe": ("grep -rn 'a;b' . | head -3", "grep -rn 'a;b' . | head -3", 0),
    "a comment": ("```sh\nls lib  # what is there; && more\n```", "ls lib", 0),
    "a line that goes on": ("```sh\ngrep -rn tea \\\n  lib\n```", "grep -rn tea lib", 0),
    "a shell": ("bash -lc 'ls lib'", "ls lib", 0),
    "a full stop": ("cat b.md.", "cat b.md", 0),
    "folders end in stops": ("ls ..", "ls ..", 0),
    "typographic quotes": ("cat \u201ca b.md\u201d", 'cat "a b.md"', 0),
    "a space that does not break": ("cat\u00a0b.md", "cat b.md", 0),
    "a space without width": ("\ufeff\u200bls lib", "ls lib", 0),
    "exit is put off": ("I can't `exit` before I know more. Now `cat b.md`.", "cat b.md", 0),
    "exit is put off, and that is all": ("I will not `exit` yet.", None, 0),
    "exit is meant": ("All is done, so `exit`.", "exit", 0),
    "id is put off": ("`id a.py` may be right, but first `cat a.py`", "cat a.py", 0),
    "exit in a sentence": ("Then we\nexit the program\nand go on", None, 0),
    "id in a sentence": ("The\nid of the user is in\ncat b.md", "cat b.md", 0),
    "an end and a command": ("id a.py\ncat b.md", "cat b.md", 1),
    "id after a command in prose": ("I saw it by `cat a.py`.\n\nid a.py", "id a.py", 0),
    "find in a sentence": ("Let us\nfind the cause of that\nin `ls lib`", "ls lib", 0),
    "id and why": ("id lib/a.py because it adds them up", "id lib/a.py", 0),
    "a final answer": ("Thought: I know.\nFinal Answer: It is 7, see `ls`.", "answer It is 7, see `ls`.", 0),
    "an answer": ("The answer is: 7", "answer 7", 0),
    "answer with a colon": ("answer: 7", "answer 7", 0),
    "an answer in a tag": ("<answer>7</answer>", "answer 7", 0),
    "an answer in a sentence": ("The answer must be in lib.", None, 0),
    "code that is no command": ('```python\nprint(open("b.md").read())\n```', None, 0),
    "a thought with an end": ("<think>`exit`?</think>\n\nls lib", "ls lib", 0),
    "a thought without one": ("<think>I could `cat x`, or exit", None, 0),
    "a thought that ends in id": ("<think>so\nid a.py", None, 0),
}


@pytest.mark.parametrize(("said", "command", "left_over"), FORMS.values(), ids=FORMS)
def test_every_form_is_read_as_meant(said: str, command: str | None, left_over: int) -> None:
    reply = read_reply(said)
    assert (reply.command, reply.left_over) == (command, left_over)


@pytest.mark.parametrize(("final", "command"), [("answer", "answer lib/a.py"), ("id", "id lib/a.py"), ("exit", "exit")])
def test_a_final_answer_ends_the_work_as_its_mode_does(final: str, command: str) -> None:
    for said in ("I know.\nFinal Answer: lib/a.py", "<answer>lib/a.py</answer>", '{"answer": "lib/a.py"}'):
        assert read_reply(said, final=final).command == command


# In these several commands are a script, of which the first is run, and what is no command of the sandbox is answered.
SCRIPTS = {"two lines", "two bare ones", "two below a label", "two tags", "two objects", "taken back"}
ANSWERED = {"a label and a negation", "a label that is not listed"}


@pytest.mark.parametrize("final", ["id", "answer", "exit"])
def test_free_commands_are_read_in_the_forms_of_the_kit(final: str) -> None:
    command, other = "cat README.md", "ls src"
    for name in KIT.keys() - {"underscores", "capitals", "sentence with a choice", "final answer", "answer tag"}:
        assert read_reply(rendered(KIT[name], command, other), final=final).command == command, name
    for name, message in messages(command).items():
        assert read_answer(message, free=Shell(final)).command == command, name
    for name in NO_COMMAND.keys() - SCRIPTS - ANSWERED - {"a tag of an example"}:
        assert read_reply(rendered(NO_COMMAND[name], command, other), final=final).command is None, name
    for name in ANSWERED:
        assert read_reply(rendered(NO_COMMAND[name], command, other), final=final).command != command, name


def test_more_than_one_command_in_a_block_is_said() -> None:
    assert read_reply("```sh\ncd docs\ncat a\n\ncat b\n```") == Reading("cd docs", "fence", "", 2)


@given(st.text(alphabet="ab `$'\"\n#>~:.<think/>Actionlscdcatid", max_size=200))
def test_nothing_raises_and_no_command_is_blank(said: str) -> None:
    reply = read_reply(said, CHOICES)
    assert reply.command is None or reply.command.strip()


LONG = 50_000
PIECES = [
    "```\n",
    "~~~ \n```\n",
    "Action:\n",
    "Action 1",
    "`",
    "`a\n",
    "<think>",
    "a ",
    "'\n",
    "ls '",
    "~~~",
    "*> _",
    "x'\n",
]
PIECES += [
    "{",
    '{"a":',
    "[",
    "<tool_call>",
    "<bash>{",
    "cat <<E\n",
    "<|channel|>",
    "<|im_end|>",
    "Final Answer",
    "\\\n",
]
PIECES += ["</think>", "1. ", "answer: ", "ls && ", "``` ", "[TOOL_CALLS]", "f(", "**", "<parameter=a>", "`exit` not. "]
PIECES += ["#\n", "\n", "\t", "echo '\n", 'echo "\n', "answer\n", "> ", "\\", "ls ;\n", "`ls` "]


AROUND = [
    ("", ""),
    ("", "\nx"),
    ("Action:", ""),
    ("```", "!"),
    ('```\necho "', "\n```"),
    ("choice", "x!"),
    ("Action: x\n", "b"),
]
ONE_EACH = [(piece, *AROUND[number % len(AROUND)]) for number, piece in enumerate(PIECES)]
OTHERS = [each for each in ((piece, *around) for piece in PIECES for around in AROUND) if each not in ONE_EACH]


def takes_no_time(cases: list[tuple[str, str, str]]) -> None:
    slow = [each for each in cases if best_time(each[1] + each[0] * (LONG // len(each[0])) + each[2]) >= 0.1]
    assert slow == []


def test_long_nonsense_takes_no_time() -> None:
    takes_no_time(ONE_EACH)


@pytest.mark.slow
def test_long_nonsense_of_every_kind_takes_no_time() -> None:
    takes_no_time(OTHERS)


def test_fences_of_every_length_take_no_time() -> None:
    assert best_time("".join("`" * count + "\n" for count in range(3, 630))) < 0.1


def best_time(said: str) -> float:
    """Return the least processor time of a few tries: other processes and the first use of the cache do not count."""
    best = 1e9
    for _ in range(5):
        parts_of.cache_clear()
        begun = time.process_time()
        read_reply(said[:LONG], CHOICES)
        best = min(best, time.process_time() - begun)
        if best < 0.1:
            break
    return best


def test_a_sentence_about_the_answer_in_brackets_is_no_command() -> None:
    for text in ("[the answer holds no text]", "<think>\nhm\n</think>\n[the answer was cut at its limit: allow more]"):
        assert read_answer(text, free=Shell("answer")).command is None
    assert read_answer("[answer 42]", free=Shell("answer")).command == "answer 42"
