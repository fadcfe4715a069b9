"""Draws the pages of a comic from its story: panels, figures, balloons."""
from dataclasses import dataclass

from generator import lettering
from generator.canvas import INK, Canvas, mix, seeded, text_width, wrap_evenly
from generator.cast import CAST

WIDTH, HEIGHT = 1000, 1500
MARGIN, FOOT, GUTTER = 44, 66, 14
COLOURS = 128
SHOTS = {"wide": 0.54, "mid": 0.84, "close": 1.55}
EARS = {"hare": 0.27, "fox": 0.07, "owl": 0.05, "badger": 0.0, "mouse": 0.05}


@dataclass(frozen=True)
class Panel:
    """`scene` is "name@light" or "name:detail@light"; `figures` is "who place facing pose mood; ..."."""
    scene: str
    figures: str = ""
    speech: tuple = ()
    caption: str = None
    shot: str = "mid"
    sound: str = None


@dataclass(frozen=True)
class Page:
    """`layout` lists rows as "height:width,width"; widths and heights are shares."""
    layout: str
    panels: tuple


@dataclass(frozen=True)
class Style:
    scenery: object
    title_font: str
    title_colour: str
    band: str
    caption: str
    paper: str = "#fffaf0"


@dataclass(frozen=True)
class Story:
    slug: str
    series: str
    title_lines: tuple
    number: str
    title: str
    date: str
    price: str
    style: Style
    cover: Panel
    cover_line: str
    introduction: tuple
    pages: tuple
    closing: tuple


def panel(scene, figures="", *speech, caption=None, shot="mid", sound=None):
    return Panel(scene, figures, speech, caption, shot, sound)


def page(layout, *panels):
    return Page(layout, panels)


def draw(story):
    """The pages in reading order, as images with a limited palette."""
    drawers = [draw_cover, draw_introduction]
    drawers += [lambda story, content=content, number=number: draw_page(story, content, number)
                for number, content in enumerate(story.pages, start=3)]
    drawers.append(draw_closing)
    for drawer in drawers:
        yield lambda drawer=drawer: drawer(story).finished().quantize(COLOURS, dither=0)


def draw_panel(story, content, width, height, key):
    canvas = Canvas(width, height)
    name, _, light = content.scene.partition("@")
    name, _, detail = name.partition(":")
    scenery = story.style.scenery
    lights = scenery.LIGHTS[light]
    chance = seeded(story.slug, name, key)
    scenery.BACKGROUNDS[name](canvas, lights, chance, detail)
    top = 8
    if content.caption:
        top = lettering.draw_caption(canvas, content.caption, story.style.caption) + 7
    figures = [entry.split() for entry in content.figures.split(";") if entry.strip()]
    places = {entry[0]: float(entry[1]) * width for entry in figures}
    speeches = []
    for entry in content.speech:
        speaker, text = entry.split(": ", 1)
        speeches.append((places.get(speaker, _offstage(speaker) * width), text))
    balloons = lettering.arrange(speeches, width, top)
    heads = _draw_figures(canvas, content, figures, balloons, top)
    if name in scenery.FOREGROUNDS:
        scenery.FOREGROUNDS[name](canvas, lights, seeded(key, "front"), detail)
    if content.sound:
        text, x, y, degrees, size = content.sound
        canvas.tilted_text(x * width, y * height, text, "poster", size, story.style.title_colour, degrees)
    for balloon, entry in zip(balloons, content.speech):
        speaker = entry.split(": ", 1)[0]
        head = heads.get(speaker, (_offstage(speaker) * width, height * 0.8))
        lettering.draw_balloon(canvas, balloon, head)
    return canvas


def _offstage(speaker):
    """Someone outside the panel speaks from the side that is written after the name, as in `nine>`."""
    return {">": 1.1, "<": -0.1}.get(speaker[-1], 0.5)


def _draw_figures(canvas, content, figures, balloons, top):
    scale = SHOTS[content.shot]
    heights, ground = [], canvas.height * 0.94
    for who, place, *_ in figures:
        character = CAST[who]
        size = character.size if content.shot != "close" else character.size ** 0.4
        height = canvas.height * scale * size
        if content.shot == "wide":
            height = min(height, 2.2 * size * canvas.width / len(figures))  # a crowd stands side by side
        x, reach = float(place) * canvas.width, height * 0.24
        clear = max([top] + [balloon.bottom + 16 for balloon in balloons if abs(balloon.x - x) < balloon.width / 2 + reach])
        ears = EARS.get(character.kind, 0.02)
        if content.shot == "wide":
            height = max(min(height, (ground - clear) / (1 + ears)), canvas.height * 0.24)
        heights.append((height, clear + ears * height))
    needed = max([ground] + [clear + height for height, clear in heights])
    if heights:
        needed = min(needed, canvas.height + 0.52 * min(height for height, _ in heights))
    if content.shot == "wide":
        needed = ground
    heads = {}
    for (height, clear), (who, place, facing, pose, mood) in zip(heights, figures):
        # Someone small beside someone tall is lifted rather than lost below the panel's edge.
        top = min(needed - height, max(clear, canvas.height * 0.58))
        heads[who] = CAST[who].draw(canvas, float(place) * canvas.width, top, height,
                                     1 if facing == "r" else -1, pose, mood)
    return heads


def _rows(layout, lean):
    """The panels' corners: clockwise from the top left, with gutters that lean a little."""
    rows = [row.split(":") for row in layout.split("|")]
    total = sum(float(height) for height, _ in rows)
    usable = HEIGHT - MARGIN - FOOT - GUTTER * (len(rows) - 1)
    top = MARGIN
    for index, (share, widths) in enumerate(rows):
        bottom = top + usable * float(share) / total
        widths = [float(width) for width in widths.split(",")]
        space = WIDTH - 2 * MARGIN - GUTTER * (len(widths) - 1)
        left = MARGIN
        for column, width in enumerate(widths):
            right = left + space * width / sum(widths)
            tilt = lean * (1 if index % 2 == 0 else -1)
            left_tilt = tilt if column else 0
            right_tilt = tilt if column < len(widths) - 1 else 0
            yield [(left + left_tilt, top), (right + right_tilt, top), (right - right_tilt, bottom), (left - left_tilt, bottom)]
            left = right + GUTTER
        top = bottom + GUTTER


def draw_page(story, content, number):
    canvas = Canvas(WIDTH, HEIGHT, story.style.paper)
    lean = (0, 11, 0, -13)[number % 4]
    shapes = list(_rows(content.layout, lean))
    if len(shapes) != len(content.panels):
        raise ValueError(f"{story.slug}: page {number} has {len(content.panels)} panels for {len(shapes)} places")
    for index, (shape, inside) in enumerate(zip(shapes, content.panels)):
        left, right = min(x for x, _ in shape), max(x for x, _ in shape)
        top, bottom = shape[0][1], shape[2][1]
        drawn = draw_panel(story, inside, right - left, bottom - top, f"{number}/{index}")
        canvas.paste(drawn, left, top, shape)
        canvas.polygon(shape, None, INK, 5)
    canvas.text(WIDTH / 2, HEIGHT - 26, str(number), "lettering", 22, INK, anchor="ms")
    canvas.spaced_text(MARGIN, HEIGHT - 27, story.series.upper(), "poster", 17, mix(INK, story.style.paper, 0.4), 2)
    canvas.spaced_text(WIDTH - MARGIN, HEIGHT - 27, f"No. {story.number}", "poster", 17,
                       mix(INK, story.style.paper, 0.4), 2, anchor="r")
    return canvas


def draw_cover(story):
    style = story.style
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.paste(draw_panel(story, story.cover, WIDTH, HEIGHT, "cover"), 0, 0)
    size = min(230, 230 * 900 / max(text_width(line, style.title_font, 230) for line in story.title_lines))
    for index, line in enumerate(story.title_lines):
        y = 190 + index * size * 0.92
        canvas.text(WIDTH / 2 + 7, y + 9, line, style.title_font, size, INK, "ms", INK, 9)
        canvas.text(WIDTH / 2, y, line, style.title_font, size, style.title_colour, "ms", INK, 7)
    canvas.box(36, 1266, 176, 1440, "#fffdf6", INK, 5)
    canvas.box(36, 1266, 176, 1306, style.band, INK, 5)
    canvas.spaced_text(106, 1294, "PULLBOX", "poster", 24, "#fffdf6", 3, "m")
    canvas.text(106, 1382, f"#{story.number}", "poster", 78, INK, "ms")
    canvas.text(106, 1406, story.date, "lettering", 18, INK, "ms")
    canvas.text(106, 1430, f"${story.price}", "lettering", 20, INK, "ms")
    lines = wrap_evenly(story.cover_line.upper(), "poster", 52, 700)
    top = 1430 - len(lines) * 54
    canvas.polygon([(216, top - 12), (WIDTH, top - 26), (WIDTH, 1452), (202, 1440)], style.band, INK, 5)
    for index, line in enumerate(lines):
        canvas.text(240, top + 40 + index * 54, line, "poster", 52, "#fffdf6", "ls")
    return canvas


def draw_introduction(story):
    """The inside front cover: the story so far, who is who, and who made it."""
    style = story.style
    canvas = Canvas(WIDTH, HEIGHT, style.paper)
    canvas.paste(draw_panel(story, Panel(story.cover.scene), WIDTH, 560, "introduction"), 0, 0)
    canvas.box(-10, 552, WIDTH + 10, 566, style.band, INK, 4)
    canvas.text(WIDTH / 2, 660, story.title, style.title_font, 84, style.band, "ms")
    y = 724
    for paragraph in story.introduction[0]:
        for line in wrap_evenly(paragraph, "lettering", 27, 780):
            canvas.text(WIDTH / 2, y, line, "lettering", 27, INK, "ms")
            y += 36
        y += 16
    people = story.introduction[1]
    for index, (who, words) in enumerate(people):
        x = WIDTH * (index + 0.5) / len(people)
        canvas.ellipse(x, 1080, 138, 138, mix(style.band, style.paper, 0.72), INK, 4)
        CAST[who].draw(canvas, x - 8, 988, 200, 1, "wave", "happy")
        canvas.text(x, 1278, who.title(), style.title_font, 46, style.band, "ms")
        for row, line in enumerate(wrap_evenly(words, "lettering", 21, 240)):
            canvas.text(x, 1314 + row * 26, line, "lettering", 21, INK, "ms")
    canvas.text(WIDTH / 2, HEIGHT - 52, f"{story.series} No. {story.number}. Written, drawn and lettered by Pullbox.",
                "lettering italic", 19, INK, "ms")
    canvas.text(WIDTH / 2, HEIGHT - 26, "2", "lettering", 22, INK, anchor="ms")
    return canvas


def draw_closing(story):
    """The back cover: what comes next."""
    style = story.style
    heading, scene, words = story.closing
    canvas = Canvas(WIDTH, HEIGHT, style.band)
    canvas.paste(draw_panel(story, Panel(scene), WIDTH - 120, 800, "closing"), 60, 150)
    canvas.box(60, 150, WIDTH - 60, 950, None, INK, 6)
    canvas.spaced_text(WIDTH / 2, 104, "NEXT ISSUE", "poster", 54, "#fffdf6", 10, "m")
    canvas.text(WIDTH / 2, 1068, heading, style.title_font, 92, style.title_colour, "ms", INK, 4)
    y = 1140
    for paragraph in words:
        for line in wrap_evenly(paragraph, "lettering", 29, 760):
            canvas.text(WIDTH / 2, y, line, "lettering", 29, "#fffdf6", "ms")
            y += 39
        y += 18
    canvas.spaced_text(WIDTH / 2, HEIGHT - 52, "KEPT FOR YOU IN YOUR PULLBOX", "poster", 24, "#fffdf6", 5, "m")
    return canvas
