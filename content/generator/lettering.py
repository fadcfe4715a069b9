"""Balloons, captions and sound effects: the words of a comic panel."""
from dataclasses import dataclass

from generator.canvas import INK, bezier, superellipse, text_width, wrap_evenly

SIZE = 23
LEADING = 26
CAP_SHIFT = 17  # from the top of a line to its baseline
EXPONENT = 2.9
SPREAD = 2 ** (1 / EXPONENT)  # how much larger a superellipse is than the rectangle of text inside it
PAPER = "#fffdf6"


@dataclass
class Balloon:
    speaker_x: float
    lines: list
    kind: str  # say, shout, radio
    width: float
    height: float
    x: float = 0
    y: float = 0

    @property
    def bottom(self):
        return self.y + self.height / 2

    def overlaps(self, other):
        return (abs(self.x - other.x) < (self.width + other.width) / 2 + 6
                and abs(self.y - other.y) < (self.height + other.height) / 2 + 5)


def arrange(speeches, width, top):
    """Places balloons below `top`, in reading order, each as near above its speaker as the order allows.

    A balloon to the left of an earlier one goes below it, or it would be read first.
    `speeches` holds (speaker x, text) pairs; text that begins with `!` is shouted, with `~` comes by radio.
    """
    placed = []
    for speaker_x, text in speeches:
        kind = {"!": "shout", "~": "radio"}.get(text[0], "say")
        text = text.lstrip("!~").upper()
        together = len(speeches) > 1 and width > 430
        limit = min(330, width * (0.44 if together else 0.64))
        lines = wrap_evenly(text, "lettering", SIZE, limit)
        inner = max([48] + [text_width(line, "lettering", SIZE) for line in lines])
        if kind == "radio":
            size = (inner + 34, len(lines) * LEADING + 24)
        else:
            slack = 1.0 if len(lines) > 2 else 1.06
            size = (inner * SPREAD * slack + 8, (len(lines) * LEADING) * SPREAD + 12)
        balloon = Balloon(speaker_x, lines, kind, *size)
        half = balloon.width / 2 + 16
        balloon.x = min(max(speaker_x, half), max(half, width - half))
        lowest = max([top] + [other.y - other.height / 2 + 14 if balloon.x > other.x else other.bottom - 6
                             for other in placed])
        balloon.y = lowest + balloon.height / 2
        while any(balloon.overlaps(other) for other in placed):
            balloon.y += 4
        placed.append(balloon)
    return placed


def draw_balloon(canvas, balloon, head):
    """The tail leads from the balloon toward `head`, which may be outside the panel, and stops short of it."""
    fill = "#d6f4ef" if balloon.kind == "radio" else PAPER
    root_x = min(max(head[0], balloon.x - balloon.width * 0.28), balloon.x + balloon.width * 0.28)
    root = (root_x, balloon.y + balloon.height * 0.30)
    reach = 0.88
    tip = (root[0] + (head[0] - root[0]) * reach, root[1] + (head[1] - root[1]) * reach)
    tip = (tip[0], min(max(tip[1], balloon.bottom + 12), balloon.bottom + 110))
    if balloon.kind == "radio":
        middle = ((root[0] + tip[0]) / 2, (balloon.bottom + tip[1]) / 2)
        tail = [(root[0] - 12, root[1]), (middle[0] - 10, middle[1] - 2), (middle[0] + 3, middle[1] - 4), tip,
                (middle[0] + 10, middle[1] + 4), (middle[0] - 1, middle[1] + 5), (root[0] + 12, root[1])]
    else:
        bend = (root[0] + (tip[0] - root[0]) * 0.15, tip[1] - (tip[1] - root[1]) * 0.35)
        tail = (bezier((root[0] - 11, root[1]), (bend[0] - 7, bend[1]), tip)
                + bezier(tip, (bend[0] + 7, bend[1]), (root[0] + 11, root[1])))
    shape = _outline(balloon)
    canvas.polygon(tail, fill, INK, 3)
    canvas.polygon(shape, fill, INK, 3)
    canvas.polygon(tail, fill)
    first = balloon.y - len(balloon.lines) * LEADING / 2 + CAP_SHIFT + 1
    for index, line in enumerate(balloon.lines):
        canvas.text(balloon.x, first + index * LEADING, line, "lettering", SIZE, INK, anchor="ms")


def _outline(balloon):
    half_width, half_height = balloon.width / 2, balloon.height / 2
    if balloon.kind == "radio":
        return [(balloon.x + dx * half_width + cx, balloon.y + dy * half_height + cy)
                for dx, dy, cx, cy in ((-1, -1, 10, 0), (1, -1, -10, 0), (1, -1, 0, 10), (1, 1, 0, -10),
                                       (1, 1, -10, 0), (-1, 1, 10, 0), (-1, 1, 0, -10), (-1, -1, 0, 10))]
    if balloon.kind == "shout":
        round_shape = superellipse(balloon.x, balloon.y, half_width, half_height, EXPONENT, 40)
        return [(balloon.x + (x - balloon.x) * (1.02 + 0.13 * (index % 2)),
                 balloon.y + (y - balloon.y) * (1.02 + 0.24 * (index % 2)))
                for index, (x, y) in enumerate(round_shape)]
    return superellipse(balloon.x, balloon.y, half_width, half_height, EXPONENT)


def draw_caption(canvas, text, colour):
    """A narrator's box across a corner of the panel; returns where it ends."""
    lines = wrap_evenly(text, "lettering italic", SIZE, min(canvas.width - 100, 620))
    width = max(text_width(line, "lettering italic", SIZE) for line in lines) + 28
    height = len(lines) * LEADING + 16
    left, top = 24, 12
    canvas.box(left, top, left + width, top + height, colour, INK, 3)
    for index, line in enumerate(lines):
        canvas.text(left + 14, top + 8 + CAP_SHIFT + 2 + index * LEADING, line, "lettering italic", SIZE, INK)
    return top + height
