"""Words by which added code may look into what tests it: a win that adds one is set aside for a person to read."""

from __future__ import annotations

import ast
import re
import unicodedata
from typing import Any, cast

_WORD = re.compile(r"[^\W\d]\w*|/opt\b")
_ENCODING = re.compile(r"[ \t\f]*#.*?coding[:=]")
_SUSPECT = frozenset(
    word
    for line in (
        # what runs the tests
        "pytest _pytest pluggy unittest mock doctest conftest TestReport runtest /opt lab",
        # ways to modules, frames and objects of others, and to code made of text
        "modules gc inspect ctypes cffi importlib builtins __builtins__ __import__ exec eval compile marshal",
        "pickle runpy globals locals vars getattr setattr delattr __dict__ __getattribute__ __setattr__ __class__",
        "__bases__ __mro__ __subclasses__ __globals__ __code__ __closure__ __defaults__ _getframe currentframe",
        "f_back f_globals f_locals tb_frame gi_frame cr_frame __traceback__ settrace setprofile monitoring",
        "addaudithook meta_path path_hooks attrgetter methodcaller",
        # ways to end or outlive a run
        "_exit abort atexit kill fork forkpty execv execve posix_spawn signal subprocess multiprocessing threading",
        "_thread faulthandler excepthook unraisablehook",
        # ways to read the tests
        "open popen system read_text read_bytes listdir scandir iterdir walk glob rglob linecache pkgutil environ",
        # values that are equal to everything
        "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __bool__ __hash__ __instancecheck__ __subclasscheck__ ANY",
        # text that is no Python as it stands
        "coding",
    )
    for word in line.split()
)


def suspect_words(before: str, after: str) -> set[str]:
    """Return the words of a changed source that it did not have and a person should look at."""
    return (_words(after) - _words(before)) & _SUSPECT


def _words(text: str) -> set[str]:
    """Return the names of a source, in the letters that Python reads them in, and the words of its strings.

    What does not parse here is no Python, or Python in another encoding: of that all words count.
    """
    everything = set(_WORD.findall(unicodedata.normalize("NFKC", text)))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return everything
    found = {"coding"} if any(map(_ENCODING.match, text.splitlines()[:2])) else set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None  # a docstring
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            held = cast("list[Any]", value) if isinstance(value, list) else [value]
            for each in held:
                if isinstance(each, bytes):
                    found.update(_WORD.findall(each.decode("latin-1")))
                elif isinstance(each, str):
                    found.update(_WORD.findall(each))
    return found
