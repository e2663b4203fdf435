"""What a measure gives: a small typed record that prints as a table, draws itself, and goes to JSON and back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "kind"


class Table(NamedTuple):
    """Rows under titles, all text; numbers stand to the right.

    >>> print(Table(("layer", "dead"), [("1", "0"), ("hidden", "12")]))
    layer   dead
    1          0
    hidden    12
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""

    def __str__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.columns))]
        text = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines]
        return "\n".join([*text, self.note] if self.note else text)


@dataclass(frozen=True)
class Result:
    """Plain numbers, words and tuples of them; subclasses are frozen data classes.

    A value that is undefined is None, never NaN, which JSON does not have.

    >>> Result.from_json(Nothing("activity", "there are no capsules").to_json())
    Nothing(measure='activity', why='there are no capsules')
    """

    kinds: ClassVar[dict[str, type["Result"]]] = {}

    def __init_subclass__(cls) -> None:
        Result.kinds[cls.__name__] = cls

    def table(self) -> Table:
        """The figures, for people."""
        raise TypeError(f"{type(self).__name__} must define table()")

    @property
    def panels(self) -> int:
        """How many axes it takes to draw everything."""
        return 1

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """Draw one panel on axes of matplotlib; `figure` lays out all of them."""
        raise TypeError(f"{type(self).__name__} must define draw(axes, panel)")

    def __str__(self) -> str:
        return str(self.table())

    def to_json(self) -> dict[str, Any]:
        """Plain data that names its own kind."""
        from pydantic import TypeAdapter

        fields: dict[str, Any] = TypeAdapter(type(self)).dump_python(self, mode="json")
        return {KIND: type(self).__name__, **fields}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Result":
        """The result that `to_json` stored, of whatever kind."""
        from pydantic import TypeAdapter

        kind = stored.get(KIND)
        if kind not in Result.kinds:
            raise ValueError(f"{KIND}={kind!r} is not a result: choose one of {', '.join(sorted(Result.kinds))}")
        fields = {name: value for name, value in stored.items() if name != KIND}
        found: Result = TypeAdapter(Result.kinds[kind]).validate_python(fields)
        return found


@dataclass(frozen=True)
class Nothing(Result):
    """There is nothing to measure, and why."""

    measure: str
    why: str

    def table(self) -> Table:
        """The reason."""
        return Table((self.measure,), [(f"nothing to measure: {self.why}",)])

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """The reason, where a picture would be."""
        axes.set_axis_off()
        said = f"{self.measure}: nothing to measure\n{self.why}"
        axes.text(0.5, 0.5, said, ha="center", va="center", wrap=True, transform=axes.transAxes)


def number(value: float | int | None, digits: int = 2) -> str:
    """A number for a table, a dash where there is none.

    >>> number(0.3), number(None)
    ('0.30', '–')
    """
    return "–" if value is None else f"{value:.{digits}f}"
