"""The value of an expression, given its variables. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from k8s_bridge.core.cel.errors import CelError
from k8s_bridge.core.cel.functions import FUNCTIONS, METHODS
from k8s_bridge.core.cel.tree import (
    Call,
    Entry,
    Index,
    Listed,
    Literal,
    Mapped,
    Message,
    Name,
    Node,
    Select,
)
from k8s_bridge.core.cel.values import NONE, Optional, kind, some, truth

Scope = Mapping[str, Any]
_LIBRARIES = ("optional", "jsonpatch")
_MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})


def evaluate(node: Node, scope: Scope) -> Any:  # noqa: PLR0911 - one for each sort of node
    """The value. Raises CelError when there is none."""
    match node:
        case Literal(value):
            return value
        case Name(name):
            return _variable(name, scope)
        case Select(of, field, optional):
            return _field(evaluate(of, scope), field, optional=optional)
        case Index(of, key, optional):
            return _item(evaluate(of, scope), evaluate(key, scope), optional=optional)
        case Listed(items):
            return list(_items(items, scope))
        case Mapped(entries):
            return dict(_entries(entries, scope))
        case Message(_, entries):
            return dict(_entries(entries, scope))
        case Call():
            return _call(node, scope)


def _variable(name: str, scope: Scope) -> Any:
    if name not in scope:
        raise CelError(f"undeclared reference to '{name}'")
    return scope[name]


def _field(of: Any, field: str, *, optional: bool) -> Any:
    if isinstance(of, Optional):
        return _field(of.value, field, optional=True) if of.present else NONE
    if not isinstance(of, Mapping):
        raise CelError(f"no such overload: {kind(of)}.{field}")
    if field in of:
        return some(of[field]) if optional else of[field]
    if optional:
        return NONE
    raise CelError(f"no such key: {field}")


def _item(of: Any, key: Any, *, optional: bool) -> Any:
    if isinstance(of, Optional):
        return _item(of.value, key, optional=True) if of.present else NONE
    if isinstance(of, Mapping):
        return _field(of, key, optional=optional)
    if not isinstance(of, list) or not isinstance(key, int):
        raise CelError(f"no such overload: {kind(of)}[{kind(key)}]")
    if 0 <= key < len(of):
        return some(of[key]) if optional else of[key]
    if optional:
        return NONE
    raise CelError(f"index out of bounds: {key}")


def _items(items: tuple[tuple[Node, bool], ...], scope: Scope) -> Iterator[Any]:
    for node, optional in items:
        value = evaluate(node, scope)
        if not optional:
            yield value
        elif value.present:
            yield value.value


def _entries(entries: tuple[Entry, ...], scope: Scope) -> Iterator[tuple[Any, Any]]:
    for entry in entries:
        key, value = evaluate(entry.key, scope), evaluate(entry.value, scope)
        if not entry.optional:
            yield key, value
        elif value.present:
            yield key, value.value


def _call(call: Call, scope: Scope) -> Any:
    if special := _SPECIAL.get(call.name) if call.target is None else None:
        return special(call, scope)
    if call.target is None:
        return _apply(FUNCTIONS, call.name, [evaluate(a, scope) for a in call.arguments])
    if isinstance(call.target, Name) and call.target.name in _LIBRARIES and call.target.name not in scope:
        name = f"{call.target.name}.{call.name}"
        return _apply(FUNCTIONS, name, [evaluate(a, scope) for a in call.arguments])
    if call.name in _MACROS:
        return _macro(call, evaluate(call.target, scope), scope)
    if call.name == "optMap":
        return _optional_map(call, evaluate(call.target, scope), scope)
    return _apply(METHODS, call.name, [evaluate(a, scope) for a in (call.target, *call.arguments)])


def _apply(table: Mapping[str, Callable[..., Any]], name: str, values: list[Any]) -> Any:
    function = table.get(name)
    if function is None:
        raise CelError(f"undeclared reference to '{name}'")
    try:
        return function(*values)
    except (TypeError, AttributeError, ValueError, ZeroDivisionError) as error:
        given = ", ".join(map(kind, values))
        raise CelError(f"no such overload: {name}({given}): {error}") from error


def _both(call: Call, scope: Scope) -> bool:
    return _settled(call, scope, decisive=False)


def _either(call: Call, scope: Scope) -> bool:
    return _settled(call, scope, decisive=True)


def _settled(call: Call, scope: Scope, *, decisive: bool) -> bool:
    return _decided(((side, scope) for side in call.arguments), decisive=decisive)


def _decided(trials: Iterable[tuple[Node, Scope]], *, decisive: bool) -> bool:
    """Any of them may decide, even when others are errors."""
    trouble: CelError | None = None
    for node, scope in trials:
        try:
            if _holds(node, scope) is decisive:
                return decisive
        except CelError as error:
            trouble = error
    if trouble:
        raise trouble
    return not decisive


def _choice(call: Call, scope: Scope) -> Any:
    condition, yes, no = call.arguments
    return evaluate(yes if truth(evaluate(condition, scope)) else no, scope)


def _has(call: Call, scope: Scope) -> bool:
    (what,) = call.arguments
    if not isinstance(what, Select):
        raise CelError("invalid argument to has() macro")
    of = evaluate(what.of, scope)
    if isinstance(of, Optional):
        of = of.value if of.present else {}
    if not isinstance(of, Mapping):
        raise CelError(f"no such overload: has({kind(of)}.{what.field})")
    return what.field in of


_SPECIAL: Mapping[str, Callable[[Call, Scope], Any]] = {
    "&&": _both,
    "||": _either,
    "?:": _choice,
    "has": _has,
}


def _macro(call: Call, of: Any, scope: Scope) -> Any:
    if not isinstance(of, list | Mapping) or not isinstance(call.arguments[0], Name):
        raise CelError(f"no such overload: {kind(of)}.{call.name}")
    name, *bodies = call.arguments[0].name, *call.arguments[1:]
    scopes = [{**scope, name: item} for item in of]
    if call.name == "map":
        return [evaluate(bodies[-1], s) for s in scopes if all(_holds(b, s) for b in bodies[:-1])]
    if call.name == "filter":
        return [s[name] for s in scopes if _holds(bodies[0], s)]
    if call.name == "exists_one":
        return sum(_holds(bodies[0], s) for s in scopes) == 1
    return _decided(((bodies[0], s) for s in scopes), decisive=call.name == "exists")


def _holds(body: Node, scope: Scope) -> bool:
    return truth(evaluate(body, scope))


def _optional_map(call: Call, of: Any, scope: Scope) -> Any:
    name, body = call.arguments
    if not isinstance(of, Optional) or not isinstance(name, Name):
        raise CelError(f"no such overload: {kind(of)}.optMap")
    return some(evaluate(body, {**scope, name.name: of.value})) if of.present else NONE
