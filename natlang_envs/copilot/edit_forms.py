"""Edits of files in an answer, as one command: `apply_patch` with a here-document."""

from __future__ import annotations

import re

from natlang_envs.answers.calls import as_object, json_values
from natlang_envs.answers.texts import blocks
from natlang_envs.sandbox.changes.edits import MARKS
from natlang_envs.sandbox.commands.parser import quote

WORD = "apply_patch"
_PATHS = ("path", "file_path", "filename", "file", "target_file", "filepath", "file_name")
_OLD = ("old_str", "old_string", "old", "search", "old_text", "target", "find")
_NEW = ("new_str", "new_string", "new", "replace", "new_text", "replacement")
_WHOLE = ("file_text", "content", "contents", "text", "code")
_PATCH = ("patch", "diff", "input", "patch_text", "changes")
_NAME = r"(?:[\w.@+-]+/)*[\w@+-]*\.?[\w@+-]*\.\w{1,10}|(?:[\w.@+-]+/)+[\w@+-]+"
_PATH_LINE = re.compile(
    rf"[\s#*>`\"'-]*(?:(?:(?:new )?file(?:name)?|path|create|update|edit|write"
    rf"|rewrite)\s*:?\s*)*[`*\"']*({_NAME})[`*\"':]*\s*"
    r"(?:\((?:new|whole|full|updated)[^()]*\))?\s*:?\s*",
    re.IGNORECASE,
)
_IN_NAME = re.compile(rf"(?:\w+[ :]\s*)?(?:(?:title|file|filename|path)\s*[=:]\s*)?[\"']?({_NAME})[\"']?")
_FILE_TAG = re.compile(
    r"<(file|write_file|create_file)\s+(?:path|name|filename)=[\"']([^\"'<>\n]+)[\"']\s*>\n?(.*?)</\1>", re.DOTALL
)
SHELL_NAMES = frozenset(("", "bash", "sh", "shell", "console", "zsh", "text", "diff", "patch"))


def marked(said: str) -> bool:
    return MARKS.search(said) is not None


def edit_in(said: str) -> str | None:
    """Return the command of the patches, diffs, and blocks of search and replace in a text."""
    if not marked(said):
        return None
    pieces: list[str] = []
    for block in blocks(said):
        if marked(block.content):
            before = said[: block.start].rstrip().rpartition("\n")[2]
            pieces += [before, block.content]
    return _document("\n".join(pieces) if pieces else said)


def files_in(said: str) -> str | None:
    """Return the command that writes the files that a text gives whole, each a block with its path."""
    found = [(each[2], each[3]) for each in _FILE_TAG.finditer(said)]
    for block in blocks(said):
        before = said[: block.start].rstrip().rpartition("\n")[2]
        name = _IN_NAME.fullmatch(block.name) or _PATH_LINE.fullmatch(before)
        if name is not None and block.name.lower() not in SHELL_NAMES - {""} and block.content.strip():
            found.append((name[1], block.content))
    return _document("\n".join(_added(*each) for each in found)) if found else None


def edit_of(value: object) -> str | None:
    """Return the command of a tool call that edits a file."""
    content = as_object(value)
    given: object = next(
        (content[key] for key in ("arguments", "parameters", "args", "input") if key in content), content
    )
    if isinstance(given, str):
        given = next((each.value for each in json_values(given) if not each.start), given)
    if isinstance(given, str):
        return edit_in(given)
    members = as_object(given)
    texts = {str(key).lower(): each for key, each in members.items() if isinstance(each, str)}
    path, old, new, whole, patch = (
        next((texts[key] for key in keys if key in texts), None) for keys in (_PATHS, _OLD, _NEW, _WHOLE, _PATCH)
    )
    if patch is not None and marked(patch):
        return edit_in(patch)
    if path is None:
        return None
    line = members.get("insert_line", members.get("line"))
    if old is not None and old != "":
        old, new = old.removesuffix("\n"), (new or "").removesuffix("\n")
        return _document(f"{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE")
    if isinstance(line, int) and (new or whole) is not None:
        body = "\n".join(f"+{each}" for each in (new or whole or "").removesuffix("\n").split("\n"))
        return _document(f"--- {path}\n+++ {path}\n@@ -{line},0 +{line + 1},1 @@\n{body}")
    if whole is not None:
        return _document(_added(path, whole))
    return f"cat {quote(path)}" if texts.get("command") == "view" else None


def _added(path: str, content: str) -> str:
    lines = content.removesuffix("\n").split("\n")
    return "\n".join([f"*** Add File: {path}", *(f"+{line}" for line in lines)])


def _document(body: str) -> str:
    word = "EOF"
    while word in body:
        word += "_"
    return f"{WORD} << '{word}'\n{body.rstrip()}\n{word}"
