"""The kinds of value an option can have: how each is read from text and from a TOML value.

Here: one small class a kind, and the one-line refusal of a value that is not of it. Not here: which
options there are (`slotd.config.options`) and where their values come from.
"""

from typing import Generic, Protocol, TypeVar

from attrs import frozen

from slotd.policy.settings import SettingError, check_number, parse_number

Value = float | bool | str | None
ValueType = TypeVar("ValueType", bound=Value, covariant=True)
Word = TypeVar("Word", bound=str)


class Kind(Protocol[ValueType]):
    """A kind of value.

    `name` is what the person wrote: the key in the file or the environment variable. Both readers
    raise SettingError with one line that begins with it and says what is allowed.
    """

    def from_text(self, name: str, text: str) -> ValueType:
        """Read what the environment or the command line gives."""

    def from_file(self, name: str, value: object) -> ValueType:
        """Read what a TOML document gives, already a Python value."""


def refused(name: str, value: object, allowed: str) -> SettingError:
    """Return the refusal of `value`, in the words the policy's own refusals have."""
    return SettingError(f"{name} is {value!r}: give {allowed}")


@frozen
class Number:
    """A finite number of 0 or more; `slotd.policy.settings` knows which ones are shares."""

    def from_text(self, name: str, text: str) -> float:
        """Read a decimal number."""
        return parse_number(name, text)

    def from_file(self, name: str, value: object) -> float:
        """Accept a TOML integer or float; a quoted number is text, as TOML has it."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise refused(name, value, "a number, without quotes")
        try:
            number = float(value)
        except OverflowError:  # an integer beyond every float
            number = float("inf")
        return check_number(name, number, shown=repr(value))


@frozen
class TokenId:
    """The id of a token, as the engine numbers them."""

    def from_text(self, name: str, text: str) -> int | None:
        """Read a decimal number."""
        number = int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else text
        return self.from_file(name, number)

    def from_file(self, name: str, value: object) -> int | None:
        """Accept a TOML integer."""
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
            raise refused(name, value, "a token's id, a whole number, without quotes")
        return value


@frozen
class Choice(Generic[Word]):
    """One of a few words."""

    words: tuple[Word, ...]

    def from_text(self, name: str, text: str) -> Word:
        """Accept one of the words, spelled exactly so."""
        return self.from_file(name, text)

    def from_file(self, name: str, value: object) -> Word:
        """Accept one of the words, spelled exactly so."""
        for word in self.words:
            if word == value:
                return word
        raise refused(name, value, "one of " + ", ".join(self.words))


_FLAG_WORDS = {"true": True, "yes": True, "on": True, "1": True}
_FLAG_WORDS |= {"false": False, "no": False, "off": False, "0": False}


@frozen
class Flag:
    """Yes or no."""

    def from_text(self, name: str, text: str) -> bool:
        """Accept true/false, yes/no, on/off and 1/0, in any case."""
        flag = _FLAG_WORDS.get(text.strip().lower())
        if flag is None:
            raise refused(name, text, "true or false")
        return flag

    def from_file(self, name: str, value: object) -> bool:
        """Accept a TOML boolean."""
        if not isinstance(value, bool):
            raise refused(name, value, "true or false, without quotes")
        return value


@frozen
class Path:
    """A path, as text: what a relative one is relative to is for whoever uses it."""

    what: str
    """What the path is of, for the refusal."""

    def from_text(self, name: str, text: str) -> str | None:
        """Accept any text an operating system takes as a path."""
        return self.from_file(name, text)

    def from_file(self, name: str, value: object) -> str | None:
        """Accept any text an operating system takes as a path."""
        if not isinstance(value, str) or not value or "\0" in value:
            raise refused(name, value, f"the path of {self.what}")
        return value
