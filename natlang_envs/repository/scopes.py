"""The names that the functions and classes of a source hold."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def arguments_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    """Return all arguments of a function, those with stars last."""
    arguments = node.args
    starred = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]


def stored(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that are assigned to, in order, without those of inner scopes."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if not isinstance(node, (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)):
            yield from stored(ast.iter_child_nodes(node))


def fields(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return for each field, member or property of a class those of the same class; the first class with it counts."""
    found: dict[str, tuple[str, ...]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            properties = (
                each.name
                for each in node.body
                if isinstance(each, ast.FunctionDef) and any(ast.unparse(d) == "property" for d in each.decorator_list)
            )
            names = dict.fromkeys([*stored(node.body), *properties])
            group = tuple(name for name in names if name not in found)
            found.update(dict.fromkeys(group, group))
    return found
