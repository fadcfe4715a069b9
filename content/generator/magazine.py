"""Lays out an issue of the magazine: cover, contents, features, plates, charts, notes."""
from dataclasses import dataclass
from functools import partial

from generator.canvas import Canvas, darker, mix, text_width, wrap
from generator.charts import chart
from generator.photographs import picture

WIDTH, HEIGHT = 1000, 1400
MARGIN, GAP = 64, 32
COLUMN = (WIDTH - 2 * MARGIN - GAP) / 2
BOTTOM = 1316
SIZE, LEADING = 22, 31
TEXT = "#23232a"
PAPER = "#fdfcf8"


@dataclass(frozen=True)
class Feature:
    """`pictures` has one entry for each page: (kind, palette, caption), or a chart's data."""
    kicker: str
    title: str
    standfirst: str
    paragraphs: tuple
    pictures: tuple
    quote: str = None


@dataclass(frozen=True)
class Plate:
    picture: tuple
    title: str
    words: str


@dataclass(frozen=True)
class Charts:
    title: str
    words: str
    charts: tuple


@dataclass(frozen=True)
class Notes:
    """Short pieces under headings: letters, instructions."""
    title: str
    standfirst: str
    items: tuple
    picture: tuple


@dataclass(frozen=True)
class Table:
    title: str
    words: str
    headings: tuple
    rows: tuple


@dataclass(frozen=True)
class MagazineIssue:
    slug: str
    month: str
    number: str
    theme: str
    price: str
    accent: str
    cover: tuple
    cover_lines: tuple
    editorial: tuple
    sections: tuple
    next_issue: tuple


def draw(issue):
    """The pages in reading order."""
    contents, drawers = [], []
    number = 4
    for section in issue.sections:
        pages = list(SECTIONS[type(section)](issue, section, number))
        contents.append((number, section))
        drawers += pages
        number += len(pages)
    for drawer in [partial(cover, issue), partial(contents_page, issue, contents), partial(editorial, issue), *drawers,
                   partial(back_cover, issue)]:
        yield lambda drawer=drawer: drawer().finished()


def photograph(issue, entry, width, height):
    kind, palette = entry[:2]
    return picture(kind, palette, width, height, issue.slug + (entry[2] if len(entry) > 2 else ""))


def blank(issue, number, section_name):
    canvas = Canvas(WIDTH, HEIGHT, PAPER)
    _furniture(canvas, issue, number, section_name, TEXT)
    return canvas


def _furniture(canvas, issue, number, section_name, colour):
    y = HEIGHT - 36
    outer, inner = (MARGIN, WIDTH - MARGIN) if number % 2 == 0 else (WIDTH - MARGIN, MARGIN)
    canvas.text(outer, y, str(number), "sans black", 22, colour, "ls" if number % 2 == 0 else "rs")
    canvas.spaced_text(inner, y, f"ISOBAR  {issue.month.upper()}", "sans bold", 14, colour, 3, "r" if number % 2 == 0 else "l")
    canvas.spaced_text(WIDTH / 2, y, section_name.upper(), "sans", 14, colour, 3, "m")


def set_paragraphs(paragraphs):
    """Lines of text as (words, indent, is last of its paragraph), with room for a drop capital."""
    capital = text_width(paragraphs[0][0], "serif black", 100) + 12
    lines = []
    for number, paragraph in enumerate(paragraphs):
        words = paragraph.split()
        if number == 0:
            words[0] = words[0][1:]
        first = True
        while words:
            indent = capital if number == 0 and len(lines) < 3 else 22 if first and number else 0
            count = 1
            while count < len(words) and text_width(" ".join(words[:count + 1]), "serif", SIZE) <= COLUMN - indent:
                count += 1
            lines.append((words[:count], indent, count == len(words)))
            words, first = words[count:], False
    return lines


def draw_lines(canvas, lines, x, top):
    for row, (words, indent, last) in enumerate(lines):
        y = top + row * LEADING + SIZE
        left, room = x + indent, COLUMN - indent
        widths = [text_width(word, "serif", SIZE) for word in words]
        space = text_width(" ", "serif", SIZE)
        spare = room - sum(widths)
        if not last and len(words) > 1 and spare / (len(words) - 1) < 5 * space:
            space = spare / (len(words) - 1)
        for word, width in zip(words, widths):
            canvas.text(left, y, word, "serif", SIZE, TEXT)
            left += width + space


def draw_columns(canvas, lines, top):
    half = -(-len(lines) // 2)
    draw_lines(canvas, lines[:half], MARGIN, top)
    draw_lines(canvas, lines[half:], MARGIN + COLUMN + GAP, top)
    return top + half * LEADING


def draw_block(canvas, text, name, size, x, y, width, colour=TEXT, leading=1.3, anchor="ls"):
    for line in wrap(text, name, size, width):
        canvas.text(x, y, line, name, size, colour, anchor)
        y += size * leading
    return y


def feature_pages(issue, feature, number):
    lines = set_paragraphs(feature.paragraphs)
    count = len(feature.pictures)
    room = 2 * int((BOTTOM - 830) / LEADING)
    # The last page of a short piece still gets a few lines of it.
    first = min(room, -(-len(lines) * 3 // 5))
    yield partial(_opening, issue, feature, number, lines[:first])
    rest, pages = lines[first:], count - 1
    for index in range(pages):
        part = rest[len(rest) * index // pages:len(rest) * (index + 1) // pages]
        yield partial(_following, issue, feature, number + 1 + index, part, feature.pictures[index + 1], index)


def _opening(issue, feature, number, lines):
    canvas = blank(issue, number, feature.kicker)
    title_size = min(74, 74 * 860 / text_width(feature.title, "serif black", 74))
    standfirst = wrap(feature.standfirst, "serif italic", 27, WIDTH - 2 * MARGIN - 60)
    text_height = -(-len(lines) // 2) * LEADING
    text_top = BOTTOM - text_height
    hero = text_top - 176 - len(standfirst) * 36
    canvas.paste(photograph(issue, feature.pictures[0], WIDTH, hero), 0, 0)
    canvas.box(MARGIN, hero - 21, MARGIN + 34 + text_width(feature.kicker.upper(), "sans black", 17) + 3 * len(feature.kicker),
               hero + 21, issue.accent)
    canvas.spaced_text(MARGIN + 16, hero + 7, feature.kicker.upper(), "sans black", 17, "#ffffff", 3)
    canvas.text(MARGIN - 3, hero + 104, feature.title, "serif black", title_size, TEXT)
    for row, line in enumerate(standfirst):
        canvas.text(MARGIN, hero + 150 + row * 36, line, "serif italic", 27, mix(TEXT, issue.accent, 0.45))
    draw_columns(canvas, lines, text_top)
    canvas.text(MARGIN - 2, text_top + 2 * LEADING + SIZE + 3, feature.paragraphs[0][0], "serif black", 100, issue.accent)
    canvas.text(WIDTH - 16, 26, feature.pictures[0][2], "sans", 14, "#ffffff", "rs")
    return canvas


def _following(issue, feature, number, lines, entry, index):
    canvas = blank(issue, number, feature.kicker)
    canvas.box(MARGIN, 56, WIDTH - MARGIN, 60, issue.accent)
    canvas.spaced_text(MARGIN, 44, feature.title.upper(), "sans bold", 14, issue.accent, 3)
    text_height = -(-len(lines) // 2) * LEADING
    quote = wrap(f"“{feature.quote}”", "serif italic", 40, WIDTH - 2 * MARGIN - 120) if feature.quote and index == 0 else []
    quote_height = len(quote) * 50 + 76 if quote else 24
    picture_height = BOTTOM - 84 - text_height - quote_height - 34
    text_top = 84 if index % 2 == 0 else BOTTOM - text_height
    picture_top = 84 + text_height + quote_height if index % 2 == 0 else 84
    draw_columns(canvas, lines, text_top)
    if quote:
        top = 84 + text_height + 46
        canvas.box(MARGIN, top - 10, MARGIN + 8, top + len(quote) * 50, issue.accent)
        for row, line in enumerate(quote):
            canvas.text(MARGIN + 44, top + 32 + row * 50, line, "serif italic", 40, darker(issue.accent, 0.3))
    if isinstance(entry, dict):
        art, caption = _chart_below_strip(issue, feature, entry, picture_height), entry["caption"]
    else:
        art, caption = photograph(issue, entry, WIDTH - 2 * MARGIN, picture_height), entry[2]
    canvas.paste(art, MARGIN, picture_top)
    canvas.text(MARGIN, picture_top + picture_height + 24, caption, "sans italic", 17, mix(TEXT, PAPER, 0.25))
    return canvas


def _chart_below_strip(issue, feature, data, height):
    """A chart of a readable shape, under a strip of photograph when there is height to spare."""
    width, chart_height = WIDTH - 2 * MARGIN, min(height, 560)
    canvas = Canvas(width, height, PAPER)
    if height - chart_height > 120:
        canvas.paste(photograph(issue, (*feature.pictures[0][:2], "strip"), width, height - chart_height - 20), 0, 0)
    else:
        chart_height = height
    canvas.paste(chart(data["kind"], width, chart_height, issue.accent, data), 0, height - chart_height)
    return canvas


def plate_pages(issue, plate, number):
    yield partial(_plate, issue, plate, number)


def _plate(issue, plate, number):
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.paste(photograph(issue, plate.picture, WIDTH, HEIGHT), 0, 0)
    lines = wrap(plate.words, "serif", 23, 520)
    height = 92 + len(lines) * 32
    left = MARGIN if number % 2 == 0 else WIDTH - MARGIN - 600
    top = 1300 - height
    canvas.box(left, top, left + 600, 1300, PAPER)
    canvas.box(left, top, left + 10, 1300, issue.accent)
    canvas.text(left + 40, top + 52, plate.title, "serif black", 34, TEXT)
    for row, line in enumerate(lines):
        canvas.text(left + 40, top + 92 + row * 32, line, "serif", 23, TEXT)
    _furniture(canvas, issue, number, "The plates", "#ffffff")
    return canvas


def chart_pages(issue, section, number):
    yield partial(_charts, issue, section, number)


def _charts(issue, section, number):
    canvas = blank(issue, number, "Figures")
    y = _heading(canvas, issue, section.title, section.words)
    height = (BOTTOM - y - 22 * (len(section.charts) - 1)) / len(section.charts)
    for data in section.charts:
        canvas.paste(chart(data["kind"], WIDTH - 2 * MARGIN, height, issue.accent, data), MARGIN, y)
        y += height + 22
    return canvas


def _heading(canvas, issue, title, words):
    canvas.box(0, 0, WIDTH, 16, issue.accent)
    canvas.text(MARGIN - 3, 118, title, "serif black", 70, TEXT)
    return draw_block(canvas, words, "serif italic", 26, MARGIN, 168, WIDTH - 2 * MARGIN - 40, mix(TEXT, issue.accent, 0.45)) + 8


def note_pages(issue, section, number):
    yield partial(_notes, issue, section, number)


def _notes(issue, section, number):
    canvas = blank(issue, number, section.title)
    top = _heading(canvas, issue, section.title, section.standfirst) + 14
    columns = [section.items[0::2], section.items[1::2]]
    lowest = top
    for column, items in enumerate(columns):
        x, y = MARGIN + column * (COLUMN + GAP), top
        for heading, words in items:
            canvas.box(x, y, x + COLUMN, y + 3, issue.accent)
            y = draw_block(canvas, heading, "sans black", 24, x, y + 38, COLUMN, issue.accent, 1.2) + 6
            y = draw_block(canvas, words, "serif", SIZE, x, y, COLUMN, TEXT, LEADING / SIZE) + 10
        lowest = max(lowest, y)
    canvas.paste(photograph(issue, section.picture, WIDTH - 2 * MARGIN, BOTTOM - lowest - 6), MARGIN, lowest + 6)
    return canvas


def table_pages(issue, section, number):
    yield partial(_table, issue, section, number)


def _table(issue, section, number):
    canvas = blank(issue, number, "Almanac")
    top = _heading(canvas, issue, section.title, section.words) + 20
    width = (WIDTH - 2 * MARGIN) / len(section.headings)
    canvas.box(MARGIN, top, WIDTH - MARGIN, top + 44, issue.accent)
    for column, heading in enumerate(section.headings):
        canvas.text(MARGIN + 14 + column * width, top + 30, heading, "sans bold", 19, "#ffffff")
    step = (BOTTOM - top - 44) / len(section.rows)
    for row, cells in enumerate(section.rows):
        y = top + 44 + row * step
        if row % 2:
            canvas.box(MARGIN, y, WIDTH - MARGIN, y + step, mix(issue.accent, PAPER, 0.9))
        for column, cell in enumerate(cells):
            canvas.text(MARGIN + 14 + column * width, y + step / 2 + 7, cell, "sans bold" if column == 0 else "sans", 20, TEXT)
    return canvas


def cover(issue):
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.paste(photograph(issue, issue.cover, WIDTH, HEIGHT), 0, 0)
    _shade(canvas, 0, 460, darker(issue.accent, 0.6))
    size = 190 * (WIDTH - 2 * 56) / (text_width("ISOBAR", "sans black", 190) + 50)
    canvas.spaced_text(WIDTH / 2, 268, "ISOBAR", "sans black", size, "#ffffff", 10, "m")
    canvas.spaced_text(60, 62, f"{issue.month.upper()}  ·  No. {issue.number}  ·  ${issue.price}", "sans bold", 20, "#ffffff", 3)
    canvas.spaced_text(WIDTH - 60, 62, "LAND, WATER AND SKY", "sans bold", 20, "#ffffff", 3, "r")
    canvas.box(60, 298, WIDTH - 60, 302, "#ffffff")
    lead, *others = issue.cover_lines
    y = 1400 - 130 - 74 * len(wrap(lead, "serif black", 74, 820)) - 52 * len(others)
    _shade(canvas, HEIGHT, y - 260, darker(issue.accent, 0.75))
    canvas.box(60, y - 78, 76 + text_width(issue.theme.upper(), "sans black", 20) + 3 * len(issue.theme) + 14, y - 36, issue.accent)
    canvas.spaced_text(76, y - 50, issue.theme.upper(), "sans black", 20, "#ffffff", 3)
    y = draw_block(canvas, lead, "serif black", 74, 58, y + 34, 860, "#ffffff", 1.0) + 4
    for line in others:
        canvas.text(60, y, line, "sans bold", 27, "#ffffff")
        y += 46
    return canvas


def _shade(canvas, dark_edge, clear_edge, colour):
    """Darkens the picture toward one edge, so that white words can be read on it."""
    for step in range(24):
        y = clear_edge + (dark_edge - clear_edge) * step / 24
        canvas.tint([(0, y), (WIDTH, y), (WIDTH, dark_edge), (0, dark_edge)], colour, 0.05)


def contents_page(issue, contents):
    canvas = blank(issue, 2, "Contents")
    canvas.paste(photograph(issue, issue.sections[0].pictures[0], 300, HEIGHT - 84), 0, 0)
    canvas.spaced_text(350, 92, "IN THIS ISSUE", "sans black", 20, issue.accent, 4)
    canvas.text(346, 170, issue.theme, "serif black", 62, TEXT)
    y = 232
    step = (1310 - y) / len(contents)
    for number, section in contents:
        canvas.line([(350, y - 37), (WIDTH - MARGIN, y - 37)], mix(TEXT, PAPER, 0.75), 1.5)
        canvas.text(350, y + 10, f"{number:02d}", "sans black", 36, issue.accent)
        canvas.text(422, y - 4, section.title, "serif bold", 27, TEXT)
        words = getattr(section, "standfirst", None) or section.words
        words = words.split(". ")[0].rstrip(".") + "."
        for row, line in enumerate(wrap(words, "sans", 17, 510)[:2]):
            canvas.text(422, y + 22 + row * 20, line, "sans", 17, mix(TEXT, PAPER, 0.2))
        y += step
    return canvas


def editorial(issue):
    canvas = blank(issue, 3, "Editorial")
    canvas.paste(photograph(issue, (*issue.cover[:2], "editorial"), WIDTH, 470), 0, 0)
    title, paragraphs = issue.editorial
    canvas.spaced_text(MARGIN, 550, "FROM THE EDITOR'S WINDOW", "sans black", 18, issue.accent, 4)
    y = draw_block(canvas, title, "serif black", 60, MARGIN - 2, 630, WIDTH - 2 * MARGIN, TEXT, 1.1) + 14
    for paragraph in paragraphs:
        y = draw_block(canvas, paragraph, "serif", 27, MARGIN, y, WIDTH - 2 * MARGIN - 60, TEXT, 1.44) + 16
    canvas.text(MARGIN, y + 20, "The Isobar desk", "script", 38, issue.accent)
    canvas.text(MARGIN, 1296, "Isobar is written, drawn and published by Pullbox on the first day of every month.", "sans italic", 17,
                mix(TEXT, PAPER, 0.3))
    return canvas


def back_cover(issue):
    canvas = Canvas(WIDTH, HEIGHT, issue.accent)
    title, entry, words = issue.next_issue
    canvas.paste(photograph(issue, entry, WIDTH - 160, 780), 80, 200)
    canvas.spaced_text(WIDTH / 2, 130, "NEXT MONTH IN ISOBAR", "sans black", 30, "#ffffff", 6, "m")
    canvas.text(WIDTH / 2, 1084, title, "serif black", 64, "#ffffff", "ms")
    draw_block(canvas, words, "serif italic", 28, WIDTH / 2, 1146, 700, "#ffffff", 1.36, "ms")
    canvas.spaced_text(WIDTH / 2, 1350, "KEPT FOR YOU IN YOUR PULLBOX", "sans bold", 17, "#ffffff", 5, "m")
    return canvas


SECTIONS = {Feature: feature_pages, Plate: plate_pages, Charts: chart_pages, Notes: note_pages, Table: table_pages}
