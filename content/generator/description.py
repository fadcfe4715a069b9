"""The two descriptions that go with an issue: product.json5 for Pullbox, ComicInfo.xml for readers."""
import json
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr


@dataclass(frozen=True)
class Product:
    """What product.json5 says. `prices` is in US dollars and euros, as decimal text."""
    identifier: str
    type: str
    texts: dict
    price: str
    publication_date: str
    version: str = None
    publication: str = None
    period: str = None
    note: str = "Read by `pullbox publish`."

    def json5(self):
        members = [
            ("id", self.identifier),
            ("type", self.type),
            ("version", self.version),
            ("publication", self.publication),
            ("publicationDate", self.publication_date),
            ("period", self.period),
        ]
        lines = [f"// {self.note}", "{"]
        lines += [f"  {name}: {_quoted(value)}," for name, value in members if value is not None]
        lines.append("  localizations: {")
        for locale, (title, text) in self.texts.items():
            lines += [f"    {_quoted(locale)}: {{", f"      title: {_quoted(title)},",
                      f"      description: {_quoted(text)},", "    },"]
        lines += ["  },", "  prices: {"]
        for territory, currency in (("USA", "USD"), ("FRA", "EUR")):
            lines.append(f"    {_quoted(territory)}: {{ amount: {_quoted(self.price)}, currency: {_quoted(currency)} }},")
        lines += ["  },", "}", ""]
        return "\n".join(lines)


@dataclass(frozen=True)
class Issue:
    """What ComicInfo.xml says (ComicRack schema, version 2.0)."""
    title: str
    series: str
    number: str
    summary: str
    date: tuple
    page_sizes: list = field(default_factory=list)

    def comic_info(self):
        year, month, day = self.date
        # The schema is a sequence: the order of these elements is part of being valid.
        members = [
            ("Title", self.title), ("Series", self.series), ("Number", self.number), ("Summary", self.summary),
            ("Year", year), ("Month", month), ("Day", day), ("Writer", "Pullbox"), ("Publisher", "Pullbox"),
            ("PageCount", len(self.page_sizes)), ("LanguageISO", "en"),
        ]
        lines = ['<?xml version="1.0" encoding="utf-8"?>',
                 '<ComicInfo xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
                 ' xmlns:xsd="http://www.w3.org/2001/XMLSchema">']
        lines += [f"  <{name}>{escape(str(value))}</{name}>" for name, value in members]
        lines.append("  <Pages>")
        for index, size in enumerate(self.page_sizes):
            kind = ' Type="FrontCover"' if index == 0 else ""
            lines.append(f"    <Page Image={quoteattr(str(index))}{kind} ImageSize={quoteattr(str(size))} />")
        lines += ["  </Pages>", "</ComicInfo>", ""]
        return "\n".join(lines)


def _quoted(text):
    return json.dumps(text, ensure_ascii=False)
