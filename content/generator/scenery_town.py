"""Backgrounds of Pennywhistle, the hill town of Moss & Mallow, and its clock."""
import math

from generator.canvas import INK, bezier, darker, lighter, mix

LIGHTS = {
    "day": ("#8fcbe0", "#f6ecc8", "#fff7d8"),
    "noon": ("#79c2d8", "#eef3d2", "#fffbe6"),
    "dusk": ("#6a5a94", "#f0a878", "#ffd98a"),
    "night": ("#1d2748", "#46508a", "#ffd46b"),
    "inside": ("#c79a68", "#f0d7a2", "#fff0c0"),
    "gloom": ("#3c3550", "#7c6a80", "#ffcf70"),
}
WALLS = ("#e9d3a8", "#d9a48a", "#b9c7a0", "#e3b56c", "#a9bfc4", "#d8c4c9")
ROOFS = ("#a9483c", "#7d4a52", "#8a5a34", "#54656e")


def _house(canvas, left, ground, width, height, chance, light, lit):
    shade = 0.35 if lit else 0.0
    wall = mix(chance.choice(WALLS), light[0], shade)
    roof = mix(chance.choice(ROOFS), light[0], shade)
    top = ground - height
    canvas.box(left, top, left + width, ground + 6, wall, INK, 3)
    canvas.polygon([(left - 10, top + 2), (left + width / 2, top - width * 0.55), (left + width + 10, top + 2)], roof, INK, 3)
    chimney = left + width * 0.72
    canvas.box(chimney, top - width * 0.5, chimney + width * 0.13, top - width * 0.16, darker(wall, 0.3), INK, 2.5)
    pane = light[2] if lit else mix("#5c7f94", light[0], 0.2)
    for row in range(max(1, int(height / 85))):
        for share in (0.24, 0.68):
            x, y = left + width * share, top + 22 + row * 74
            if y + 40 < ground:
                canvas.box(x - 14, y, x + 14, y + 38, pane, INK, 2.5)
                canvas.line([(x, y), (x, y + 38)], INK, 2)
                canvas.line([(x - 14, y + 19), (x + 14, y + 19)], INK, 2)
    canvas.box(left + width * 0.38, ground - 56, left + width * 0.38 + 34, ground + 4, darker(roof, 0.3), INK, 2.5)


def _sky(canvas, light, chance, night):
    canvas.gradient([light[0], light[1]])
    if night:
        for _ in range(34):
            canvas.ellipse(chance.random() * canvas.width, chance.random() * canvas.height * 0.7, 1.5, 1.5, "#fdf3d0")
        canvas.ellipse(canvas.width * 0.84, canvas.height * 0.17, 30, 30, "#fdf3d0")
        canvas.ellipse(canvas.width * 0.84 + 12, canvas.height * 0.17 - 6, 26, 26, light[0])
        return
    for _ in range(3):
        x, y = chance.random() * canvas.width, canvas.height * chance.uniform(0.08, 0.35)
        for shift, size in ((-34, 18), (0, 27), (34, 19)):
            canvas.ellipse(x + shift, y, size * 1.5, size * 0.75, lighter(light[1], 0.5))


def is_night(light):
    return light in (LIGHTS["night"], LIGHTS["dusk"])


def street(canvas, light, chance, detail):
    night = is_night(light)
    _sky(canvas, light, chance, night)
    ground = canvas.height * 0.76
    left = -40
    while left < canvas.width:
        width = chance.uniform(105, 160)
        _house(canvas, left, ground, width, canvas.height * chance.uniform(0.3, 0.46), chance, light, night)
        left += width + 4
    stone = mix("#b7a48c", light[0], 0.4 if night else 0.08)
    canvas.box(-10, ground, canvas.width + 10, canvas.height + 10, stone, INK, 3)
    for row in range(4):
        y = ground + (canvas.height - ground) * (row + 0.5) / 4
        for column in range(int(canvas.width / 62) + 2):
            x = column * 62 + (row % 2) * 31 - 20
            canvas.arc(x, y, 20 + row * 2, 7, 190, 350, darker(stone, 0.3), 2)
    x = canvas.width * 0.9
    canvas.line([(x, ground + 24), (x, ground - canvas.height * 0.34)], INK, 7)
    if night:
        canvas.glow(x, ground - canvas.height * 0.37, 90, light[2], 0.7)
    canvas.box(x - 13, ground - canvas.height * 0.41, x + 13, ground - canvas.height * 0.33, light[2], INK, 3)


def clock_face(canvas, x, y, radius, time, face="#fbf1d4"):
    canvas.ellipse(x, y, radius * 1.14, radius * 1.14, "#a9793a", INK, max(2, radius / 30))
    canvas.ellipse(x, y, radius, radius, face, INK, max(2, radius / 30))
    for hour in range(12):
        angle = math.radians(hour * 30 - 90)
        inner = 0.78 if hour % 3 == 0 else 0.86
        canvas.line([(x + radius * inner * math.cos(angle), y + radius * inner * math.sin(angle)),
                     (x + radius * 0.94 * math.cos(angle), y + radius * 0.94 * math.sin(angle))], INK,
                    max(1.5, radius / (18 if hour % 3 == 0 else 34)))
    hours, minutes = (int(part) for part in time.split(":"))
    for angle, length, width in ((hours * 30 + minutes / 2, 0.5, 13), (minutes * 6, 0.76, 20)):
        angle = math.radians(angle - 90)
        canvas.line([(x, y), (x + radius * length * math.cos(angle), y + radius * length * math.sin(angle))],
                    "#7a2b2b" if width == 13 else INK, max(2, radius / width))
    canvas.ellipse(x, y, radius * 0.06, radius * 0.06, INK)


def hill(canvas, light, chance, detail):
    night = is_night(light)
    _sky(canvas, light, chance, night)
    width, height = canvas.width, canvas.height
    far, near = mix("#7fa06a", light[0], 0.55), mix("#6f9a56", light[0], 0.5 if night else 0.1)
    canvas.polygon(bezier((-20, height * 0.7), (width * 0.2, height * 0.45), (width * 1.1, height * 0.72)) +
                   [(width + 20, height + 10), (-20, height + 10)], far, INK, 3)
    peak = (width * 0.55, height * 0.52)
    canvas.polygon(bezier((-20, height * 0.98), (peak[0], height * 0.32), (width + 20, height * 0.95)) +
                   [(width + 20, height + 10), (-20, height + 10)], near, INK, 3)
    _tower(canvas, peak[0], height * 0.68, height * 0.46, light, night, detail or "4:00")
    for row in range(3):
        count = 3 + row * 2
        for index in range(count):
            x = peak[0] + (index - (count - 1) / 2) * width * 0.125 + chance.uniform(-8, 8)
            ground = height * (0.73 + row * 0.085) + abs(x - peak[0]) ** 2 / width * 0.35
            size = width * 0.085
            _small_house(canvas, x - size / 2, ground, size, chance, light, night)


def _small_house(canvas, left, ground, size, chance, light, night):
    shade = 0.35 if night else 0.0
    canvas.box(left, ground - size * 0.7, left + size, ground, mix(chance.choice(WALLS), light[0], shade), INK, 2.5)
    canvas.polygon([(left - 5, ground - size * 0.68), (left + size / 2, ground - size * 1.2), (left + size + 5, ground - size * 0.68)],
                   mix(chance.choice(ROOFS), light[0], shade), INK, 2.5)
    canvas.box(left + size * 0.36, ground - size * 0.5, left + size * 0.64, ground - size * 0.2,
               light[2] if night else "#5c7f94", INK, 2)


def _tower(canvas, x, ground, height, light, night, time):
    wall = mix("#d8c4a0", light[0], 0.35 if night else 0)
    half = height * 0.13
    canvas.box(x - half, ground - height * 0.8, x + half, ground, wall, INK, 3)
    canvas.tint([(x + half * 0.3, ground - height * 0.8), (x + half, ground - height * 0.8), (x + half, ground),
                 (x + half * 0.3, ground)], "#2a2038", 0.2)
    canvas.polygon([(x - half * 1.35, ground - height * 0.79), (x, ground - height * 1.12), (x + half * 1.35, ground - height * 0.79)],
                   mix("#7d4a52", light[0], 0.3 if night else 0), INK, 3)
    clock_face(canvas, x, ground - height * 0.62, half * 0.68, time, light[2])


def tower(canvas, light, chance, detail):
    night = is_night(light)
    _sky(canvas, light, chance, night)
    _tower(canvas, canvas.width * 0.5, canvas.height * 1.02, canvas.height * 0.86, light, night, detail or "4:00")
    for left in (-60, canvas.width * 0.06, canvas.width * 0.72, canvas.width * 0.9):
        _house(canvas, left, canvas.height * 1.02, canvas.width * 0.22, canvas.height * chance.uniform(0.18, 0.3), chance,
               light, night)


def _planks(canvas, colour, every=70):
    for index in range(int(canvas.width / every) + 1):
        canvas.line([(index * every, 0), (index * every, canvas.height)], darker(colour, 0.2), 2)


def bakery(canvas, light, chance, detail):
    canvas.gradient(["#d9955c", "#f3cf8f"])
    width, height = canvas.width, canvas.height
    _planks(canvas, "#d9955c", 90)
    for row in range(2):
        y = height * (0.3 + row * 0.2)
        canvas.box(width * 0.04, y, width * 0.56, y + 10, "#7a4a2a", INK, 3)
        for index in range(int(width * 0.5 / 64)):
            x = width * 0.04 + 36 + index * 64
            loaf = chance.choice(("#c9803a", "#e0a04e", "#b56a30"))
            if detail == "burnt":
                loaf = "#3a2a26"
            canvas.polygon(bezier((x - 26, y), (x, y - 52), (x + 26, y)), loaf, INK, 3)
            for cut in (-9, 3):
                canvas.line([(x + cut, y - 19), (x + cut + 7, y - 10)], darker(loaf, 0.4), 2.5)
    x, y = width * 0.8, height * 0.78
    canvas.box(x - 90, height * 0.18, x + 90, y, "#a3543f", INK, 4)
    for row in range(8):
        canvas.line([(x - 90, height * (0.18 + 0.075 * row)), (x + 90, height * (0.18 + 0.075 * row))], "#7d3c30", 2)
    canvas.polygon(bezier((x - 56, y - 40), (x, y - 190), (x + 56, y - 40)), "#2a1c22", INK, 4)
    canvas.polygon(bezier((x - 36, y - 42), (x, y - 130), (x + 36, y - 42)), "#f08a3c")
    canvas.polygon(bezier((x - 18, y - 42), (x, y - 90), (x + 18, y - 42)), "#ffd76a")
    if detail == "burnt":
        for shift in (-30, 5, 34):
            canvas.ellipse(x + shift, y - 190 - abs(shift), 40, 26, "#6a6068", INK, 2)
    canvas.box(-10, height * 0.78, width + 10, height + 10, "#8a5a38", INK, 4)


def workshop(canvas, light, chance, detail):
    canvas.gradient(["#6e8a76", "#b9c7a0"])
    _planks(canvas, "#7c9680", 110)
    times = ("5:00",) if detail == "five" else ("4:00", "3:59", "4:01")
    spots = [(0.12, 0.26, 44), (0.34, 0.18, 32), (0.56, 0.3, 50), (0.79, 0.2, 38), (0.93, 0.42, 28), (0.24, 0.5, 28)]
    for x, y, size in spots:
        clock_face(canvas, canvas.width * x, canvas.height * y, size, chance.choice(times),
                   chance.choice(("#fbf1d4", "#e9d3a8", "#dfe7e0")))
    canvas.box(-10, canvas.height * 0.72, canvas.width + 10, canvas.height * 0.78, "#9a6a40", INK, 4)
    canvas.box(-10, canvas.height * 0.78, canvas.width + 10, canvas.height + 10, "#6a452c", INK, 4)
    for _ in range(6):
        _gear(canvas, chance.random() * canvas.width, canvas.height * 0.7, chance.uniform(10, 18), "#c99a45")


def _gear(canvas, x, y, radius, colour, teeth=12):
    points = []
    for index in range(teeth * 4):
        angle = 2 * math.pi * index / (teeth * 4)
        reach = radius * (1.14 if index % 4 < 2 else 0.94)
        points.append((x + reach * math.cos(angle), y + reach * math.sin(angle)))
    canvas.polygon(points, colour, INK, max(2, radius / 26))
    canvas.ellipse(x, y, radius * 0.62, radius * 0.62, darker(colour, 0.3), INK, 2)
    for spoke in range(3):
        angle = math.pi * spoke / 3 + 0.4
        dx, dy = radius * 0.62 * math.cos(angle), radius * 0.62 * math.sin(angle)
        canvas.line([(x - dx, y - dy), (x + dx, y + dy)], colour, radius * 0.13)
    canvas.ellipse(x, y, radius * 0.16, radius * 0.16, colour, INK, 2)


def gears(canvas, light, chance, detail):
    canvas.gradient([light[0], light[1]])
    width, height = canvas.width, canvas.height
    for x, y, size, teeth in ((0.12, 0.3, 0.3, 22), (0.52, 0.16, 0.2, 16), (0.9, 0.38, 0.34, 24), (0.34, 0.62, 0.16, 14),
                              (0.66, 0.66, 0.14, 12)):
        _gear(canvas, width * x, height * y, min(width, height) * size,
              mix(chance.choice(("#c99a45", "#a9793a", "#8f8a86")), light[0], 0.25), teeth)
    floor = mix("#8a5a38", light[0], 0.3)
    canvas.box(-10, height * 0.8, width + 10, height + 10, floor, INK, 4)
    for index in range(int(width / 80) + 1):
        canvas.line([(index * 80, height * 0.8), (index * 80 - 30, height)], darker(floor, 0.35), 2)


def stairs(canvas, light, chance, detail):
    canvas.gradient([light[0], light[1]])
    width, height = canvas.width, canvas.height
    for index in range(8):
        top = height * (0.95 - index * 0.1)
        wood = mix("#a9713f", light[0], 0.1 + index * 0.05)
        canvas.box(width * 0.1 * index, top, width + 10, top + height * 0.11, wood, INK, 3)
        canvas.line([(width * 0.1 * index + 10, top), (width * 0.1 * index + 10, top - height * 0.26)], INK, 6)
    canvas.line([(10, height * 0.69), (width * 0.72, height * -0.01)], INK, 9)
    canvas.line([(10, height * 0.69), (width * 0.72, height * -0.01)], "#8a5a38", 5)


def square(canvas, light, chance, detail):
    street(canvas, light, chance, detail)
    width, height = canvas.width, canvas.height
    _tower(canvas, width * 0.5, height * 0.78, height * 0.7, light, is_night(light), detail or "5:00")
    line = bezier((0, height * 0.3), (width * 0.25, height * 0.42), (width * 0.5, height * 0.34)) + \
        bezier((width * 0.5, height * 0.34), (width * 0.75, height * 0.42), (width, height * 0.28))
    canvas.line(line, INK, 2.5)
    for index, (x, y) in enumerate(line[1:-1:2]):
        canvas.polygon([(x - 11, y), (x + 11, y), (x, y + 24)], ("#d2453f", "#e3b13c", "#3f8a94")[index % 3], INK, 2)


def roof(canvas, light, chance, detail):
    _sky(canvas, light, chance, is_night(light))
    width, height = canvas.width, canvas.height
    for index in range(6):
        _small_house(canvas, width * (index * 0.18 - 0.04), height * (0.8 - 0.03 * (index % 2)), width * 0.15, chance, light, True)
    tile = mix("#a9483c", light[0], 0.35)
    canvas.polygon([(-10, height * 0.8), (width + 10, height * 0.74), (width + 10, height + 10), (-10, height + 10)], tile, INK, 4)
    for row in range(4):
        y = height * (0.82 + 0.055 * row)
        for column in range(int(width / 44) + 1):
            canvas.arc(column * 44 + (row % 2) * 22, y - column * 2.2, 22, 15, 0, 180, darker(tile, 0.35), 2.5)


def clock(canvas, light, chance, detail):
    canvas.gradient([mix("#8a5a38", light[0], 0.3), "#d8c4a0"])
    clock_face(canvas, canvas.width / 2, canvas.height * 0.56, min(canvas.width, canvas.height) * 0.36, detail or "4:00")


def jar(canvas, light, chance, detail):
    """An hour in a jar, close up."""
    canvas.gradient([light[0], mix(light[0], light[1], 0.6)])
    x, y, size = canvas.width / 2, canvas.height * 0.56, min(canvas.width, canvas.height) * 0.3
    canvas.glow(x, y, size * 1.9, "#ffd46b", 0.8)
    canvas.box(x - size * 0.7, y - size * 0.8, x + size * 0.7, y + size, "#fbe6a8", INK, 4, size * 0.25)
    for ring in range(4):
        share = 0.55 - ring * 0.13
        canvas.arc(x, y + size * 0.1, size * share, size * share, 40 * ring, 40 * ring + 270, "#e08a2e", 6)
    canvas.box(x - size * 0.55, y - size * 1.02, x + size * 0.55, y - size * 0.78, "#8a5a38", INK, 4, 6)
    canvas.box(x - size * 0.42, y + size * 0.42, x + size * 0.42, y + size * 0.8, "#fffdf6", INK, 3)
    canvas.text(x, y + size * 0.7, "4 to 5", "script", size * 0.24, INK, anchor="ms")


def painting(canvas, light, chance, detail):
    """A wall painting of the town; `detail` says how far it has got."""
    canvas.gradient(["#cdb79c", "#e9dcc0"])
    width, height = canvas.width, canvas.height
    left, top, right, bottom = width * 0.06, height * 0.22, width * 0.94, height * 0.94
    canvas.box(left, top, right, bottom, "#9fd0d8", INK, 4)
    canvas.polygon([(left, bottom)] + bezier((left, bottom - (bottom - top) * 0.35), (width * 0.5, top + 10),
                                             (right, bottom - (bottom - top) * 0.3)) + [(right, bottom)], "#86a866", INK, 3)
    canvas.ellipse(left + (right - left) * 0.16, top + (bottom - top) * 0.2, 26, 26, "#ffe39a", INK, 3)
    _tower(canvas, width * 0.5, top + (bottom - top) * 0.5, (bottom - top) * 0.44, LIGHTS["day"], False, "4:00")
    for row, count in enumerate((5, 8, 9)):
        for index in range(count):
            share = (index + 0.5) / count
            x = left + (right - left) * (0.5 + (share - 0.5) * (0.62 + 0.15 * row))
            ground = bottom - (bottom - top) * (0.42 - 0.16 * row) + abs(share - 0.5) ** 2 * (bottom - top) * 0.5
            size = (right - left) * 0.062
            if detail == "done" or row < 2 or share < 0.6:
                _small_house(canvas, x - size / 2, ground, size, chance, LIGHTS["day"], False)
            else:
                canvas.box(x - size / 2, ground - size, x + size / 2, ground, None, "#6a6068", 2)
    canvas.box(left, top, right, bottom, None, "#8a5a38", 12)


BACKGROUNDS = {"street": street, "hill": hill, "tower": tower, "bakery": bakery, "workshop": workshop, "gears": gears,
               "stairs": stairs, "square": square, "roof": roof, "clock": clock, "jar": jar, "painting": painting}
FOREGROUNDS = {}
