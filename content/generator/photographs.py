"""Pictures for the magazine: layered landscapes with light, mist and grain, composed rather than photographed."""
import math

from PIL import Image, ImageFilter

from generator.canvas import OVERSAMPLING, Canvas, bezier, darker, lighter, mix, seeded, superellipse

# Sky from above to the horizon, the light, the land from far to near.
PALETTES = {
    "harvest": ("#4f86a8", "#f6d9a0", "#fff0bf", "#c9a05a", "#5a3d1e"),
    "evening": ("#40406e", "#f0925a", "#ffd890", "#a0584a", "#2a1c2e"),
    "meadow": ("#6fb2d0", "#dcecd8", "#fffbe0", "#8db070", "#2c4a2c"),
    "fog": ("#9fb0b4", "#dde2de", "#f8f6ea", "#a4b4b0", "#34464a"),
    "sea": ("#39708c", "#cfe3de", "#fdf6dc", "#4d8a98", "#12384a"),
    "slate": ("#5a6a78", "#c4ccd0", "#f0eee4", "#7d8c98", "#26323e"),
    "frost": ("#4a6aa4", "#e4d6e8", "#fff2ea", "#9aacd0", "#2c3c66"),
    "night": ("#080e24", "#2c4a78", "#bfe8d0", "#24385c", "#060a18"),
    "rose": ("#6a6aa8", "#f4c2b4", "#fff0e0", "#a88aa8", "#3a2c4c"),
}


def picture(kind, palette, width, height, key):
    canvas = Canvas(width, height)
    chance = seeded("picture", kind, palette, key)
    KINDS[kind](canvas, PALETTES[palette], chance)
    _grain(canvas, chance)
    return canvas


def _grain(canvas, chance):
    """A little unevenness, as film has; also hides the steps in gradients."""
    width, height = canvas.width // 2 + 1, canvas.height // 2 + 1
    noise = Image.frombytes("L", (int(width), int(height)), chance.randbytes(int(width) * int(height)))
    noise = noise.filter(ImageFilter.GaussianBlur(0.7)).resize(canvas.image.size, Image.Resampling.BILINEAR)
    canvas.image.paste(Image.blend(canvas.image, Image.merge("RGB", (noise,) * 3), 0.05))


def _soften(canvas, radius):
    canvas.image.paste(canvas.image.filter(ImageFilter.GaussianBlur(radius * OVERSAMPLING)))


def _sun(canvas, x, y, radius, colour, strength=0.7):
    for step in range(14):
        canvas.tint(superellipse(x, y, radius * (5 - step * 0.3), radius * (5 - step * 0.3)), colour, strength / 13)
    canvas.ellipse(x, y, radius, radius, colour)


def _ridge(canvas, chance, level, swing, colour, roughness=1.0):
    waves = [(swing / (index + 1) ** 1.2 * (roughness if index > 2 else 1), chance.uniform(0.6, 1.4) * (index + 1) ** 1.3,
              chance.uniform(0, 7)) for index in range(7)]
    points = []
    for step in range(141):
        x = canvas.width * step / 140
        points.append((x, level + sum(size * math.sin(rate * x / canvas.width * 4 + phase) for size, rate, phase in waves)))
    canvas.polygon(points + [(canvas.width, canvas.height), (0, canvas.height)], colour)
    return points


def _birds(canvas, chance, count, colour):
    x, y = canvas.width * chance.uniform(0.2, 0.6), canvas.height * chance.uniform(0.12, 0.3)
    for _ in range(count):
        left, top, size = x + chance.uniform(-130, 130), y + chance.uniform(-50, 50), chance.uniform(6, 13)
        canvas.line(bezier((left - size, top - size * 0.4), (left - size * 0.4, top - size * 0.5), (left, top)), colour, 2)
        canvas.line(bezier((left, top), (left + size * 0.4, top - size * 0.5), (left + size, top - size * 0.4)), colour, 2)


def hills(canvas, palette, chance):
    high, low, light, far, near = palette
    canvas.gradient([high, low, light], 0, canvas.height * 0.75, bands=None)
    _sun(canvas, canvas.width * chance.uniform(0.25, 0.75), canvas.height * 0.38, min(canvas.width, canvas.height) * 0.055, light)
    for layer in range(6):
        share = layer / 5
        colour = mix(mix(far, low, 0.6 * (1 - share)), near, share ** 1.3)
        points = _ridge(canvas, chance, canvas.height * (0.48 + 0.088 * layer), canvas.height * 0.035, colour)
        if layer < 4:
            band = [(x, y + canvas.height * 0.07) for x, y in points]
            canvas.tint(band + [(canvas.width, canvas.height), (0, canvas.height)], low, 0.22)
        else:
            for x, y in points[::3 if layer == 4 else 5]:
                size = chance.uniform(6, 16) * (1 if layer == 4 else 2)
                canvas.polygon([(x - size * 0.4, y + 4), (x, y - size * 1.7), (x + size * 0.4, y + 4)], darker(colour, 0.2))
    _birds(canvas, chance, 9, darker(high, 0.4))


def sea(canvas, palette, chance):
    high, low, light, far, near = palette
    horizon = canvas.height * 0.45
    canvas.gradient([high, low, light], 0, horizon, bands=None)
    sun = canvas.width * chance.uniform(0.3, 0.7)
    _sun(canvas, sun, horizon * 0.72, min(canvas.width, canvas.height) * 0.05, light)
    canvas.box(0, horizon, canvas.width, canvas.height, far)
    for step in range(60):
        top = horizon + (canvas.height - horizon) * step / 60
        canvas.box(0, top, canvas.width, canvas.height, mix(mix(far, low, 0.3), near, step / 60))
    for _ in range(420):
        depth = chance.random() ** 1.6
        y = horizon + (canvas.height - horizon) * depth
        x = chance.uniform(0, canvas.width)
        length = 8 + 90 * depth * chance.random()
        nearness = max(0, 1 - abs(x - sun) / (60 + 240 * depth))
        colour = mix(mix(far, low, chance.uniform(0, 0.4)), light, nearness * 0.85)
        rise = 1 + 5 * depth
        canvas.polygon(bezier((x - length, y), (x, y - rise), (x + length, y)) + bezier((x + length, y), (x, y + rise * 0.4), (x - length, y)),
                       colour)
    _boat(canvas, canvas.width * chance.choice((0.2, 0.8)), horizon + canvas.height * 0.08, canvas.height * 0.07, near, light)
    _birds(canvas, chance, 6, darker(high, 0.4))


def _boat(canvas, x, y, size, hull, sail):
    canvas.polygon([(x - size, y - size * 0.2), (x + size, y - size * 0.2), (x + size * 0.7, y + size * 0.2),
                    (x - size * 0.7, y + size * 0.2)], hull)
    canvas.line([(x, y - size * 0.2), (x, y - size * 2.4)], hull, 3)
    canvas.polygon([(x + 5, y - size * 2.3), (x + 5, y - size * 0.4), (x + size * 0.95, y - size * 0.4)], lighter(sail, 0.3))
    canvas.polygon([(x - 4, y - size * 1.9), (x - 4, y - size * 0.4), (x - size * 0.7, y - size * 0.4)], mix(sail, hull, 0.2))


def forest(canvas, palette, chance):
    high, low, light, far, near = palette
    canvas.gradient([low, light, low], bands=None)
    _sun(canvas, canvas.width * 0.55, canvas.height * 0.35, canvas.height * 0.05, light)
    for layer in range(5):
        share = layer / 4
        colour = mix(mix(far, low, 0.65 * (1 - share)), near, share)
        _ridge(canvas, chance, canvas.height * (0.66 + 0.075 * layer), 10 + layer * 3, colour)
        for _ in range(13 - layer * 2):
            x, width = chance.uniform(-20, canvas.width + 20), (5 + 26 * share ** 1.5) * chance.uniform(0.7, 1.2)
            foot, lean = canvas.height * (0.69 + 0.075 * layer), chance.uniform(-20, 20)
            canvas.polygon([(x - width / 2, foot), (x + width / 2, foot), (x + width * 0.3 + lean, -10), (x - width * 0.3 + lean, -10)], colour)
            for _ in range(4):
                y, side = chance.uniform(0, foot * 0.6), chance.choice((-1, 1))
                canvas.line(bezier((x + lean * (1 - y / foot), y), (x + side * 40, y - 20), (x + side * chance.uniform(60, 120), y - 70)),
                            colour, 1.5 + 4 * share)
        if layer < 4:
            canvas.tint([(0, 0), (canvas.width, 0), (canvas.width, canvas.height), (0, canvas.height)], low, 0.15)


def field(canvas, palette, chance):
    high, low, light, far, near = palette
    horizon = canvas.height * 0.42
    canvas.gradient([high, low, light], 0, horizon, bands=None)
    _clouds(canvas, chance, 4, horizon * 0.55, light, low)
    _ridge(canvas, chance, horizon - 8, 12, mix(near, low, 0.5))
    canvas.box(0, horizon, canvas.width, canvas.height, far)
    vanishing = canvas.width * chance.uniform(0.35, 0.65)
    for row in range(-26, 27):
        left, right = vanishing + row * canvas.width * 0.13, vanishing + (row + 0.55) * canvas.width * 0.13
        canvas.polygon([(vanishing + row * 3, horizon), (vanishing + (row + 0.5) * 3, horizon), (right, canvas.height), (left, canvas.height)],
                       mix(far, near, 0.4 + 0.1 * (row % 3)))
    for x, depth in ((0.2, 0.25), (0.72, 0.14), (0.86, 0.5), (0.4, 0.08)):
        y, size = horizon + (canvas.height - horizon) * depth, canvas.height * (0.02 + 0.13 * depth)
        canvas.tint(superellipse(canvas.width * x + size * 0.5, y + size * 0.8, size * 1.7, size * 0.3), near, 0.5)
        canvas.ellipse(canvas.width * x, y, size, size, mix(far, light, 0.35))
        for ring in (0.75, 0.5, 0.25):
            canvas.ellipse(canvas.width * x, y, size * ring, size * ring, None, mix(far, near, 0.35), 2)
    _birds(canvas, chance, 8, near)


def _clouds(canvas, chance, count, level, light, shade):
    for _ in range(count):
        x, y, size = chance.uniform(0, canvas.width), level * chance.uniform(0.5, 1.4), canvas.width * chance.uniform(0.05, 0.1)
        puffs = [(x + chance.uniform(-2, 2) * size, y - chance.uniform(0, 0.6) * size, size * chance.uniform(0.4, 0.85)) for _ in range(11)]
        for tone, shift in ((mix(shade, "#6a7480", 0.3), 0.16), (shade, 0.0), (lighter(light, 0.5), -0.14)):
            for px, py, radius in puffs:
                canvas.tint(superellipse(px, py + shift * size, radius, radius * 0.7), tone, 0.55)


def clouds(canvas, palette, chance):
    high, low, light, far, near = palette
    canvas.gradient([high, mix(high, low, 0.6), low], bands=None)
    for level in (0.25, 0.45, 0.65):
        _clouds(canvas, chance, 4, canvas.height * level, light, mix(low, far, 0.3))
    _soften(canvas, 3)
    _ridge(canvas, chance, canvas.height * 0.88, 16, near)
    _birds(canvas, chance, 5, near)


def night(canvas, palette, chance):
    high, low, light, far, near = palette
    canvas.gradient([high, low], 0, canvas.height * 0.85, bands=None)
    for band in range(22):
        x = canvas.width * (band + chance.random()) / 22
        top = canvas.height * chance.uniform(0.12, 0.3)
        canvas.tint([(x - 30, top), (x + 20, top), (x + 70, canvas.height * 0.62), (x - 20, canvas.height * 0.66)], light, 0.12)
    _soften(canvas, 9)
    for _ in range(240):
        x, y, size = chance.random() * canvas.width, chance.random() * canvas.height * 0.8, chance.choice((0.7, 0.9, 1.2, 2))
        canvas.ellipse(x, y, size, size, "#fff6e4")
    for layer, share in enumerate((0.3, 0.7, 1)):
        _ridge(canvas, chance, canvas.height * (0.72 + 0.08 * layer), 24, mix(far, near, share))
    x, y = canvas.width * 0.3, canvas.height * 0.85
    canvas.box(x - 30, y - 26, x + 30, y, near)
    canvas.polygon([(x - 38, y - 24), (x, y - 54), (x + 38, y - 24)], near)
    canvas.box(x - 8, y - 20, x + 6, y - 6, "#ffcf70")


def river(canvas, palette, chance):
    """A river from high above."""
    high, low, light, far, near = palette
    canvas.gradient([mix(far, light, 0.3), mix(far, near, 0.35)], bands=None)
    for _ in range(60):
        x, y = chance.random() * canvas.width, chance.random() * canvas.height
        corners = [(x + chance.uniform(60, 130) * math.cos(angle), y + chance.uniform(50, 100) * math.sin(angle)) for angle in (0.4, 1.9, 3.4, 5.1)]
        canvas.tint(corners, mix(far, chance.choice((light, near)), chance.uniform(0.2, 0.7)), 0.45)
    middle = [(canvas.width * (0.5 + 0.27 * math.sin(step / 11 + 1.2) + 0.08 * math.sin(step / 4.1)), canvas.height * (step - 4) / 92) for step in range(101)]
    for width, colour in ((64, mix(far, light, 0.7)), (50, mix(high, near, 0.2)), (22, mix(high, low, 0.5))):
        canvas.line(middle, colour, width)
    for _ in range(170):
        x, y, size = chance.random() * canvas.width, chance.random() * canvas.height, chance.uniform(4, 11)
        if all(abs(x - px) + abs(y - py) > 62 for px, py in middle[::2]):
            canvas.ellipse(x + 4, y + 5, size, size, darker(near, 0.3))
            canvas.ellipse(x, y, size, size, mix(near, far, chance.uniform(0.1, 0.5)))


def rain(canvas, palette, chance):
    """Lights through a wet window."""
    high, low, light, far, near = palette
    canvas.gradient([near, mix(high, near, 0.4), near], bands=None)
    for _ in range(46):
        radius = chance.uniform(18, 62)
        colour = mix(chance.choice((light, low, "#f0a050", "#d86a5a", far)), near, chance.uniform(0, 0.3))
        canvas.tint(superellipse(chance.random() * canvas.width, canvas.height * chance.gauss(0.52, 0.2), radius, radius), colour, 0.4)
    _soften(canvas, 5)
    for _ in range(150):
        x, y, size = chance.random() * canvas.width, chance.random() * canvas.height, chance.uniform(2, 8)
        canvas.ellipse(x, y, size, size * 1.2, mix(near, low, 0.35))
        canvas.tint(superellipse(x, y + size * 0.3, size * 0.8, size * 0.8), light, 0.5)
        canvas.ellipse(x - size * 0.3, y - size * 0.4, size * 0.22, size * 0.22, "#ffffff")


def frost(canvas, palette, chance):
    """Ice ferns on a pane."""
    high, low, light, far, near = palette
    canvas.gradient([high, mix(high, low, 0.7), light], bands=None)
    _sun(canvas, canvas.width * 0.7, canvas.height * 0.75, 50, light)

    def fern(x, y, angle, length, depth):
        end = (x + length * math.cos(angle), y + length * math.sin(angle))
        canvas.line([(x, y), end], mix("#ffffff", low, 0.12 * (3 - depth)), 0.8 + depth * 0.9)
        if depth == 0:
            return
        for step in range(3, 12):
            share = step / 12
            root = (x + (end[0] - x) * share, y + (end[1] - y) * share)
            for side in (-1, 1):
                fern(*root, angle + side * chance.uniform(0.85, 1.05), length * 0.42 * (1 - share * 0.6), depth - 1)

    for index in range(9):
        x = canvas.width * (index + chance.random()) / 9
        bottom = index % 3 != 1
        fern(x, canvas.height + 5 if bottom else -5, (-math.pi / 2 if bottom else math.pi / 2) + chance.uniform(-0.5, 0.5),
             min(canvas.width, canvas.height) * chance.uniform(0.35, 0.75), 2)


def apples(canvas, palette, chance):
    high, low, light, far, near = palette
    canvas.gradient([mix(near, far, 0.3), near], bands=None)
    for row in range(7):
        for column in range(8):
            size = canvas.width * 0.085
            x = column * canvas.width / 7 + (row % 2) * size * 0.8 + chance.uniform(-8, 8)
            y = canvas.height * 0.12 + row * size * 1.65 + chance.uniform(-8, 8)
            colour = mix(chance.choice(("#b3352c", "#c9562e", "#d0913a", "#8f9a3e")), near, chance.uniform(0, 0.2))
            for ring in range(12):
                share = ring / 12
                canvas.ellipse(x - size * 0.25 * share, y - size * 0.28 * share, size * (1 - share), size * (1 - share),
                               mix(darker(colour, 0.45), lighter(colour, 0.35), share))
            canvas.line(bezier((x, y - size * 0.5), (x + 4, y - size * 0.8), (x + 12, y - size * 0.95)), "#3a2416", 4)
            if chance.random() < 0.4:
                leaf = bezier((x + 8, y - size * 0.8), (x + 30, y - size * 1.3), (x + 62, y - size * 0.9))
                canvas.polygon(leaf + bezier((x + 62, y - size * 0.9), (x + 34, y - size * 0.6), (x + 8, y - size * 0.8)), "#5f7a3a")


KINDS = {"hills": hills, "sea": sea, "forest": forest, "field": field, "clouds": clouds, "night": night, "river": river,
         "rain": rain, "frost": frost, "apples": apples}
