"""Calls of a package as plain data: recorded under its tests, answered by its sources, or taken from a table.

A call is outermost: what the package calls itself is no call. Its *question* is JSON: a name, how it is called, and the
arguments. Its *answer* is JSON: what was returned or raised, the arguments afterwards where they changed, and what was
printed. Nothing of either is unpickled, and nothing in it is asked whether it equals anything.
"""

# Values are of any kind here.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

import argparse
import builtins
import collections
import contextlib
import datetime
import decimal
import enum
import fractions
import functools
import importlib
import inspect
import io
import itertools
import json
import pathlib
import re
import sys
import types
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

_MOST_ITEMS, _DEEPEST = 10_000, 40
_BASES: tuple[Any, ...] = (str, int, float, bytes, list, tuple, dict, set, frozenset)
_LISTS: Mapping[str, type] = {each.__name__: each for each in (list, tuple, set, frozenset)}
_BESIDE = (argparse.Namespace, types.SimpleNamespace)  # objects of others that are taken
COMPARING = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")  # what is judged never decides these
_NOT_CALLED = {
    "__hash__", "__new__", "__setattr__", "__delattr__",
    "__getattr__", "__getattribute__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__enter__",
    "__exit__", "__init_subclass__", "__class_getitem__", "__set_name__", "__get__", "__set__", "__replace__",
}  # fmt: skip
_FOREIGN = ("unittest", "doctest", "bdb", "_pytest", "pytest")  # their exceptions end tests without a failure


class _Form(NamedTuple):
    make: Callable[..., Any]
    parts: Callable[[Any], tuple[Any, ...]]


_FORMS: Mapping[type, _Form] = {
    float: _Form(float, lambda x: (float.__repr__(x),)),
    complex: _Form(complex, lambda x: (complex.__repr__(x),)),
    bytes: _Form(bytes.fromhex, lambda x: (bytes.hex(x),)),
    bytearray: _Form(bytearray.fromhex, lambda x: (bytearray.hex(x),)),
    range: _Form(range, lambda x: (x.start, x.stop, x.step)),
    slice: _Form(slice, lambda x: (x.start, x.stop, x.step)),
    datetime.date: _Form(datetime.date, lambda x: (x.year, x.month, x.day)),
    datetime.time: _Form(datetime.time, lambda x: (x.hour, x.minute, x.second, x.microsecond, x.tzinfo)),
    datetime.datetime: _Form(
        datetime.datetime,
        lambda x: (x.year, x.month, x.day, x.hour, x.minute, x.second, x.microsecond, x.tzinfo),
    ),
    datetime.timedelta: _Form(datetime.timedelta, lambda x: (x.days, x.seconds, x.microseconds)),
    datetime.timezone: _Form(datetime.timezone, lambda x: (x.utcoffset(None),)),
    zoneinfo.ZoneInfo: _Form(zoneinfo.ZoneInfo, lambda x: (x.key,)),
    decimal.Decimal: _Form(decimal.Decimal, lambda x: (str(x),)),
    fractions.Fraction: _Form(fractions.Fraction, lambda x: (x.numerator, x.denominator)),
    pathlib.PosixPath: _Form(pathlib.PosixPath, lambda x: (str(x),)),
    pathlib.PurePosixPath: _Form(pathlib.PurePosixPath, lambda x: (str(x),)),
    uuid.UUID: _Form(uuid.UUID, lambda x: (str(x),)),
    re.Pattern: _Form(re.compile, lambda x: (x.pattern, x.flags)),
    types.MappingProxyType: _Form(types.MappingProxyType, lambda x: (dict(x),)),
    collections.deque: _Form(collections.deque, lambda x: (list(x), x.maxlen)),
    collections.defaultdict: _Form(collections.defaultdict, lambda x: (x.default_factory, dict(x))),
    collections.OrderedDict: _Form(collections.OrderedDict, lambda x: (dict(x),)),
    collections.Counter: _Form(collections.Counter, lambda x: (dict(x),)),
}
_BY_NAME = {kind.__name__: form for kind, form in _FORMS.items()}


class Unfit(Exception):  # noqa: N818 - an answer, not an error
    """A value that has no plain form, or a plain form that stands for nothing which is taken."""


class Unknown(BaseException):
    """A test needs an answer that is not in the table."""


def _of_others(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make any error that comes of what the judged sources wrote an `Unfit`."""

    @functools.wraps(function)
    def outer(*given: Any) -> Any:
        try:
            return function(*given)
        except Exception:
            raise Unfit from None

    return outer


class Calls:
    """The calls of a package, of the modules whose sources are judged."""

    def __init__(self, modules: Iterable[str]) -> None:
        self.modules = frozenset(modules)
        self.resolve = functools.cache(self._resolve)

    # Values.

    def plain(self, value: Any, inside: tuple[int, ...] = ()) -> Any:
        """Return what a value is, as JSON has it: scalars as they are, all others as a list that begins with a kind.

        It is `Unfit` if it holds itself, or something that is neither the package's nor plain.
        """
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if id(value) in inside or len(inside) > _DEEPEST:
            raise Unfit
        tell = functools.partial(self.plain, inside=(*inside, id(value)))
        if kind in _FORMS:
            return [kind.__name__, *map(tell, _FORMS[kind].parts(value))]
        if kind in (list, tuple):
            return [kind.__name__, *map(tell, value)]
        if kind in (set, frozenset):
            return [kind.__name__, *sorted(map(tell, value), key=json.dumps)]
        if kind is dict:
            return ["dict", *([tell(key), tell(each)] for key, each in value.items())]
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
            return ["name", self._named(value)]
        if isinstance(value, enum.Enum):
            known: Any = value.name  # None for some sums of flags
            return ["member", self._named(kind), known, tell(value.value) if known is None else None]
        name = self._named(kind)
        attributes = sorted([each, tell(held)] for each, held in _attributes(value).items())
        if isinstance(value, BaseException):
            return ["error", name, attributes, *map(tell, value.args)]
        if name.startswith("builtins:"):
            raise Unfit
        base: Any = next((each for each in _BASES if isinstance(value, each)), None)
        return ["object", name, attributes, None if base is None else tell(base(value))]

    @_of_others
    def value(self, plain: Any) -> Any:
        """Return the value that a plain form stands for, or raise `Unfit`."""
        if not isinstance(plain, list):
            return plain
        kind, *rest = plain
        if kind in _BY_NAME:
            return _BY_NAME[kind].make(*map(self.value, rest))
        if kind in _LISTS:
            return _LISTS[kind](map(self.value, rest))
        if kind == "dict":
            return {self.value(key): self.value(each) for key, each in rest}
        if kind == "iterator":
            return iter([self.value(each) for each in rest])
        named = self.resolve(rest[0])
        if kind == "name":
            return named
        if kind == "member" and issubclass(named, enum.Enum):
            return named(self.value(rest[2])) if rest[1] is None else named[rest[1]]
        if kind == "error" and issubclass(named, Exception | SystemExit):
            made = named.__new__(named)
            made.args = tuple(map(self.value, rest[2:]))
        else:
            if kind != "object" or named.__module__ == builtins.__name__ or issubclass(named, BaseException):
                raise Unfit
            base: Any = next((each for each in _BASES if issubclass(named, each)), None)
            given = () if base in (None, list, dict, set) else (self.value(rest[2]),)
            made = (base or object).__new__(named, *given)
            if base in (list, dict, set):
                base.__init__(made, self.value(rest[2]))
        _take(made, {name: self.value(each) for name, each in rest[1]})
        return made

    @_of_others
    def merged(self, old: Any, plain: Any) -> Any:
        """Return what an object has become, or raise `Unfit`: itself with other contents, if its kind allows that."""
        if self.plain(old) == plain:
            return old
        if not isinstance(plain, list):
            return plain
        kind, *rest = plain
        if type(old) is list and kind == "list":
            more = list(map(self.value, rest[len(old) :]))
            old[:] = [*map(self.merged, old, rest), *more]
        elif type(old) is dict and kind == "dict":
            held = {self.value(key): each for key, each in rest}
            now = {key: self.merged(old[key], each) if key in old else self.value(each) for key, each in held.items()}
            old.clear()
            old.update(now)
        elif type(old) is tuple and kind == "tuple" and len(old) == len(rest):
            return tuple(map(self.merged, old, rest))
        elif kind == "object" and self.resolve(rest[0]) is type(old):
            before = _attributes(old)
            made = {name: self.merged(before[name], x) if name in before else self.value(x) for name, x in rest[1]}
            _take(old, made)
            base: Any = next((each for each in _BASES if each in (list, dict, set) and isinstance(old, each)), None)
            if base is not None:
                base.clear(old)
                getattr(base, "extend" if base is list else "update")(old, self.value(rest[2]))
        elif type(old) in (set, bytearray, collections.deque, collections.defaultdict, collections.Counter):
            new, place = self.value(plain), cast("Any", old)
            place.clear()
            (place.update if hasattr(old, "update") else place.extend)(new)
        else:
            return self.value(plain)
        return old

    def _named(self, value: Any) -> str:
        name = f"{value.__module__}:{value.__qualname__}"
        if inspect.unwrap(self.resolve(name)) is not inspect.unwrap(value):
            raise Unfit
        return name

    def _resolve(self, name: str) -> Any:
        """Return the class or function of a name: one of the package, of what Python has built in, or an exception."""
        module, _, path = name.partition(":")
        own = module in self.modules
        found: Any = importlib.import_module(module) if own else sys.modules.get(module)
        for each in path.split("."):
            found = vars(found).get(each) if isinstance(found, type | types.ModuleType) else None
        found = getattr(found, "__func__", found)
        if isinstance(found, type):
            error = issubclass(found, Exception | SystemExit) and not module.startswith(_FOREIGN)
            of_python = error and module.partition(".")[0] in sys.stdlib_module_names
            fit = own or of_python or found in _BESIDE or module == builtins.__name__
        else:
            fit = own and isinstance(inspect.unwrap(found), types.FunctionType)
        if not fit or (found.__module__, found.__qualname__) != (module, path):
            raise Unfit
        return found

    # Calls.

    def question(self, name: str, way: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        """Return a call as JSON has it, or raise `Unfit` for an argument without a plain form."""
        return [name, way, self.plain([*given]), self.plain({**named})]

    def answer(self, question: str) -> str:
        """Call what a question asks for."""
        try:
            name, way, given, named = json.loads(question)
            arguments, options = self.value(given), self.value(named)
            if way == "read":
                return json.dumps(["returned", self._read(name), None, "", ""])
            if way == "new":
                function: Any = self.resolve(name)
            elif way == "function":
                function = getattr(*self.place(name))
            else:
                function = functools.partial(_called, name.rpartition(".")[2], way)
        except Exception as error:
            return json.dumps(["raised", ["error", f"builtins:{type(error).__name__}", [], str(error)], None, "", ""])
        return self.told(function, arguments, options, ["list", given, named])[0]

    def told(
        self, function: Callable[..., Any], given: Any, named: Mapping[str, Any], before: Any
    ) -> tuple[str, Any, Any]:
        """Call a function; return the answer as text, the result, and what was raised or None.

        `before` is the plain form of all arguments.
        """
        result = raised = None
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                result = function(*given, **named)
            except (Exception, SystemExit) as error:
                raised = error
            try:
                if isinstance(result, Iterator) and type(result).__module__ not in self.modules:
                    items = list(itertools.islice(result, _MOST_ITEMS))
                    result = iter(items)
                    told = ["returned", ["iterator", *map(self.plain, items)]]
                else:
                    told = ["returned", self.plain(result)] if raised is None else ["raised", self.plain(raised)]
            except Unfit:
                told = ["unfit", None]
            except (Exception, SystemExit) as error:  # of an iterator
                told, raised = ["unfit", None], error
        try:
            after = self.plain([[*given], {**named}])
        except Unfit:
            after = before
        printed = out.getvalue(), err.getvalue()
        sys.stdout.write(printed[0])
        sys.stderr.write(printed[1])
        return json.dumps([*told, None if after == before else after, *printed]), result, raised

    def place(self, name: str) -> tuple[Any, str]:
        """Return what holds something of the package, and what it is called there."""
        module, _, path = name.partition(":")
        found: Any = importlib.import_module(module)
        *way, last = path.split(".")
        for each in way:
            found = getattr(found, each)
        return found, last

    def _read(self, name: str) -> Any:
        found = getattr(*self.place(name))
        if isinstance(found, type) and issubclass(found, enum.Enum):
            return [[name, self.plain(each.value)] for name, each in found.__members__.items()]
        return self.plain(found)

    # The package itself.

    def members(self, files: Iterable[str]) -> Iterator[tuple[Any, str, str, Any]]:
        """Yield the functions that the package's files define: the holder, the attribute, the name, and the object."""
        here = set(files)
        for module in sorted(self.modules & sys.modules.keys()):
            waiting: list[tuple[Any, str]] = [(sys.modules[module], f"{module}:")]
            for holder, prefix in waiting:
                for attribute, found in list(vars(holder).items()):
                    if isinstance(found, type) and found.__module__ == module:
                        if prefix + attribute == f"{module}:{found.__qualname__}":
                            waiting.append((found, f"{prefix}{attribute}."))
                        continue
                    function = getattr(found, "fget", None) or getattr(found, "__wrapped__", found)
                    code = getattr(getattr(function, "__func__", function), "__code__", None)
                    made = attribute == "__init__" and isinstance(holder, type) and not issubclass(holder, enum.Enum)
                    if code is None or attribute in _NOT_CALLED or inspect.iscoroutinefunction(function):
                        continue
                    if made or (code.co_filename in here and getattr(function, "__module__", module) == module):
                        yield holder, attribute, prefix + attribute, found

    def constants(self) -> Iterator[str]:
        """Yield the questions for what public names of the package stand for, and its classes' public attributes."""
        for module in sorted(self.modules & sys.modules.keys()):
            for name, found in list(vars(sys.modules[module]).items()):
                if not name.startswith("_"):
                    yield f"{module}:{name}"
                    if isinstance(found, type) and found.__module__ == module and not issubclass(found, enum.Enum):
                        yield from (f"{module}:{name}.{each}" for each in vars(found) if not each.startswith("_"))


def _called(attribute: str, way: str, given: Any, /, *more: Any, **named: Any) -> Any:
    found = getattr(given, attribute)
    return found if way == "get" else found(*more, **named)


@functools.cache
def _slots(kind: type) -> dict[str, Any]:
    return {
        name: member
        for each in reversed(kind.__mro__)
        for name, member in vars(each).items()
        if isinstance(member, types.MemberDescriptorType) and each.__module__ != builtins.__name__
    }


def _attributes(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, slot in _slots(type(value)).items():
        with contextlib.suppress(AttributeError):
            found[name] = slot.__get__(value)
    return {**found, **getattr(value, "__dict__", {})}


def _take(made: Any, held: dict[str, Any]) -> None:
    """Give an object these attributes and no others."""
    if any(type(name) is not str or name.startswith("__") for name in held):
        raise Unfit
    for name, slot in _slots(type(made)).items():
        if name in held:
            slot.__set__(made, held.pop(name))
        else:
            with contextlib.suppress(AttributeError):
                slot.__delete__(made)
    if held or hasattr(made, "__dict__"):
        made.__dict__.clear()
        made.__dict__.update(held)
