"""How figures of a status look to a person: lengths of time, tokens, shares.

Here: one figure at a time. Not here: where it stands (`slotd.eyes.page`).
"""

from collections.abc import Iterable

from slotd.eyes.part import Part

_BAR = "▏▎▍▌▋▊▉█"
"""From one to eight eighths of a cell."""


def duration(seconds: float | None) -> str:
    """Return a length of time in at most six characters: `0.4s`, `12s`, `2m05s`, `3h07m`, `9d`."""
    if seconds is None:
        return "-"
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 100 * 3600:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86400}d"


def tokens(count: float) -> str:
    """Return a count in at most seven characters, exact where that is short: `37,359`, `12.3M`."""
    if count < 1_000_000:
        return f"{count:,.0f}"
    for unit in ("M", "G", "T"):
        count /= 1000
        if count < 1_000_000:
            return f"{count / 1000:.1f}{unit}"
    return f"{count:.1e}"


def share(part: float, whole: float) -> str:
    """Return `part` of `whole` in per cent; `-` of nothing."""
    return f"{100 * part / whole:.0f}%" if whole else "-"


def bar(value: float, cells: int) -> str:
    """Return a bar as long as `value` (0 to 1) of `cells` characters."""
    eighths = round(max(0.0, min(1.0, value)) * cells * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_BAR[rest - 1] if rest else "")


def counted(counts: Part, most: int = 5) -> str:
    """Return the largest of some counts by name: `continue 12, least_loss 3`; `none` of nothing."""
    ranked = sorted(counts.numbers(), key=lambda entry: (-entry[1], entry[0]))
    shown = [f"{name} {count:.0f}" for name, count in ranked if count][:most]
    return ", ".join(shown) or "none"


def quantile(buckets: Iterable[tuple[str, float]], at: float) -> str:
    """Return the bound that a share `at` of what a histogram counted stays below: `<0.5ms`.

    `buckets` are cumulative counts by upper bound in seconds, ascending, `+Inf` last.
    """
    ascending = list(buckets)
    total = ascending[-1][1] if ascending else 0.0
    if not total:
        return "-"
    finite = "0"
    for bound, count in ascending:
        if bound == "+Inf":
            break
        if count >= at * total:
            return f"<{_milliseconds(bound)}"
        finite = bound
    return f">{_milliseconds(finite)}"


def _milliseconds(bound: str) -> str:
    return f"{float(bound) * 1000:g}ms"
