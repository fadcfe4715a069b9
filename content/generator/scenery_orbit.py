"""Backgrounds of Kestrel Station: a lighthouse on a rock above a planet, and the dust around it."""
import math

from generator.canvas import INK, bezier, darker, lighter, mix, superellipse

LIGHTS = {
    "night": ("#14203f", "#2c4a7c", "#e8b04a"),
    "dust": ("#5a3148", "#c4734a", "#f2c879"),
    "alarm": ("#4a1730", "#a02f3e", "#ffb45e"),
    "dawn": ("#274a78", "#f0a06a", "#ffe3a0"),
    "dark": ("#0a0d1c", "#1b2340", "#6d7aa0"),
}


def _stars(canvas, chance, count, bottom=1.0):
    for _ in range(count):
        x, y = chance.random() * canvas.width, chance.random() * canvas.height * bottom
        radius = chance.choice((1, 1.3, 1.3, 2.4))
        canvas.ellipse(x, y, radius, radius, "#f4edd8")


def _planet(canvas, x, y, radius, colour):
    canvas.ellipse(x, y, radius, radius, colour)
    for share, tone in ((0.35, -0.25), (0.08, 0.2), (-0.25, -0.18), (-0.5, 0.25)):
        half = radius * math.sqrt(1 - share * share)
        band = darker(colour, 0.16) if tone < 0 else lighter(colour, 0.16)
        canvas.polygon(superellipse(x, y + share * radius, half * 0.985, radius * 0.07), band)
    shade = [(px, py) for px, py in superellipse(x, y, radius, radius)]
    cut = bezier((x + radius * 0.1, y - radius), (x + radius * 0.75, y), (x + radius * 0.1, y + radius))
    right = [point for point in shade if point[0] >= x + radius * 0.1]
    right.sort(key=lambda point: point[1], reverse=True)
    canvas.tint(cut + right, "#0a0d1c", 0.4)
    canvas.ellipse(x, y, radius, radius, None, INK, 3)


def space(canvas, light, chance, detail):
    low, high, _ = light
    canvas.gradient([low, mix(low, high, 0.7)])
    _stars(canvas, chance, 46)
    _planet(canvas, canvas.width * 0.86, canvas.height * 0.86, canvas.width * 0.3, mix("#b85c4a", high, 0.25))


def _tower(canvas, x, ground, height, lit, glow):
    unit = height / 100
    if lit:
        for spread, share in ((26, 0.22), (15, 0.28), (7, 0.4)):
            canvas.tint([(x, ground - 86 * unit), (x - canvas.width, ground - (100 + spread) * unit),
                         (x - canvas.width, ground - (100 - spread * 0.4) * unit)], glow, share)
            canvas.tint([(x, ground - 86 * unit), (x + canvas.width, ground - (92 + spread * 1.3) * unit),
                         (x + canvas.width, ground - (92 - spread * 1.3) * unit)], glow, share)
    stripes = [(0, 14), (14, 28), (28, 42), (42, 56), (56, 70)]
    for index, (low, high) in enumerate(stripes):
        wide, narrow = 15 - low * 0.09, 15 - high * 0.09
        canvas.polygon([(x - wide * unit, ground - low * unit), (x + wide * unit, ground - low * unit),
                        (x + narrow * unit, ground - high * unit), (x - narrow * unit, ground - high * unit)],
                       "#c8483d" if index % 2 == 0 else "#eadfc8", INK, max(1.5, 0.9 * unit))
    canvas.tint([(x + 3 * unit, ground), (x + 15 * unit, ground), (x + 9 * unit, ground - 70 * unit),
                 (x + 2 * unit, ground - 70 * unit)], "#14102a", 0.3)
    canvas.box(x - 14 * unit, ground - 75 * unit, x + 14 * unit, ground - 70 * unit, "#6a6878", INK, max(1.5, unit))
    canvas.box(x - 9 * unit, ground - 93 * unit, x + 9 * unit, ground - 75 * unit,
               "#ffeaa6" if lit else "#2d3450", INK, max(1.5, unit))
    canvas.line([(x, ground - 93 * unit), (x, ground - 75 * unit)], INK, max(1.2, 0.7 * unit))
    canvas.polygon([(x - 12 * unit, ground - 93 * unit), (x, ground - 106 * unit), (x + 12 * unit, ground - 93 * unit)],
                   "#6a6878", INK, max(1.5, unit))
    canvas.box(x - 3.5 * unit, ground - 12 * unit, x + 3.5 * unit, ground, "#3a3446", INK, max(1.2, 0.8 * unit), 3 * unit)
    if lit:
        canvas.glow(x, ground - 84 * unit, 30 * unit, glow, 0.5)


def station(canvas, light, chance, detail):
    low, high, glow = light
    width, height = canvas.width, canvas.height
    canvas.gradient([low, high])
    _stars(canvas, chance, 50, 0.8)
    _planet(canvas, width * 0.14, height * 0.98, min(width, height) * 0.42, mix("#b85c4a", low, 0.2))
    ground = height * 0.8
    _tower(canvas, width * 0.58, ground + 4, height * (0.44 if height > 1.2 * width else 0.62), detail != "dark", glow)
    rock = [(width * 0.2, ground + 40)]
    for step in range(13):
        rock.append((width * (0.24 + step * 0.058), ground + chance.uniform(-9, 8) + abs(step - 6) ** 2 * 1.5))
    rock += [(width * 0.97, ground + 60), (width * 0.74, height * 1.02), (width * 0.42, height * 1.02)]
    canvas.polygon(rock, darker(mix("#7b6a86", high, 0.25), 0.1), INK, 4)
    shade = [(x, y + 14) for x, y in rock[1:14]] + [(width * 0.74, height * 1.02), (width * 0.42, height * 1.02)]
    canvas.polygon(shade, darker(mix("#7b6a86", low, 0.4), 0.35))
    for _ in range(5):
        canvas.ellipse(width * chance.uniform(0.4, 0.8), ground + chance.uniform(45, 90), 13, 5,
                       darker(mix("#7b6a86", low, 0.4), 0.55))


def _window_wall(canvas, light, chance, columns):
    low, high, _ = light
    canvas.gradient([mix(low, "#000018", 0.25), high])
    _stars(canvas, chance, 36)
    frame = mix("#59627c", high, 0.2)
    for column in range(columns + 1):
        x = canvas.width * column / columns
        canvas.box(x - 9, -10, x + 9, canvas.height, frame, INK, 3)
    canvas.box(-10, canvas.height * 0.74, canvas.width + 10, canvas.height + 10, darker(frame, 0.25), INK, 3)
    canvas.box(-10, canvas.height * 0.70, canvas.width + 10, canvas.height * 0.75, lighter(frame, 0.1), INK, 3)
    for index in range(int(canvas.width / 60)):
        canvas.ellipse(30 + index * 60, canvas.height * 0.725, 3.5, 3.5, darker(frame, 0.5))


def lamp(canvas, light, chance, detail):
    _window_wall(canvas, light, chance, 4)
    x, y = canvas.width * 0.5, canvas.height * 0.46
    size = min(canvas.width, canvas.height) * 0.36
    lit = detail != "dark"
    if lit:
        canvas.glow(x, y, size * 1.9, light[2], 0.55)
    canvas.polygon([(x - size * 0.5, canvas.height * 0.75), (x + size * 0.5, canvas.height * 0.75),
                    (x + size * 0.3, y + size * 0.8), (x - size * 0.3, y + size * 0.8)], "#5a5568", INK, 3)
    for ring in range(5):
        share = 1 - ring * 0.19
        tone = mix("#8fd0d8", "#fff3b8", ring / 4) if lit else mix("#3a5068", "#22304a", ring / 4)
        canvas.ellipse(x, y, size * 0.72 * share, size * share, tone, INK, 3)
    canvas.arc(x - size * 0.1, y, size * 0.4, size * 0.7, 160, 235, "#ffffff" if lit else "#7d90a8", 5)


def control(canvas, light, chance, detail):
    low, high, glow = light
    wall = mix("#4b5a78", high, 0.35)
    canvas.gradient([darker(wall, 0.35), wall])
    width, height = canvas.width, canvas.height
    canvas.box(width * 0.3, height * 0.1, width * 0.7, height * 0.52, mix(low, "#000010", 0.2), INK, 5, 26)
    for _ in range(14):
        canvas.ellipse(width * chance.uniform(0.33, 0.67), height * chance.uniform(0.14, 0.48), 1.6, 1.6, "#f4edd8")
    for left, right in ((0.03, 0.25), (0.75, 0.97)):
        canvas.box(width * left, height * 0.18, width * right, height * 0.46, "#123c3e", INK, 4, 8)
        points = [(width * (left + (right - left) * step / 12),
                   height * 0.32 + math.sin(step * 1.4 + left * 9) * height * chance.uniform(0.02, 0.1))
                  for step in range(1, 12)]
        canvas.line(points, glow, 3)
    canvas.polygon([(-10, height * 0.72), (width + 10, height * 0.72), (width + 10, height), (-10, height)],
                   darker(wall, 0.5), INK, 4)
    canvas.polygon([(-10, height * 0.66), (width + 10, height * 0.66), (width + 10, height * 0.73), (-10, height * 0.73)],
                   lighter(wall, 0.1), INK, 3)
    for index in range(int(width / 34)):
        colour = chance.choice((glow, "#e25d4e", "#62c7b9", "#d9d2c0"))
        canvas.ellipse(20 + index * 34, height * 0.695, 6, 6, colour, INK, 2)


def stairs(canvas, light, chance, detail):
    low, high, glow = light
    wall = mix("#6a6480", high, 0.3)
    canvas.gradient([darker(wall, 0.5), wall])
    width, height = canvas.width, canvas.height
    for row in range(9):
        for column in range(-1, int(width / 90) + 1):
            x, y = column * 90 + (row % 2) * 45, row * height / 9
            canvas.box(x, y, x + 90, y + height / 9, None, darker(wall, 0.3), 2)
    canvas.ellipse(width * 0.78, height * 0.3, 42, 50, mix(low, "#000010", 0.2), INK, 6)
    for _ in range(5):
        canvas.ellipse(width * 0.78 + chance.uniform(-25, 25), height * 0.3 + chance.uniform(-30, 30), 2, 2, "#f4edd8")
    steps = 8
    for step in range(steps):
        left, top = width * step / steps, height * (1.0 - 0.085 * step)
        canvas.box(left - 6, top, width + 10, top + height * 0.09, darker(wall, 0.25 + 0.02 * step), INK, 3)
        canvas.box(left - 6, top, width + 10, top + 9, lighter(wall, 0.15), INK, 2)


def _dust_bands(canvas, light, chance, thickness=1.0):
    low, high, glow = light
    canvas.gradient([low, high])
    for band in range(9):
        y = canvas.height * (band + 0.5) / 9
        tone = mix(high, glow, chance.uniform(0.1, 0.7)) if band % 2 else mix(low, high, chance.uniform(0.2, 0.7))
        rise, depth = chance.uniform(-40, 40), chance.uniform(18, 46) * thickness
        top = bezier((-20, y), (canvas.width * 0.5, y + rise * 2), (canvas.width + 20, y - rise))
        bottom = bezier((canvas.width + 20, y - rise + depth * 0.4), (canvas.width * 0.5, y + rise * 2 + depth * 1.6),
                        (-20, y + depth * 0.5))
        canvas.polygon(top + bottom, tone)
    for _ in range(18):
        canvas.ellipse(chance.random() * canvas.width, chance.random() * canvas.height, chance.uniform(2, 6),
                       chance.uniform(1.5, 4), mix(low, INK, 0.4))


def dust(canvas, light, chance, detail):
    _dust_bands(canvas, light, chance)
    for _ in range(4):
        x, y, size = chance.random() * canvas.width, canvas.height * chance.uniform(0.55, 0.98), chance.uniform(18, 46)
        rock = [(x + math.cos(a) * size * chance.uniform(0.8, 1.2), y + math.sin(a) * size * 0.7 * chance.uniform(0.8, 1.2))
                for a in [index * 0.7 for index in range(9)]]
        canvas.polygon(rock, mix(light[0], "#7b6a86", 0.35), INK, 3)


def _boat(canvas, x, y, size, lit=True):
    if lit:
        canvas.tint([(x + size * 0.9, y), (x + size * 20, y - size * 4), (x + size * 20, y + size * 4.5)], "#fff0b0", 0.35)
    canvas.polygon([(x - size, y - size * 0.1), (x - size * 1.35, y - size * 0.4), (x - size * 1.35, y + size * 0.4)],
                   "#ffb347", INK, 3)
    canvas.polygon(bezier((x - size, y - size * 0.3), (x + size * 0.5, y - size * 0.35), (x + size, y)) +
                   bezier((x + size, y), (x + size * 0.4, y + size * 0.5), (x - size, y + size * 0.35)),
                   "#4f9aa0", INK, 3)
    canvas.polygon(bezier((x - size * 0.35, y - size * 0.3), (x + size * 0.1, y - size * 0.85), (x + size * 0.5, y - size * 0.22)),
                   "#bfeaf0", INK, 3)
    canvas.ellipse(x - size * 0.5, y + size * 0.08, size * 0.12, size * 0.12, "#f08a3c", INK, 2)


def skiff(canvas, light, chance, detail):
    _dust_bands(canvas, light, chance)
    _boat(canvas, canvas.width * 0.36, canvas.height * 0.66, min(canvas.width, canvas.height) * 0.17)


def cockpit(canvas, light, chance, detail):
    _dust_bands(canvas, light, chance, 0.7)
    metal = mix("#59627c", light[1], 0.25)
    canvas.polygon(bezier((-10, 60), (canvas.width / 2, -30), (canvas.width + 10, 60)) +
                   [(canvas.width + 10, -10), (-10, -10)], metal, INK, 4)
    canvas.polygon([(canvas.width * 0.5 - 7, 0), (canvas.width * 0.5 + 7, 0), (canvas.width * 0.5 + 7, canvas.height),
                    (canvas.width * 0.5 - 7, canvas.height)], metal, INK, 3)


def dashboard(canvas, light, chance, detail):
    """The foreground of the cockpit: hides the legs of whoever sits in it."""
    metal = mix("#454c66", light[1], 0.2)
    top = canvas.height * 0.78
    canvas.polygon(bezier((-10, top + 26), (canvas.width / 2, top - 30), (canvas.width + 10, top + 26)) +
                   [(canvas.width + 10, canvas.height + 10), (-10, canvas.height + 10)], metal, INK, 4)
    for index in range(int(canvas.width / 70)):
        x = 40 + index * 70
        canvas.ellipse(x, top + 34, 17, 17, "#123c3e", INK, 3)
        angle = chance.uniform(3.4, 6)
        canvas.line([(x, top + 34), (x + 12 * math.cos(angle), top + 34 + 12 * math.sin(angle))], light[2], 3)


def scope(canvas, light, chance, detail):
    """A round screen, close up; `detail` is how many pulses it shows."""
    canvas.gradient(["#2d3450", "#414c6c"])
    x, y = canvas.width / 2, canvas.height * 0.56
    radius = min(canvas.width, canvas.height) * 0.40
    canvas.ellipse(x, y, radius * 1.13, radius * 1.13, "#6a6878", INK, 4)
    canvas.ellipse(x, y, radius, radius, "#0d3335", INK, 4)
    for share in (0.33, 0.66):
        canvas.ellipse(x, y, radius * share, radius * share, None, "#1d5a58", 2)
    canvas.line([(x - radius, y), (x + radius, y)], "#1d5a58", 2)
    canvas.line([(x, y - radius), (x, y + radius)], "#1d5a58", 2)
    points = [(x - radius * 0.85, y)]
    for pulse in range(4):
        start = x - radius * 0.7 + pulse * radius * 0.36
        long = radius * (0.34 if pulse == 3 else 0.12)
        points += [(start, y), (start + 4, y - radius * 0.4), (start + long, y - radius * 0.4), (start + long + 4, y)]
    canvas.line(points + [(x + radius * 0.9, y)], "#8ff0b8", 4)


def bulb(canvas, light, chance, detail):
    """The lamp's heart, close up."""
    canvas.gradient([light[0], light[1]])
    x, y = canvas.width / 2, canvas.height * 0.52
    size = min(canvas.width, canvas.height) * 0.3
    if detail != "dead":
        canvas.glow(x, y, size * 1.9, light[2], 0.8)
    canvas.ellipse(x, y, size * 0.8, size, "#fff0b8" if detail != "dead" else "#7c86a0", INK, 4)
    canvas.box(x - size * 0.4, y + size * 0.85, x + size * 0.4, y + size * 1.3, "#a08a5a", INK, 4, 6)
    for index in range(3):
        canvas.line([(x - size * 0.4, y + size * (0.97 + index * 0.11)), (x + size * 0.4, y + size * (0.93 + index * 0.11))], INK, 3)
    wire = [(x - size * 0.25, y + size * 0.85), (x - size * 0.3, y), (x - size * 0.15, y - size * 0.25), (x, y),
            (x + size * 0.15, y - size * 0.25), (x + size * 0.3, y), (x + size * 0.25, y + size * 0.85)]
    if detail == "dead":
        canvas.line(wire[:3], "#2b2436", 4)
        canvas.line(wire[4:], "#2b2436", 4)
    else:
        canvas.line(wire, "#d9622b", 5)
    canvas.arc(x, y, size * 0.6, size * 0.78, 195, 250, "#ffffff", 5)


def order(canvas, light, chance, detail):
    """A paper order form, close up."""
    canvas.gradient(["#3a3446", "#5a5068"])
    width, height = canvas.width, canvas.height
    left, top, right = width * 0.14, height * 0.2, width * 0.86
    canvas.polygon([(left, top + 12), (right - 10, top - 6), (right + 8, height * 1.05), (left - 8, height * 1.05)],
                   "#f1e4c4", INK, 4)
    canvas.text(width / 2, top + 52, "ORDER No. 1", "poster", min(40, width * 0.09), "#8a3b2a", anchor="ms")
    for index, (item, count) in enumerate((("lamp, main, large", "1"), ("spare fuses", "12"), ("tea", "lots"),
                                           ("company", "if you have it"))):
        y = top + 92 + index * 34
        canvas.text(left + 26, y, item, "script", min(25, width * 0.06), "#3b3550")
        canvas.text(right - 22, y, count, "script", min(25, width * 0.06), "#3b3550", anchor="rs")
        canvas.line([(left + 22, y + 8), (right - 16, y + 6)], "#cdb992", 2)


def many(canvas, light, chance, detail):
    """Far lamps, all over the dark."""
    canvas.gradient([light[0], light[1]])
    _stars(canvas, chance, 30)
    for _ in range(16):
        x, y, size = chance.random() * canvas.width, canvas.height * chance.uniform(0.1, 0.95), chance.uniform(5, 15)
        canvas.glow(x, y, size * 3, light[2], 0.6)
        canvas.polygon([(x - size * 0.5, y + size), (x + size * 0.5, y + size), (x + size * 0.25, y), (x - size * 0.25, y)],
                       "#c8483d", INK, 1.5)
        canvas.ellipse(x, y - size * 0.2, size * 0.4, size * 0.4, "#fff0b8", INK, 1.5)


BACKGROUNDS = {"space": space, "station": station, "lamp": lamp, "control": control, "stairs": stairs, "dust": dust,
               "skiff": skiff, "cockpit": cockpit, "scope": scope, "bulb": bulb, "order": order, "many": many}
FOREGROUNDS = {"cockpit": dashboard}
