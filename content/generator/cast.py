"""The characters of the comics, drawn from simple shapes.

A figure stands 100 units tall: 0 is the top of its head, 100 the ground, x grows the way it faces.
"""
from dataclasses import dataclass

from generator.canvas import INK, bezier, darker, lighter, superellipse

# Where the near hand and the far hand are, in figure units.
POSES = {
    "down": ((25, 68), (-25, 68)),
    "point": ((50, 44), (-25, 68)),
    "wave": ((42, 16), (-25, 68)),
    "up": ((36, 12), (-36, 12)),
    "hold": ((22, 58), (10, 60)),
    "think": ((15, 38), (-22, 66)),
    "reach": ((48, 52), (42, 58)),
}


class Frame:
    """Figure units to canvas units."""

    def __init__(self, canvas, x, top, height, facing):
        self.canvas, self.x, self.top, self.unit, self.facing = canvas, x, top, height / 100, facing
        self.stroke = max(2.2, min(5.5, height / 90))

    def at(self, x, y):
        return self.x + self.facing * x * self.unit, self.top + y * self.unit

    def shape(self, points, fill, outline=INK):
        self.canvas.polygon([self.at(*point) for point in points], fill, outline, self.stroke)

    def oval(self, x, y, radius_x, radius_y=None, fill=None, outline=INK, exponent=2.0):
        radius_y = radius_x if radius_y is None else radius_y
        self.shape(superellipse(x, y, radius_x, radius_y, exponent), fill, outline)

    def line(self, points, colour=INK, width=None):
        self.canvas.line([self.at(*point) for point in points], colour, width or self.stroke)

    def limb(self, start, end, thickness, colour, bend=6):
        middle = ((start[0] + end[0]) / 2 + bend, (start[1] + end[1]) / 2 + abs(bend) * 0.8)
        points = bezier(start, middle, end)
        self.line(points, INK, thickness * self.unit + 2 * self.stroke)
        self.line(points, colour, thickness * self.unit)

    def eye(self, x, y, radius, mood, white="#ffffff", pupil=INK, lid=INK):
        if mood in ("happy", "shut"):
            lift = -radius if mood == "happy" else radius
            self.line(bezier((x - radius, y), (x, y + lift * 1.6), (x + radius, y)), lid, self.stroke * 1.3)
            return
        size = radius * (1.25 if mood == "surprised" else 1)
        self.oval(x, y, size, size * 1.1, white)
        self.oval(x + size * 0.3, y + (size * 0.25 if mood == "worried" else 0), size * 0.48, None, pupil, None)
        self.oval(x + size * 0.45, y - size * 0.25, size * 0.16, None, "#ffffff", None)
        if mood == "worried":
            self.line([(x - size * 1.1, y - size * 1.15), (x + size, y - size * 1.75)])
        elif mood == "firm":
            self.line([(x - size * 1.1, y - size * 1.6), (x + size, y - size * 1.05)])

    def mouth(self, x, y, width, mood):
        if mood == "surprised":
            self.oval(x, y + 1, width * 0.35, width * 0.45, "#6b2431")
            return
        curve = {"happy": 5, "calm": 2, "worried": -3.5, "firm": 0, "shut": 2}[mood]
        self.line(bezier((x - width / 2, y), (x, y + curve), (x + width / 2, y)))


@dataclass(frozen=True)
class Character:
    name: str
    size: float  # height beside the tallest of the cast
    kind: str
    colour: str
    clothes: str = "#888888"
    crown: tuple = (3, 3)  # where a balloon's tail points

    def draw(self, canvas, x, top, height, facing=1, pose="down", mood="calm"):
        """Returns the point a balloon's tail should lead to."""
        frame = Frame(canvas, x, top, height, facing)
        DRAWERS.get(self.kind, draw_animal)(frame, self, pose, mood)
        return frame.at(*self.crown)


def draw_round_robot(frame, character, pose, mood):
    near, far = POSES[pose]
    metal = darker(character.colour, 0.45)
    frame.limb((-24, 56), far, 5, metal, -4)
    for x in (-12, 12):
        frame.limb((x, 80), (x, 94), 6, metal, 0)
        frame.oval(x + 3, 96, 10, 5, metal)
    frame.line([(0, 20), (-5, 5)], INK, frame.stroke * 1.5)
    frame.oval(-5, 5, 4.5, None, "#ff5d5d")
    frame.oval(0, 50, 32, 33, character.colour)
    frame.shape(bezier((-29, 62), (0, 92), (29, 62)) + bezier((29, 62), (0, 74), (-29, 62)),
                darker(character.colour, 0.2), None)
    frame.oval(-14, 32, 7, 4, lighter(character.colour, 0.55), None)
    frame.oval(9, 45, 17, 17, darker(character.colour, 0.7))
    frame.eye(10, 45, 11.5, mood, "#9ff3ee", "#0c3c46", "#9ff3ee")
    for offset in (-5, 0, 5):
        frame.line([(9 + offset, 67), (9 + offset, 72)], INK, frame.stroke)
    frame.limb((25, 58), near, 5, metal, 4)
    frame.oval(*near, 5.5, None, character.colour)


def draw_tall_robot(frame, character, pose, mood):
    near, far = POSES[pose]
    metal = darker(character.colour, 0.4)
    frame.limb((-20, 42), far, 4.5, metal, -4)
    for x in (-10, 10):
        frame.limb((x, 74), (x, 94), 6, metal, 0)
        frame.oval(x + 3, 97, 9, 4, metal)
    frame.line([(0, 30), (0, 40)], INK, 9 * frame.unit)
    frame.shape(superellipse(0, 56, 23, 20, 5), character.colour)
    frame.shape(superellipse(-12, 56, 8, 16, 5), darker(character.colour, 0.18), None)
    frame.shape(superellipse(6, 52, 10, 7, 6), "#f3e3b0")
    for offset in (-5, 0, 5):
        frame.line([(6 + offset, 48), (6 + offset, 56)], "#b5512f", frame.stroke * 0.8)
    frame.shape(superellipse(0, 18, 20, 14, 6), character.colour)
    frame.shape(superellipse(0, 5, 12, 3, 3), metal)
    frame.shape(superellipse(4, 16, 15, 8, 4), darker(character.colour, 0.7))
    frame.eye(-1, 16, 4.6, mood, "#ffe9a3", "#5a3412", "#ffe9a3")
    frame.eye(11, 16, 4.6, mood, "#ffe9a3", "#5a3412", "#ffe9a3")
    frame.mouth(6, 27, 9, mood)
    frame.limb((21, 43), near, 4.5, metal, 5)
    frame.oval(*near, 4.8, None, character.colour)


def draw_buoy(frame, character, pose, mood):
    near, far = POSES[pose]
    frame.limb((-14, 58), (far[0] * 0.8, far[1]), 4, "#6f6a72", -4)
    frame.oval(0, 90, 34, 9, darker(character.colour, 0.35))
    levels = [(40, 13), (52, 17), (64, 21), (76, 25), (90, 29)]
    for index, ((top, narrow), (bottom, wide)) in enumerate(zip(levels, levels[1:])):
        colour = character.colour if index % 2 == 0 else "#efe6d2"
        frame.shape([(-narrow, top), (narrow, top), (wide, bottom), (-wide, bottom)], colour)
    frame.shape([(-19, 76), (-13, 76), (-12, 90), (-21, 90)], darker(character.colour, 0.45), None)
    frame.oval(0, 30, 18, 14, "#efe6d2", exponent=3)
    frame.eye(6, 30, 8.5, mood, "#fff6c8", "#473012")
    frame.shape([(-9, 17), (9, 17), (6, 4), (-6, 4)], "#ffe27a" if mood != "shut" else "#8b8578")
    frame.oval(0, 3, 8, 3, "#6f6a72")
    frame.canvas.text(*frame.at(0, 73), "9", "poster", 15 * frame.unit, INK, anchor="ms")
    frame.limb((15, 58), (near[0] * 0.85, near[1]), 4, "#6f6a72", 4)
    frame.oval(near[0] * 0.85, near[1], 4.5, None, "#efe6d2")


def draw_animal(frame, character, pose, mood):
    near, far = POSES[pose]
    fur, clothes = character.colour, character.clothes
    if character.kind == "fox":
        tail = bezier((-12, 82), (-58, 96), (-46, 52)) + bezier((-46, 52), (-34, 70), (-10, 70))
        frame.shape(tail, fur)
        frame.shape(bezier((-50, 66), (-52, 56), (-46, 52)) + [(-42, 62)], "#fff4e2", None)
    elif character.kind == "mouse":
        frame.line(bezier((-14, 84), (-40, 96), (-44, 70)), INK, 3 * frame.unit + frame.stroke)
        frame.line(bezier((-14, 84), (-40, 96), (-44, 70)), "#d99a94", 3 * frame.unit)
    frame.limb((-14, 50), far, 6.5, darker(clothes, 0.15), -4)
    frame.oval(far[0], far[1], 4.2, None, fur)
    for x in (-8, 8):
        frame.limb((x, 82), (x, 95), 6.5, darker(clothes, 0.55), 0)
        frame.oval(x + 3, 97, 7.5, 3.6, "#4a3328")
    body = [(-13, 42), (13, 42)] + bezier((13, 42), (20, 60), (21, 86)) + [(-21, 86)] + \
        bezier((-21, 86), (-20, 60), (-13, 42))
    frame.shape(body, clothes)
    frame.shape([(-21, 86), (-9, 86)] + bezier((-9, 86), (-10, 60), (-6, 44)) + [(-13, 44)] +
                bezier((-13, 44), (-20, 60), (-21, 86)), darker(clothes, 0.2), None)
    frame.line([(4, 46), (6, 86)], darker(clothes, 0.55), frame.stroke * 0.8)
    for y in (54, 64, 74):
        frame.oval(8.5, y, 1.3, None, "#f6e3a1", None)
    HEADS[character.kind](frame, fur, mood)
    frame.shape([(-12, 41), (14, 41), (12, 47), (-10, 47)], darker(clothes, 0.4))
    frame.limb((14, 50), near, 6.5, clothes, 5)
    frame.oval(near[0], near[1], 4.4, None, fur)


def eyes(frame, mood, y=22, radius=3.8):
    frame.eye(1, y, radius, mood)
    frame.eye(13, y, radius, mood)


def fox_head(frame, fur, mood):
    for x in (-12, 8):
        frame.shape([(x - 7, 14), (x - 3, -6), (x + 8, 10)], fur)
        frame.shape([(x - 3.5, 11), (x - 2, -0.5), (x + 4, 10)], "#4a3038", None)
    frame.oval(0, 24, 20, 17, fur)
    frame.shape(bezier((2, 26), (18, 22), (30, 33)) + bezier((30, 33), (16, 44), (-2, 39)) + [(-6, 32)],
                "#fff4e2", None)
    frame.shape(bezier((30, 32), (16, 44), (-2, 40)) + bezier((-2, 40), (16, 40), (30, 32)), INK, None)
    frame.line(bezier((12, 24), (22, 24), (30, 32)))
    frame.oval(29.5, 32, 3.2, 2.7, INK, None)
    eyes(frame, mood, 21)
    frame.mouth(15, 37, 9, mood)


def hare_head(frame, fur, mood):
    for x, lean in ((-9, -9), (4, 3)):
        ear = bezier((x - 5, 14), (x - 8 + lean, -12), (x + lean, -26)) + \
            bezier((x + lean, -26), (x + 9 + lean, -10), (x + 6, 12))
        frame.shape(ear, fur)
        frame.line(bezier((x, 8), (x + lean * 0.6, -8), (x + lean, -18)), "#e7a79c", 4 * frame.unit)
    frame.oval(0, 25, 18, 17, fur)
    frame.oval(12, 32, 9, 7, lighter(fur, 0.55), None)
    frame.oval(15, 28, 3, 2.2, "#c46a6a", None)
    frame.shape([(12, 37), (17, 37), (16.5, 41), (12.5, 41)], "#ffffff")
    frame.mouth(14, 36, 10, mood)
    eyes(frame, mood, 20)


def owl_head(frame, fur, mood):
    for x in (-14, 10):
        frame.shape([(x - 5, 14), (x, -4), (x + 8, 11)], darker(fur, 0.25))
    frame.oval(0, 25, 21, 19, fur)
    frame.oval(-2, 23, 10, None, lighter(fur, 0.55))
    frame.oval(14, 23, 9.5, None, lighter(fur, 0.55))
    frame.eye(-1, 23, 5.6, mood)
    frame.eye(14, 23, 5.4, mood)
    frame.shape([(5, 28), (12, 28), (9, 37)], "#e3a53a")


def badger_head(frame, fur, mood):
    for x in (-14, 9):
        frame.oval(x, 11, 5, None, darker(fur, 0.3))
    frame.oval(0, 25, 20, 17, "#f4efe6")
    for x in (-1, 13):
        frame.shape([(x - 5, 9), (x + 3, 9), (x + 4, 33), (x - 4, 33)], darker(fur, 0.45), None)
    frame.oval(15, 33, 8, 6, "#f4efe6")
    frame.oval(19, 30, 3.4, 2.8, INK, None)
    frame.mouth(14, 38, 8, mood)
    eyes(frame, mood, 22, 3.5)


def mouse_head(frame, fur, mood):
    for x in (-15, 9):
        frame.oval(x, 7, 11, None, fur)
        frame.oval(x + 0.5, 7.5, 6.8, None, "#e7b3ab", None)
    frame.shape(superellipse(0, 25, 18, 15), fur)
    frame.shape(bezier((8, 20), (24, 24), (26, 31)) + bezier((26, 31), (18, 38), (4, 38)), fur, None)
    frame.oval(25, 31, 2.8, None, "#c46a6a")
    frame.mouth(14, 35, 8, mood)
    eyes(frame, mood, 22, 3.6)


def hedgehog_head(frame, fur, mood):
    spikes = []
    for index in range(15):
        x, y = superellipse(-6, 26, 25, 26, 2, 30)[(index + 13) % 30]
        spikes.append((x, y) if index % 2 else (-6 + (x + 6) * 1.22, 26 + (y - 26) * 1.22))
    frame.shape(spikes + [(10, 40), (-14, 46)], darker(fur, 0.45))
    frame.oval(4, 27, 15, 14, lighter(fur, 0.35))
    frame.shape(bezier((10, 24), (24, 26), (27, 30)) + bezier((27, 30), (20, 38), (8, 38)), lighter(fur, 0.35), None)
    frame.oval(26, 30, 3, None, INK, None)
    frame.mouth(15, 36, 8, mood)
    eyes(frame, mood, 23, 3.4)


HEADS = {"fox": fox_head, "hare": hare_head, "owl": owl_head, "badger": badger_head, "mouse": mouse_head,
         "hedgehog": hedgehog_head}
DRAWERS = {"round robot": draw_round_robot, "tall robot": draw_tall_robot, "buoy": draw_buoy}

CAST = {character.name: character for character in (
    Character("bex", 0.66, "round robot", "#f08a3c", crown=(4, 14)),
    Character("torque", 1.0, "tall robot", "#4f9aa0", crown=(4, 1)),
    Character("nine", 0.82, "buoy", "#d2453f", crown=(2, -2)),
    Character("moss", 0.92, "fox", "#dd7a35", "#3f6b4c"),
    Character("mallow", 0.86, "hare", "#cdb79c", "#b8576b"),
    Character("quill", 0.95, "owl", "#8d7156", "#4a5a86"),
    Character("brock", 1.0, "badger", "#5b5f66", "#7a5a8c"),
    Character("pip", 0.62, "mouse", "#a8a3a8", "#d9a33c"),
    Character("thistle", 0.7, "hedgehog", "#9a7448", "#4f8a94"),
)}
