"""Read the map of a GridWorld. Shared with the worker, so it imports no web code."""

from dataclasses import dataclass

Cell = tuple[int, int]
"""A row and a column, from the top left."""

MAX_MAP_SIDE = 20
_LEGEND = "S start, G goal, 1 to 9 goals of that reward, T trap, # wall, . floor"


@dataclass(frozen=True, slots=True)
class GridMap:
    """The cells of a GridWorld."""

    rows: tuple[str, ...]

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.rows[0])

    @property
    def start(self) -> Cell:
        """The cell where every episode starts."""
        return next(cell for cell, mark in self.marks() if mark == "S")

    def marks(self) -> list[tuple[Cell, str]]:
        """Return every cell with its mark."""
        return [
            ((row, column), mark)
            for row, line in enumerate(self.rows)
            for column, mark in enumerate(line)
        ]


def read_map(text: str) -> GridMap:
    """Read rows separated by `/`, such as `S..#/.#.T/...G`.

    Raises:
        ValueError: if it isn't a valid map, with the reason.
    """
    rows = tuple(text.replace("\n", "/").strip("/ ").split("/"))
    if not all(2 <= side <= MAX_MAP_SIDE for side in (len(rows), len(rows[0]))):
        raise ValueError(f"A map has from 2 to {MAX_MAP_SIDE} rows and columns.")
    if len({len(row) for row in rows}) > 1:
        raise ValueError("All rows of a map must have the same length.")
    marks = "".join(rows)
    if unknown := set(marks) - set("SGT#.123456789"):
        raise ValueError(f"A map has no {sorted(unknown)[0]!r}. It has {_LEGEND}.")
    if marks.count("S") != 1:
        raise ValueError("A map has exactly one start, S.")
    if not set(marks) & set("G123456789"):
        raise ValueError("A map has at least one goal, G or 1 to 9.")
    return GridMap(rows)


def two_rooms(size: int) -> GridMap:
    """Return a square map with a wall across its middle and a door in the wall."""
    middle = size // 2
    rows = [["#" if column == middle else "." for column in range(size)] for _ in range(size)]
    rows[middle][middle] = "."
    rows[0][0], rows[-1][-1] = "S", "G"
    return GridMap(tuple("".join(row) for row in rows))
