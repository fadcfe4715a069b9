"""A page or panel to draw on, in page units, drawn larger than it is kept so that edges come out smooth."""
import math
import random
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

OVERSAMPLING = 2
INK = "#1b1722"
FONT_FOLDERS = ("/usr/share/fonts/opentype/", "/usr/share/fonts/truetype/")
FONTS = {
    "lettering": "comic-neue/ComicNeue-Bold.otf",
    "lettering italic": "comic-neue/ComicNeue-BoldItalic.otf",
    "poster": "bebas-neue/BebasNeue-Bold.otf",
    "script": "leckerli-one/LeckerliOne-Regular.ttf",
    "sans": "lato/Lato-Regular.ttf",
    "sans bold": "lato/Lato-Bold.ttf",
    "sans black": "lato/Lato-Black.ttf",
    "sans italic": "lato/Lato-Italic.ttf",
    "serif": "vollkorn/Vollkorn-Regular.ttf",
    "serif italic": "vollkorn/Vollkorn-Italic.ttf",
    "serif bold": "vollkorn/Vollkorn-Bold.ttf",
    "serif black": "vollkorn/Vollkorn-Black.ttf",
}


@lru_cache(maxsize=None)
def font(name, size):
    for folder in FONT_FOLDERS:
        try:
            # Basic layout gives the same bytes whether or not this Pillow was built with Raqm.
            return ImageFont.truetype(folder + FONTS[name], round(size * OVERSAMPLING),
                                      layout_engine=ImageFont.Layout.BASIC)
        except OSError:
            continue
    raise ValueError(f"the font {FONTS[name]} is missing; content/README.md lists the packages to install")


def text_width(text, name, size):
    return font(name, size).getlength(text) / OVERSAMPLING


def wrap(text, name, size, width):
    """Lines no wider than `width`; a word longer than that stands alone."""
    lines = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, name, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def wrap_evenly(text, name, size, width):
    """The same number of lines as `wrap`, but of lengths as equal as they can be."""
    lines = wrap(text, name, size, width)
    while True:
        width -= 6
        narrower = wrap(text, name, size, width)
        if len(narrower) > len(lines) or any(text_width(line, name, size) > width for line in narrower):
            return lines
        lines = narrower


def mix(first, second, share):
    """The colour `share` of the way from `first` to `second`."""
    return tuple(round(a + (b - a) * share) for a, b in zip(rgb(first), rgb(second)))


@lru_cache(maxsize=None)
def rgb(colour):
    if isinstance(colour, tuple):
        return colour
    return tuple(int(colour[index:index + 2], 16) for index in (1, 3, 5))


def darker(colour, share=0.25):
    return mix(colour, INK, share)


def lighter(colour, share=0.3):
    return mix(colour, "#ffffff", share)


def superellipse(x, y, radius_x, radius_y, exponent=2.0, steps=72):
    points = []
    for step in range(steps):
        angle = 2 * math.pi * step / steps
        cosine, sine = math.cos(angle), math.sin(angle)
        points.append((x + radius_x * math.copysign(abs(cosine) ** (2 / exponent), cosine),
                       y + radius_y * math.copysign(abs(sine) ** (2 / exponent), sine)))
    return points


def bezier(start, control, end, steps=16):
    points = []
    for step in range(steps + 1):
        t = step / steps
        points.append(tuple((1 - t) ** 2 * a + 2 * t * (1 - t) * b + t * t * c
                            for a, b, c in zip(start, control, end)))
    return points


class Canvas:
    def __init__(self, width, height, colour="#ffffff"):
        self.width, self.height = width, height
        self.image = Image.new("RGB", (self._pixels(width), self._pixels(height)), rgb(colour))
        self.draw = ImageDraw.Draw(self.image)

    @staticmethod
    def _pixels(length):
        return max(1, round(length * OVERSAMPLING))

    def _scaled(self, points):
        return [(x * OVERSAMPLING, y * OVERSAMPLING) for x, y in points]

    def finished(self):
        return self.image.reduce(OVERSAMPLING)

    def polygon(self, points, fill=None, outline=None, width=3):
        points = self._scaled(points)
        if fill is not None:
            self.draw.polygon(points, fill=rgb(fill))
        if outline is not None:
            self._stroke(points + points[:2], outline, width)

    def line(self, points, colour=INK, width=3):
        self._stroke(self._scaled(points), colour, width)

    def _stroke(self, points, colour, width):
        pixels = max(1, round(width * OVERSAMPLING))
        self.draw.line(points, fill=rgb(colour), width=pixels, joint="curve")
        if pixels > 3:
            radius = pixels / 2 - 0.5
            for x, y in (points[0], points[-1]):
                self.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=rgb(colour))

    def ellipse(self, x, y, radius_x, radius_y=None, fill=None, outline=None, width=3):
        radius_y = radius_x if radius_y is None else radius_y
        self.polygon(superellipse(x, y, radius_x, radius_y), fill, outline, width)

    def box(self, left, top, right, bottom, fill=None, outline=None, width=3, radius=0):
        if radius <= 0:
            self.polygon([(left, top), (right, top), (right, bottom), (left, bottom)], fill, outline, width)
            return
        radius = min(radius, (right - left) / 2, (bottom - top) / 2)
        points = []
        for x, y, start in ((right - radius, top + radius, -90), (right - radius, bottom - radius, 0),
                            (left + radius, bottom - radius, 90), (left + radius, top + radius, 180)):
            for step in range(9):
                angle = math.radians(start + step * 90 / 8)
                points.append((x + radius * math.cos(angle), y + radius * math.sin(angle)))
        self.polygon(points, fill, outline, width)

    def arc(self, x, y, radius_x, radius_y, start, end, colour=INK, width=3):
        angles = [math.radians(start + (end - start) * step / 20) for step in range(21)]
        self.line([(x + radius_x * math.cos(a), y + radius_y * math.sin(a)) for a in angles], colour, width)

    def gradient(self, colours, top=0, bottom=None, bands=14):
        """Flat bands from one colour to the next, as a printed comic has them; `bands=None` is smooth."""
        bottom = self.height if bottom is None else bottom
        steps = bands or round((bottom - top) * OVERSAMPLING)
        for step in range(steps):
            place = step / max(1, steps - 1) * (len(colours) - 1)
            index = min(int(place), len(colours) - 2)
            colour = mix(colours[index], colours[index + 1], place - index)
            start = top + (bottom - top) * step / steps
            self.draw.rectangle((0, start * OVERSAMPLING, self.image.width, bottom * OVERSAMPLING), fill=colour)

    def text(self, x, y, text, name, size, colour=INK, anchor="ls", outline=None, outline_width=0):
        self.draw.text((x * OVERSAMPLING, y * OVERSAMPLING), text, font=font(name, size), fill=rgb(colour),
                       anchor=anchor, stroke_width=round(outline_width * OVERSAMPLING),
                       stroke_fill=None if outline is None else rgb(outline))

    def spaced_text(self, x, y, text, name, size, colour=INK, spacing=3, anchor="l"):
        """Letterspaced text; `anchor` is l, m or r."""
        widths = [text_width(letter, name, size) + spacing for letter in text]
        x -= {"l": 0, "m": 0.5, "r": 1}[anchor] * (sum(widths) - spacing)
        for letter, width in zip(text, widths):
            self.text(x, y, letter, name, size, colour)
            x += width

    def tilted_text(self, x, y, text, name, size, colour, degrees, outline=INK, outline_width=5):
        """Display lettering, centred on x, y."""
        width = text_width(text, name, size) + 4 * outline_width
        side = self._pixels(max(width, size * 2))
        mask = Image.new("L", (side, side))
        edge = Image.new("L", (side, side))
        arguments = dict(font=font(name, size), fill=255, anchor="mm")
        ImageDraw.Draw(mask).text((side / 2, side / 2), text, **arguments)
        ImageDraw.Draw(edge).text((side / 2, side / 2), text, stroke_width=round(outline_width * OVERSAMPLING),
                                  **arguments)
        corner = (round(x * OVERSAMPLING - side / 2), round(y * OVERSAMPLING - side / 2))
        for layer, fill in ((edge, outline), (mask, colour)):
            self.image.paste(rgb(fill), corner, layer.rotate(degrees, Image.Resampling.BICUBIC))

    def paste(self, other, x, y, shape=None):
        """Puts `other` at x, y; `shape`, a polygon in this canvas's units, hides what lies outside it."""
        corner = (round(x * OVERSAMPLING), round(y * OVERSAMPLING))
        mask = None
        if shape is not None:
            mask = Image.new("L", other.image.size)
            ImageDraw.Draw(mask).polygon([(px * OVERSAMPLING - corner[0], py * OVERSAMPLING - corner[1])
                                          for px, py in shape], fill=255)
        self.image.paste(other.image, corner, mask)

    def glow(self, x, y, radius, colour, strength=0.6, steps=5):
        """Rings of light that let what is beneath show through."""
        for step in range(steps):
            ring = radius * (1 - step / steps)
            self.tint(superellipse(x, y, ring, ring), colour, strength / steps * (1 + step * 0.35))

    def tint(self, points, colour, share):
        """Covers a polygon with a colour that is `share` opaque."""
        scaled = self._scaled(points)
        left = max(0, int(min(x for x, _ in scaled)))
        top = max(0, int(min(y for _, y in scaled)))
        right = min(self.image.width, int(max(x for x, _ in scaled)) + 1)
        bottom = min(self.image.height, int(max(y for _, y in scaled)) + 1)
        if right <= left or bottom <= top:
            return
        mask = Image.new("L", (right - left, bottom - top))
        ImageDraw.Draw(mask).polygon([(x - left, y - top) for x, y in scaled], fill=round(255 * share))
        self.image.paste(rgb(colour), (left, top), mask)


def seeded(*parts):
    """Randomness that depends only on its name, so that every page can be redrawn alone."""
    return random.Random("/".join(str(part) for part in parts))
