"""What a player of AutoExplore-Change looks at: every name and edit can be reached, and nothing is too long."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from natlang_envs.change.listed_edits.episode import ran
from natlang_envs.change.listed_edits.views import WIDTH, ChangeView, EditableSource, cut, folder_views
from natlang_envs.repository.entries import Folder

names = st.text(st.sampled_from("ab é"), min_size=1, max_size=3)


@settings(deadline=None)
@given(st.sets(names, max_size=90), st.sets(names, max_size=90), st.data())
def test_a_folder_lists_each_name_once_in_pages_of_forty_commands(
    folders: set[str], files: set[str], data: st.DataObject
) -> None:
    files -= folders
    sources = {f"top/{name}" for name in files if data.draw(st.booleans())}
    views = folder_views(Folder("top", tuple(sorted(folders)), tuple(sorted(files))), sources)
    listed = [command for view in views for command in _all(view)]
    for command, named in (("cd", folders), ("open", {each[4:] for each in sources})):
        assert sorted(each for each in listed if each.startswith(f"{command} ") and each != "cd ..") == sorted(
            f"{command} {name}" for name in named
        )


def _all(view: ChangeView) -> tuple[str, ...]:
    commands = view.listed(edited=True, tests=True)[0]
    assert len(commands) <= 40
    assert commands[-4:] == ("undo", "test", "submit", "exit")
    return commands


LINES = st.sampled_from(["", "# note", "a = a + 1", "if a > 1 and b < 2: a = b - a * 2 // 3", f"a = '{'x' * 300}' + b"])


@settings(deadline=None, max_examples=50)
@given(st.lists(LINES, min_size=1, max_size=900))
def test_a_source_is_paged_whole_and_every_edit_is_reached(lines: list[str]) -> None:
    source = EditableSource("top/a.py", "\n".join(lines) + "\n", 0)
    pages = [source.view(("file", "top/a.py", 0, number)) for number in range(len(source.pages))]
    assert [line for page in source.pages for line in page] == list(range(1, len(source.lines) + 1))
    reached: list[int] = []
    for page in pages:
        for command in _all(page):
            if command.startswith("line "):
                view = source.view(page.effects[command].key)
                while True:
                    reached += [move.number for move in view.effects.values() if move.kind == "edit"]
                    assert all(len(each) < WIDTH + 20 for each in view.text.splitlines())
                    if "next page" not in _all(view):
                        break
                    view = source.view(view.effects["next page"].key)
    assert reached == list(range(len(source.edits)))
    shown, waiting = {0}, [0]
    while waiting:
        for move in pages[waiting.pop()].effects.values():
            if move.key[0] == "file" and move.key[3] not in shown:
                shown.add(move.key[3])
                waiting.append(move.key[3])
    assert len(shown) == len(pages)


@given(st.text(max_size=400), st.integers(0, 400))
def test_a_line_is_shown_on_one_line_and_cut_where_it_is_long(text: str, at: int) -> None:
    shown = cut(text, at)
    assert shown.isprintable()
    assert len(shown) <= WIDTH + 2


def test_a_run_of_many_failing_tests_names_twenty() -> None:
    names = [f"tests/test_{number}.py::test_{'x' * number * 10}" for number in range(60)]
    said = ran(names, visible=(1 << 60) - 1, failing=(1 << 50) - 1, left=1).splitlines()
    assert said[0] == "50 of 60 tests fail that you may see; 1 run is left:"
    assert said[-1] == "and 30 more"
    assert len(said) == 22
    assert max(map(len, said)) == 201
