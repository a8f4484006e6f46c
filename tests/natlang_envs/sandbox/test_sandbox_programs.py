"""Programs in the sandbox: they and its own commands see the same files."""

from __future__ import annotations

from natlang_envs.sandbox.isolation.isolation import Limits
from natlang_envs.sandbox.sandbox import AutoExploreSandbox
from tests.natlang_envs.sandbox.test_sandbox import both
from tests.support import hostile
from tests.support.isolation_here import needs_isolation


@needs_isolation
def test_programs_and_commands_see_the_same_files(sandbox, repo):
    before = hostile.tree_hash(repo)
    sandbox.execute("echo 'print(open(\"/work/README.md\").read())' > show.py")
    sandbox.execute("echo changed > README.md")
    assert sandbox.execute("python show.py").stdout == "changed\n\n"
    code = (
        "import os, shutil; open('made.txt', 'w').write('by python'); os.remove('nothing'); shutil.rmtree('sub'); "
        "os.mkdir('folder'); open('folder/in.txt', 'w').write('in'); os.symlink('/etc/passwd', 'link'); "
        "os.mkfifo('pipe'); os.link('made.txt', 'hard'); open('.git', 'w').write('x'); os.remove('to-file')"
    )
    assert sandbox.execute(f'python3 -c "{code}"') == ("", "", 0, None)
    assert {change.path: change.kind for change in sandbox.changed_files()} == {
        **dict.fromkeys(("folder/in.txt", "hard", "link", "made.txt", "show.py"), "added"),
        **dict.fromkeys(("nothing", "sub/module.py", "to-file"), "deleted"),
        "README.md": "modified",
    }
    assert both(sandbox, "cat made.txt folder/in.txt hard", "cat link", "cat pipe", "cd sub", "ls folder")[:4] == [
        ("by pythoninby python", "", 0, None),
        ("", "cat: link: Symbolic links are not followed here\n", 1, None),
        ("", "cat: pipe: Not a regular file\n", 1, None),
        ("", "cd: sub: No such file or directory\n", 1, None),
    ]
    assert "to-file" not in sandbox.execute("ls").stdout
    sandbox.execute("echo native > hard")
    assert (
        sandbox.execute("python -c \"print(open('hard').read(), open('made.txt').read())\"").stdout
        == "native\n by python\n"
    )
    sandbox.execute("cd folder")
    sandbox.execute("python -c 'import shutil; shutil.rmtree(\"/work/folder\")'")
    assert sandbox.cwd == ""
    state = sandbox.snapshot()
    sandbox.reset()
    assert sandbox.execute("cat sub/module.py nothing").stdout == "x = 1\n"
    sandbox.restore(state)
    assert sandbox.execute("cat made.txt").stdout == "by python"
    assert sandbox.execute(
        'python -c \'import os; print(os.path.exists("sub"), os.path.exists("made.txt"))\''
    ).stdout == ("False True\n")
    assert hostile.tree_hash(repo) == before


@needs_isolation
def test_redirected_program_and_its_exit_code(sandbox):
    done = sandbox.execute("python -c 'import sys; print(5); sys.exit(3)' > out.txt")
    assert done == ("", "", 3, None)
    assert sandbox.execute("cat out.txt").stdout == "5\n"


@needs_isolation
def test_a_program_that_leaves_too_much_is_undone(repo):
    with AutoExploreSandbox(repo, limits=Limits(disk=20_000)) as sandbox:
        sandbox.execute("echo kept > kept.txt")
        # Within what the kernel and the watcher allow: who would be faster with more files is chance.
        done = sandbox.execute('python -c \'for n in range(4): open(str(n), "w").write("x" * 4000)\'')
        assert done.stopped == "the program changed more than 20000 bytes of files: its changes are undone"
        assert [change.path for change in sandbox.changed_files()] == ["kept.txt"]
        assert sandbox.execute("cat kept.txt 3") == ("kept\n", "cat: 3: No such file or directory\n", 1, None)
        deep = "import os\nfor n in range(300): os.mkdir('d'); os.chdir('d')"
        assert "deep" in (sandbox.execute(f'python -c "{deep}"').stopped or "")
        assert sandbox.execute("ls d").exit_code == 2


def test_without_isolation_programs_are_refused_in_words(repo, monkeypatch):
    monkeypatch.setattr("natlang_envs.sandbox.isolation.isolation._candidates", tuple)
    with AutoExploreSandbox(repo) as sandbox:
        done = sandbox.execute("python -c pass")
        assert done.exit_code == 126
        assert "bubblewrap" in done.stderr
        assert done.stderr.count("\n") == 1
