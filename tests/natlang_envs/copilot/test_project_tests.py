"""`natlang explore --mode change --env`: a project's own tests run in the sandbox, before changes and after them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from natlang_envs.copilot.copilot import AutoExploreCopilot
from natlang_envs.copilot.project_tests import run_project_tests
from natlang_envs.errors import UsageError
from natlang_envs.sandbox import AutoExploreSandbox, Limits
from tests.support.chat_server import part, serve
from tests.support.environments import make_environment
from tests.support.explore_command import ask, explore_here, left_behind, refused
from tests.support.folders import write
from tests.support.hostile import tree_hash
from tests.support.isolation_here import needs_isolation

SHOP = {
    "shop/__init__.py": "",
    "shop/prices.py": "RATE = 0.2\n\n\ndef gross(net):\n    return net * RATE\n\ndef free(net):\n    return net == 0\n",
    "tests/test_prices.py": (
        "import pytest\nfrom shop.prices import free, gross\n\n\ndef test_gross():\n    assert gross(10) == 12\n\n\n"
        "def test_free():\n    assert free(0)\n\n\n@pytest.mark.skip\ndef test_later():\n    pass\n"
    ),
}
EDIT = """\
The tax comes on top.

```python
# shop/prices.py
<<<<<<< SEARCH
    return net * RATE
=======
    return net * (1 + RATE)
>>>>>>> REPLACE
```
"""


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("env")
    make_environment(folder)
    return folder


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write(tmp_path / "shop", SHOP)


@needs_isolation
def test_a_model_edits_runs_the_tests_and_what_became_of_them_is_said(shop: Path, env: Path, tmp_path: Path) -> None:
    def model(prompt: str) -> str:
        if part(prompt, "Commands so far") == "(none)":
            return "First the tests.\n\n```bash\ncd /work && pytest -q 2>&1 | tail -n 3\n```"
        if "1 failed, 1 passed" in part(prompt, "Last result"):
            return EDIT
        if "2 passed" in part(prompt, "Last result"):
            return "git diff"
        return "exit" if "git diff" in prompt else "Action: pytest tests -q"

    before, around, patch = tree_hash(tmp_path), left_behind(), tmp_path / "fix.patch"
    with serve(model) as chat:
        done = ask(chat, shop, "Add the tax.", "--mode", "change", "--env", str(env), "--export", str(patch))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "> cd /work && pytest -q 2>&1 | tail -n 3\n" in done.stdout
    assert "1 failed, 1 passed, 1 skipped in" in done.stdout
    assert done.stdout.count("+    return net * (1 + RATE)") == 2  # `git diff`, and at the end
    assert done.stdout.endswith(
        f"The patch is in {patch}.\nTests before: 1 passed, 1 failed, 1 skipped.\nTests after: 2 passed, 1 skipped.\n"
        "Mended: tests/test_prices.py::test_gross\n"
    )
    assert "- pytest runs the project's tests" in chat.requests[0].system
    patched = tree_hash(tmp_path)
    assert patched != before
    subprocess.run(["git", "apply", str(patch)], cwd=shop, check=True)
    assert "(1 + RATE)" in (shop / "shop" / "prices.py").read_text()
    assert left_behind() == around


@needs_isolation
def test_what_breaks_tests_is_named_and_is_no_success(shop: Path, env: Path) -> None:
    change = ("--repo", str(shop), "Change.", "--agent", "human", "--mode", "change", "--env", str(env))
    broken = explore_here(*change, stdin="sed -i 's/== 0/== 1/' shop/prices.py\nexit\n")
    assert broken.returncode == 1
    assert broken.stdout.endswith("Tests after: 2 failed, 1 skipped.\nBroken: tests/test_prices.py::test_free\n")
    gone = explore_here(*change, stdin="echo 'oops(' >> tests/test_prices.py\nexit\n")
    assert gone.returncode == 1
    assert "Broken: tests/test_prices.py\nBroken: tests/test_prices.py::test_free\n" in gone.stdout
    ended = explore_here(*change, stdin="echo 'import os; os._exit(0)' > conftest.py\nexit\n")
    assert ended.returncode == 1
    assert ended.stdout.endswith(
        "Tests after: they cannot be run: they say nothing.\nBroken: tests/test_prices.py::test_free\n"
    )
    untouched = explore_here(*change, stdin="exit\n")
    assert untouched.returncode == 1
    assert "Nothing was changed." in untouched.stdout
    assert "Tests" not in untouched.stdout


@needs_isolation
def test_tests_that_cannot_be_run_say_why(shop: Path, env: Path, tmp_path: Path) -> None:
    make_environment(tmp_path / "bare", tested=False)
    with AutoExploreSandbox(shop, environment=tmp_path / "bare") as sandbox:
        assert run_project_tests(sandbox).words == f"pytest is not in {tmp_path / 'bare'}: install it there"
    for number, (files, says) in enumerate(
        (
            ({"pytest.ini": "[pytest]\naddopts = --unknown\n"}, "unrecognized arguments: --unknown"),
            ({"conftest.py": "import nothing_of_this_name\n"}, "No module named 'nothing_of_this_name'"),
            ({"tests/test_prices.py": "import time\ntime.sleep(60)\n"}, "seconds"),
            ({"tests/test_prices.py": ""}, "pytest finds none"),
        )
    ):
        folder = write(tmp_path / f"shop{number}", {**SHOP, **files})
        with AutoExploreSandbox(folder, environment=env, limits=Limits(seconds=4)) as sandbox:
            assert says in run_project_tests(sandbox).words


@needs_isolation
def test_what_tests_write_is_not_kept(shop: Path, env: Path) -> None:
    write(shop, {"tests/test_prices.py": "def test_write():\n    open('written', 'w').close()\n"})
    with AutoExploreCopilot("Change.", shop, mode="change", environment=env) as copilot:
        copilot.take("cd tests")
        assert run_project_tests(copilot.sandbox).outcomes == {"tests/test_prices.py::test_write": "passed"}
        assert copilot.sandbox.cwd == "tests"
        assert not copilot.sandbox.changed_files()


def test_an_environment_is_asked_for(shop: Path, env: Path) -> None:
    with AutoExploreSandbox(shop) as sandbox, pytest.raises(UsageError, match="no environment, so no pytest"):
        run_project_tests(sandbox)
    human = ("--repo", str(shop), "Change.", "--agent", "human", "--mode", "change", "--env")
    assert "there is no folder 'nowhere' with a Python environment" in refused(explore_here(*human, "nowhere"))
    listed = explore_here("--repo", str(shop), "Which?", "--agent", "bm25", "--env", str(env))
    assert "--env changes nothing with --agent bm25" in refused(listed)
    plain = explore_here("--repo", str(shop), "Which?", "--env", str(env))
    assert "--env is for a walk through the repository" in refused(plain)
