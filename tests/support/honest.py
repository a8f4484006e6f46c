"""Honest repairs that are written otherwise than the original: other names, other shapes, other messages."""

from __future__ import annotations

import ast
import random
import tomllib
from pathlib import Path

from natlang_envs.change.free_edits.code_tasks import CodeTask

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}


class _Renamed(ast.NodeTransformer):
    """Local variables of functions have other names; arguments keep theirs, since calls may name them."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        odd = (*_FUNCTIONS, ast.Lambda, ast.Global, ast.Nonlocal)
        if any(isinstance(each, odd) for each in ast.walk(node) if each is not node):
            return node
        stored = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        arguments = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and each.id in stored - arguments:
                each.id = f"{each.id}_here"
        return node


class _Turned(ast.NodeTransformer):
    """Conditions and comparisons are the other way round; what is returned has a name; `list` makes lists."""

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if node.orelse and not isinstance(node.orelse[0], ast.If):
            return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        how = _SWAPPED.get(type(node.ops[0]))
        if len(node.ops) == 1 and how is not None:
            return ast.Compare(node.comparators[0], [how()], [node.left])
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if node.value is None or isinstance(node.value, ast.Constant):
            return node
        kept = ast.Assign([ast.Name("what_it_is", ast.Store())], node.value)
        return [kept, ast.Return(ast.Name("what_it_is", ast.Load()))]

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        return ast.Call(ast.Name("list", ast.Load()), [ast.GeneratorExp(node.elt, node.generators)], [])


class _Moved(ast.NodeTransformer):
    """A function of the module calls another one, which has its body."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        body: list[ast.stmt] = []
        for each in node.body:
            plain = isinstance(each, ast.FunctionDef) and not each.decorator_list
            if isinstance(each, ast.FunctionDef) and plain and not each.args.vararg and not each.args.kwarg:
                inner = ast.FunctionDef(f"_{each.name}_inside", each.args, each.body, [], each.returns)
                given = [ast.Name(one.arg, ast.Load()) for one in (*each.args.posonlyargs, *each.args.args)]
                named = [ast.keyword(one.arg, ast.Name(one.arg, ast.Load())) for one in each.args.kwonlyargs]
                call = ast.Return(ast.Call(ast.Name(inner.name, ast.Load()), [*given], named))
                if not any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(each)):
                    body.append(inner)
                    each.body = [call]
            body.append(each)
        node.body = body
        return node


class _Reworded(ast.NodeTransformer):
    """Messages of what is raised say more."""

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call) and node.exc.args:
            said = node.exc.args[0]
            if isinstance(said, ast.JoinedStr):
                said.values.append(ast.Constant(", sadly"))
            elif isinstance(said, ast.Constant) and isinstance(said.value, str):
                said.value += ", sadly"
        return node


KINDS = (_Renamed, _Turned, _Moved, _Reworded)


def otherwise(source: str, number: int) -> str:
    """Return a source that does the same, written in another way: from one to three ways together."""
    draw = random.Random(number)
    tree: ast.AST = ast.parse(source)
    for each in draw.sample(KINDS, 1 + number % 3):
        tree = each().visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def by_hand() -> dict[str, str]:
    """Return what stands in the place of what was taken out, by task."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def mended(task: CodeTask, text: str) -> dict[str, str]:
    """Return the changed source of a task with one place that is wrong."""
    ((path, start, _, new),) = task.pieces
    before = task.before()[path]
    return {path: before[:start] + text + before[start + len(new) :]}
