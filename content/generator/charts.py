"""Diagrams for the magazine."""
import math

from generator.canvas import Canvas, lighter, mix, seeded

TEXT = "#2a2a30"


def chart(kind, width, height, accent, data):
    canvas = Canvas(width, height, mix(accent, "#ffffff", 0.88))
    canvas.text(30, 52, data["title"], "sans black", 26, TEXT)
    canvas.text(30, 80, data["unit"], "sans", 18, mix(TEXT, "#ffffff", 0.25))
    KINDS[kind](canvas, accent, data)
    return canvas


def bars(canvas, accent, data):
    left, bottom, top = 50, canvas.height - 56, 136
    values = data["values"]
    step = (canvas.width - 2 * left) / len(values)
    for index, (label, value) in enumerate(values):
        height = (bottom - top) * value / max(value for _, value in values)
        x = left + step * index
        canvas.box(x + step * 0.14, bottom - height, x + step * 0.86, bottom, accent if index % 2 else mix(accent, "#ffffff", 0.3))
        canvas.text(x + step / 2, bottom - height - 9, str(value), "sans bold", 18, TEXT, "ms")
        canvas.text(x + step / 2, bottom + 28, label, "sans", 18, TEXT, "ms")
    canvas.line([(left, bottom), (canvas.width - left, bottom)], TEXT, 2)


def curve(canvas, accent, data):
    left, right, top, bottom = 62, canvas.width - 40, 120, canvas.height - 60
    values = data["values"]
    low, high = min(value for _, value in values), max(value for _, value in values)
    low, high = low - (high - low) * 0.1, high + (high - low) * 0.1
    for line in range(5):
        y = bottom - (bottom - top) * line / 4
        canvas.line([(left, y), (right, y)], mix(accent, "#ffffff", 0.6), 1.5)
        canvas.text(left - 8, y + 6, f"{low + (high - low) * line / 4:.0f}", "sans", 16, TEXT, "rs")
    corners = [(left + (right - left) * index / (len(values) - 1), bottom - (bottom - top) * (value - low) / (high - low))
               for index, (_, value) in enumerate(values)]
    points = []
    for (x1, y1), (x2, y2) in zip(corners, corners[1:]):
        for step in range(16):
            ease = (1 - math.cos(math.pi * step / 16)) / 2
            points.append((x1 + (x2 - x1) * step / 16, y1 + (y2 - y1) * ease))
    points.append(corners[-1])
    canvas.tint(points + [(right, bottom), (left, bottom)], accent, 0.3)
    canvas.line(points, accent, 5)
    for (label, _), (x, y) in zip(values, corners):
        canvas.ellipse(x, y, 6, 6, "#ffffff", accent, 3)
        canvas.text(x, bottom + 28, label, "sans", 17, TEXT, "ms")


def rose(canvas, accent, data):
    """Where the wind came from: eight values, clockwise from north."""
    x, y = canvas.width / 2, canvas.height / 2 + 34
    radius = min(canvas.width, canvas.height - 120) * 0.4
    for share in (0.33, 0.66, 1):
        canvas.ellipse(x, y, radius * share, radius * share, None, mix(accent, "#ffffff", 0.5), 1.5)
    largest = max(value for _, value in data["values"])
    for index, (label, value) in enumerate(data["values"]):
        angle, reach = math.radians(index * 45 - 90), radius * value / largest
        wedge = [(x + reach * math.cos(angle + turn), y + reach * math.sin(angle + turn)) for turn in (-0.3, -0.15, 0, 0.15, 0.3)]
        canvas.polygon([(x, y)] + wedge, accent if index % 2 == 0 else lighter(accent, 0.35), "#ffffff", 2)
        canvas.text(x + (radius + 24) * math.cos(angle), y + (radius + 24) * math.sin(angle), label, "sans bold", 18, TEXT, "mm")


def pressure(canvas, accent, data):
    """A weather map: lines of equal pressure around a high and a low."""
    chance = seeded("pressure", data["title"])
    sea, land = mix(accent, "#ffffff", 0.72), mix("#e9e0c8", accent, 0.12)
    top, bottom = 104, canvas.height - 24
    frame = [(24, top), (canvas.width - 24, top), (canvas.width - 24, bottom), (24, bottom)]
    map_canvas = Canvas(canvas.width, canvas.height, sea)
    for x, y, size in ((0.3, 0.45, 0.19), (0.62, 0.62, 0.26), (0.52, 0.3, 0.1), (0.9, 0.4, 0.14), (0.12, 0.85, 0.1)):
        phase = chance.uniform(0, 6)
        coast = [(canvas.width * x + canvas.width * size * (1 + 0.22 * math.sin(3 * angle + phase) + 0.1 * math.sin(7 * angle)) * math.cos(angle),
                  canvas.height * y + canvas.width * size * 0.8 * (1 + 0.2 * math.sin(2 * angle + phase)) * math.sin(angle))
                 for angle in [step * math.pi / 40 for step in range(80)]]
        map_canvas.polygon(coast, land, mix(accent, TEXT, 0.3), 2)
    centres = [("H", chance.uniform(0.6, 0.8), chance.uniform(0.25, 0.4), 26), ("L", chance.uniform(0.2, 0.36), chance.uniform(0.6, 0.75), -32)]

    def value(x, y):
        return 1012 + sum(size * math.exp(-((x - cx) ** 2 + ((y - cy) * 0.9) ** 2) / 0.09) for _, cx, cy, size in centres) \
            + 3 * math.sin(4 * x + 3 * y)

    steps = 64
    for level in range(980, 1044, 4):
        crossings = []
        for row in range(steps):
            for column in range(steps):
                crossings += _crossing(value, column / steps, row / steps, 1 / steps, level)
        for start, end in crossings:
            map_canvas.line([(x * canvas.width, top + y * (bottom - top)) for x, y in (start, end)], mix(accent, TEXT, 0.45),
                            3 if level % 20 == 0 else 1.8)
        if crossings and level % 8 == 4:
            x, y = crossings[len(crossings) // 3][0]
            x, y = x * canvas.width, top + y * (bottom - top)
            if 70 < x < canvas.width - 70 and top + 30 < y < bottom - 30:
                map_canvas.box(x - 25, y - 12, x + 25, y + 12, sea)
                map_canvas.text(x, y, str(level), "sans bold", 16, TEXT, "mm")
    for letter, x, y, _ in centres:
        map_canvas.text(x * canvas.width, top + y * (bottom - top), letter, "sans black", 54,
                        "#b5302a" if letter == "L" else "#23507a", "mm")
    canvas.paste(map_canvas, 0, 0, frame)
    canvas.polygon(frame, None, TEXT, 2)


def _crossing(value, x, y, size, level):
    """Where a line of equal value crosses one square: no segment or one."""
    corners = [(x, y), (x + size, y), (x + size, y + size), (x, y + size)]
    values = [value(*corner) - level for corner in corners]
    ends = []
    for index in range(4):
        first, second = values[index], values[(index + 1) % 4]
        if (first < 0) != (second < 0):
            (x1, y1), (x2, y2) = corners[index], corners[(index + 1) % 4]
            share = first / (first - second)
            ends.append((x1 + (x2 - x1) * share, y1 + (y2 - y1) * share))
    return [(ends[0], ends[1])] if len(ends) >= 2 else []


KINDS = {"bars": bars, "curve": curve, "rose": rose, "pressure": pressure}
