"""Numbers as experts read them: three significant digits, a unit, and nothing that was not measured.

Every function takes what a record holds and returns text; `nan`, `inf` and `-inf` keep their names.
"""

from __future__ import annotations

import math

from kgrade.records.evidence import Case, Number, Samples, Speedup, ToleranceUsed
from kgrade.records.task import Tolerance

NOTHING = "—"
_TIMES = ((1.0, "ns", 1e3), (1e3, "us", 1.0), (1e6, "ms", 1e-3), (math.inf, "s", 1e-6))


def significant(value: Number, digits: int = 3) -> str:
    """Return `value` with `digits` significant digits, as `0.0123`, `48.6`, `12,300` or `2.34e-5`."""
    number = float(value)
    if not math.isfinite(number):
        return str(number)
    if number == 0:
        return "0"
    exponent = math.floor(math.log10(abs(number)))
    rounded = round(number, digits - 1 - exponent)
    exponent = math.floor(math.log10(abs(rounded))) if rounded else exponent
    if -3 <= exponent < 6:
        return f"{rounded:,.{max(0, digits - 1 - exponent)}f}"
    return _short_exponent(f"{number:.{digits - 1}e}")


def error(value: Number) -> str:
    """Return an error figure with two digits, as a power of ten outside 0.1 to 1000: `2.3e-4`, `0.35`, `12`."""
    number = float(value)
    if not math.isfinite(number) or 0.1 <= abs(number) < 999.5 or number == 0:
        return significant(number, 2)
    return _short_exponent(f"{number:.1e}")


def ulp(value: Number) -> str:
    """Return an error in units in the last place: whole from 10 on, `1.2e6` from a million."""
    number = float(value)
    if not math.isfinite(number) or number == 0:
        return significant(number)
    if abs(number) >= 1e6:
        return error(number)
    return f"{number:,.0f}" if abs(number) >= 10 else f"{number:.1f}"


def exact(value: Number) -> str:
    """Return an element's value with nine digits, enough to tell one float32 from the next."""
    return value if isinstance(value, str) else f"{value:.9g}"


def duration(us: float) -> str:
    """Return microseconds in the unit that suits them: `812 ns`, `12.3 us`, `1.20 ms`, `3.45 s`."""
    unit, factor = _unit(us)
    return f"{significant(us * factor)} {unit}"


def median_interval(samples: Samples) -> str:
    """Return a median with its 95 % interval in one unit, `12.3 [12.1, 12.6] us`, or say that n cannot carry one."""
    unit, factor = _unit(samples.median_us)
    middle = significant(samples.median_us * factor)
    if samples.interval_us is None:
        return f"{middle} {unit}, no interval"
    low, high = (_places(end * factor, samples.median_us * factor) for end in samples.interval_us)
    return f"{middle} [{low}, {high}] {unit}"


def median(samples: Samples) -> str:
    """Return a median with half the width of its 95 % interval; the wider side counts: `12.3 ± 0.2 us`."""
    unit, factor = _unit(samples.median_us)
    middle = significant(samples.median_us * factor)
    if samples.interval_us is None:
        return f"{middle} {unit}"
    low, high = samples.interval_us
    side = max(high - samples.median_us, samples.median_us - low, 0.0) * factor
    return f"{middle} ± {significant(side, 2)} {unit}"


def seconds(value: float) -> str:
    """Return seconds: `1.80 ms`, `410 ms`, `12.3 s`, `3 min 05 s`."""
    if value >= 100:
        return f"{int(value) // 60} min {int(value) % 60:02d} s"
    return duration(value * 1e6)


def ratio(value: float) -> str:
    """Return a speedup: `1.31x`."""
    return f"{significant(value)}x"


def speedup(entry: Speedup) -> str:
    """Return a speedup with its interval and what may be said, such as `1.02x [0.97, 1.06] no difference`."""
    if entry.interval is None:
        return f"{ratio(entry.ratio)} no interval: too few samples"
    low, high = entry.interval
    bounds = f"[{significant(low)}, {significant(high)}]"
    if entry.difference:
        return f"{ratio(entry.ratio)} {bounds} {'faster' if low >= 1 else 'slower'}"
    visible = f" (over {significant(100 * entry.visible, 2)} % would show)" if entry.visible else ""
    return f"{ratio(entry.ratio)} {bounds} {entry.verdict or 'no difference'}{visible}"


def size(count: int) -> str:
    """Return bytes in binary units: `768 B`, `48 KiB`, `1.5 MiB`."""
    amount, unit = float(count), "B"
    for bigger in ("KiB", "MiB", "GiB", "TiB"):
        if abs(amount) < 1024:
            break
        amount, unit = amount / 1024, bigger
    return f"{amount:.3g} {unit}" if amount < 1000 else f"{amount:.0f} {unit}"


def count(number: int, noun: str) -> str:
    """Return a count with its noun: `1 case`, `1,024 cases`."""
    plural = noun if number == 1 else noun + ("es" if noun.endswith(("s", "x", "sh")) else "s")
    return f"{number:,} {plural}"


def share(part: int, whole: int) -> str:
    """Return part of a whole with its percentage: `3 of 4,096 (0.073 %)`."""
    if not whole:
        return f"{part:,} of 0"
    return f"{part:,} of {whole:,} ({significant(100 * part / whole, 2)} %)"


def tolerance(row: Tolerance | ToleranceUsed) -> str:
    """Return a tolerance as the rule it is: `|got-ref| <= 2e-6 + 2e-3*|ref|, or 2 ulp`."""
    if not row.atol and not row.rtol and not row.ulp:
        return "exactly equal"
    rule = f"|got-ref| <= {_plain(row.atol)} + {_plain(row.rtol)}*|ref|"
    return rule if row.ulp is None else f"{rule}, or {_plain(row.ulp)} ulp"


def case_name(case: Case) -> str:
    """Return the case as a table names it: symbols, short dtype, family and layout when they say something."""
    parts = [f"{key}={value}" for key, value in case.symbols.items()]
    parts.append(dtype(case.dtype))
    if case.family != "normal":
        parts.append(case.family)
    if case.layout != "contiguous":
        parts.append(case.layout)
    return " ".join(parts)


def dtype(name: str) -> str:
    """Return the dtype's usual short name: `f32`, `bf16`, `e4m3fn`, `i32`."""
    for long, short in (("bfloat", "bf"), ("float8_", ""), ("float", "f"), ("uint", "u"), ("int", "i")):
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name


def _unit(us: float) -> tuple[str, float]:
    return next((unit, factor) for below, unit, factor in _TIMES if abs(us) < below)


def _places(value: float, beside: float) -> str:
    """Return `value` with as many decimals as three digits of `beside` need, so that both ends line up."""
    exponent = math.floor(math.log10(abs(beside))) if beside else 0
    return f"{value:,.{max(0, 2 - exponent)}f}"


def _plain(value: float) -> str:
    return _short_exponent(f"{value:g}")


def _short_exponent(text: str) -> str:
    mantissa, sign, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if sign else text
