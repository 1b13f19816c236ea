"""Conditions on a column of the API: what is sent of them, and what a row that came is tested for."""

from __future__ import annotations

from typing import Any

from shillelagh.fields import Field
from shillelagh.filters import Filter, Operator

from sojourn_superset.request_size import Parameters
from sojourn_superset.virtual_table import AnyOf

OPERATORS = {
    Operator.NE: "ne",
    Operator.LT: "lt",
    Operator.LE: "le",
    Operator.GT: "gt",
    Operator.GE: "ge",
}


class Conditions(Filter):  # type: ignore[misc]
    """All conditions on one column, as they came.

    shillelagh's own filter classes each know some of the operators; a column with conditions of two classes
    (`x <> 'a' AND x IS NOT NULL`) would lose all of them in silence. This one class knows every operator, so
    nothing is lost.
    """

    operators = {*OPERATORS, Operator.EQ, Operator.IS_NULL, Operator.IS_NOT_NULL}  # noqa: RUF012

    def __init__(self, operations: set[tuple[Operator, Any]]) -> None:
        self.operations = operations

    @classmethod
    def build(cls, operations: set[tuple[Operator, Any]]) -> Conditions:
        """Keep the conditions."""
        return cls(operations)

    def check(self, value: Any) -> bool:
        """Return whether a value meets the conditions, by the rules of SQL (null compares to nothing)."""
        for operator, bound in self.operations:
            if operator is Operator.IS_NULL:
                met = value is None
            elif operator is Operator.IS_NOT_NULL:
                met = value is not None
            elif value is None or bound is None:
                met = False
            else:
                met = _compare(operator, value, bound)
            if not met:
                return False
        return True

    @property
    def equal(self) -> frozenset[Any] | None:
        """The values of which the column must have one, or None if no condition lists any."""
        listed = [
            value if isinstance(value, AnyOf) else AnyOf({value})
            for operator, value in self.operations
            if operator is Operator.EQ
        ]
        return frozenset.intersection(*listed) if listed else None

    @property
    def impossible(self) -> bool:
        """Whether no value at all can meet them, so that the API need not be asked."""
        equal = self.equal
        null = any(operator is Operator.IS_NULL for operator, _ in self.operations)
        comparisons = [value for operator, value in self.operations if operator in {*OPERATORS, Operator.EQ}]
        none_left = equal is not None and not equal
        return none_left or any(value is None for value in comparisons) or (null and bool(comparisons))

    def parameters(self, column: str, field: Field[Any, Any]) -> tuple[Parameters, Parameters, bool]:
        """Return the query parameters, those that list the values of the column, and whether they say all of it.

        A parameter given twice means "any of" to the API; SQL means both. So each other one is sent once, and what
        could not be sent (a second `<>`, a fraction for an integer column) is left to `check`.
        """
        sent: dict[str, str] = {}
        listed, complete = self.listed(column, field)
        for operator, value in sorted(self.operations, key=repr):
            text: str | None
            if operator is Operator.EQ:
                continue
            if operator is Operator.IS_NULL:
                name, text = f"{column}__null", "true"
            elif operator is Operator.IS_NOT_NULL:
                name, text = f"{column}__null", "false"
            else:
                name, text = f"{column}__{OPERATORS[operator]}", field.quote(value)
            if text is None or sent.setdefault(name, text) != text:
                complete = False
        return list(sent.items()), listed, complete

    def listed(self, column: str, field: Field[Any, Any]) -> tuple[Parameters, bool]:
        """Return the parameters that list the values of the column, and whether they have all of them; or none."""
        texts = sorted({field.quote(value) for value in self.equal or ()}, key=repr)
        return ([], False) if None in texts else ([(f"{column}__eq", text) for text in texts], True)


class Equality(Conditions):
    """Conditions on a boolean: SQLite would also compare it with 2, which the API has no word for."""

    operators = {Operator.EQ, Operator.IS_NULL, Operator.IS_NOT_NULL}  # noqa: RUF012


def _compare(operator: Operator, value: Any, bound: Any) -> bool:
    match operator:
        case Operator.EQ:
            return value in bound if isinstance(bound, AnyOf) else bool(value == bound)
        case Operator.NE:
            return bool(value != bound)
        case _:
            return _in_order(operator, _ranked(value), _ranked(bound))


def _ranked(value: Any) -> tuple[int, Any]:
    """Return what sorts values of all types as SQLite does: numbers before texts before blobs."""
    return (1 if isinstance(value, str) else 2 if isinstance(value, bytes) else 0), value


def _in_order(operator: Operator, value: tuple[int, Any], bound: tuple[int, Any]) -> bool:
    match operator:
        case Operator.LT:
            return bool(value < bound)
        case Operator.LE:
            return bool(value <= bound)
        case Operator.GT:
            return bool(value > bound)
        case Operator.GE:
            return bool(value >= bound)
        case _:
            raise ValueError(f"{operator} is not an operator that is pushed down")
