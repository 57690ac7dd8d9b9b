"""A status object taken apart, whatever version of slotd wrote it.

Here: reading fields that may be absent or of another kind. Not here: what they mean.
"""

from collections.abc import Iterator, Mapping

from attrs import frozen


@frozen
class Part:
    """A JSON object of a status; what is not there, or is something else, counts as nothing."""

    fields: Mapping[str, object]

    def part(self, name: str) -> "Part":
        """Return the object called `name`; one without fields when there is none."""
        found = self.fields.get(name)
        return Part(found if isinstance(found, dict) else {})

    def parts(self, name: str) -> list["Part"]:
        """Return the objects in the list called `name`."""
        found = self.fields.get(name)
        items = found if isinstance(found, list) else []
        return [Part(item) for item in items if isinstance(item, dict)]

    def text(self, name: str, otherwise: str = "-") -> str:
        """Return the text called `name`; a number as a person writes it."""
        found = self.fields.get(name)
        if isinstance(found, bool):
            return "yes" if found else "no"
        if isinstance(found, float):
            return f"{found:g}"
        return str(found) if isinstance(found, str | int) else otherwise

    def number(self, name: str) -> float | None:
        """Return the number called `name`."""
        found = self.fields.get(name)
        if isinstance(found, bool) or not isinstance(found, int | float):
            return None
        return float(found)

    def whole(self, name: str) -> int:
        """Return the whole number called `name`, 0 when there is none."""
        number = self.number(name)
        return int(number) if number is not None else 0

    def is_set(self, name: str) -> bool:
        """Return whether the flag called `name` is there and true."""
        return self.fields.get(name) is True

    def numbers(self) -> Iterator[tuple[str, float]]:
        """Yield every field that is a number, by name."""
        for name in self.fields:
            number = self.number(name)
            if number is not None:
                yield name, number
