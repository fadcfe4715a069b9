"""Draws curves against the hours of a day, as an SVG: one panel below the other."""
import math
from xml.sax.saxutils import escape

WIDTH, PANEL, LEFT, RIGHT, TOP = 900, 130, 80, 180, 34
COLORS = ("#0b62a4", "#c0392b", "#2e8b57", "#8e44ad", "#d98200", "#16a0a0", "#7f6000", "#555555")


def scale(top):
    """A round number of at least that, and not much more."""
    power = 1
    while power * 10 <= top:
        power *= 10
    while power > top and power > 1e-9:
        power /= 10
    return next(power * factor for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15) if power * factor >= top)


def label(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"


class Axis:
    """From nothing to a round number, or by powers of ten where values differ by more than one."""

    def __init__(self, values, by_powers):
        values = [value for value in values if value is not None]
        if by_powers and values and min(values) > 0:
            low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
            high = max(high, low + 1)
            self.marks = [10.0 ** power for power in range(low, high + 1)]
            self.part = lambda value: (math.log10(value) - low) / (high - low)
        else:
            highest = scale(max(values, default=0) or 1)
            self.marks = [0, highest / 2, highest]
            self.part = lambda value: value / highest


def panel(title, curves, top, hours, begins, by_powers):
    """`curves` has a list a name: pairs of an hour and a value; a value of None leaves a gap."""
    axis = Axis([value for points in curves.values() for _, value in points], by_powers)
    across = WIDTH - LEFT - RIGHT

    def place(hour, value):
        return f"{LEFT + hour / hours * across:.1f},{top + PANEL - axis.part(value) * PANEL:.1f}"

    yield f'<text x="{LEFT}" y="{top - 8}" class="title">{escape(title)}</text>'
    for mark in axis.marks:
        y = top + PANEL - (axis.part(mark) if mark else 0) * PANEL
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{LEFT + across}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label(mark)}</text>'
    for hour in range(0, hours + 1, 3 if hours > 8 else 1):
        x = LEFT + hour / hours * across
        yield f'<path class="grid" d="M{x:.1f} {top}V{top + PANEL}"/>'
        yield f'<text x="{x:.1f}" y="{top + PANEL + 14}" text-anchor="middle">{(begins + hour) % 24}:00</text>'
    for number, (name, points) in enumerate(curves.items()):
        color, parts, gap = COLORS[number % len(COLORS)], [], True
        for hour, value in points:
            if value is not None:
                parts.append(("M" if gap else "L") + place(hour, value))
            gap = value is None
        if parts:
            yield f'<path d="{"".join(parts)}" fill="none" stroke="{color}" stroke-width="1.5"/>'
        yield f'<text x="{LEFT + across + 10}" y="{top + 12 + number * 15}" fill="{color}">{escape(name)}</text>'


def picture(title, panels, hours, begins):
    """`panels` are titles, each with its curves and whether its axis goes by powers of ten."""
    height = TOP + len(panels) * (PANEL + 52)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
             "<style>text{font:11px sans-serif}.title{font-weight:bold}.grid{stroke:#ddd;fill:none}</style>",
             f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>', f'<text x="{LEFT}" y="14">{escape(title)}</text>']
    for number, (name, curves, by_powers) in enumerate(panels):
        lines += panel(name, curves, TOP + 18 + number * (PANEL + 52), hours, begins, by_powers)
    return "\n".join([*lines, "</svg>"]) + "\n"
