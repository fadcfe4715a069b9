"""Everything that is drawn: which folder, which pages, and how it is described and sold."""
from dataclasses import dataclass
from functools import partial
from typing import Callable

from generator import comic, magazine
from generator.description import Issue, Product
from generator.stories import isobar_november, isobar_october, isobar_september, kestrel_station, moss_and_mallow


@dataclass(frozen=True)
class Publication:
    slug: str
    extension: str
    drawings: Callable
    product: Product
    issue: Callable = None


def comic_issue(story, identifier, summary, french_title, french_summary):
    return Publication(
        slug=story.slug, extension="png", drawings=partial(comic.draw, story),
        product=Product(
            identifier=identifier, type="non-consumable", version="1.0", publication=identifier.rpartition(".")[0],
            publication_date="2026-09-01T00:00:00.000Z", price=story.price,
            texts={"en-US": (f"{story.series} No. {story.number}: {story.title}", summary),
                   "fr-FR": (french_title, french_summary)}),
        issue=partial(Issue, story.title, story.series, story.number, summary, (2026, 9, 1)))


def magazine_issue(issue, date, summary, french_title, french_summary):
    year, month, day = date
    title = f"Isobar, {issue.month}: {issue.theme}"
    return Publication(
        slug=issue.slug, extension="jpg", drawings=partial(magazine.draw, issue),
        product=Product(
            identifier=f"com.example.isobar.{year}-{month:02d}", type="non-consumable", version="1.0",
            publication="com.example.isobar", publication_date=f"{year}-{month:02d}-{day:02d}T00:00:00.000Z", price=issue.price,
            texts={"en-US": (title, summary), "fr-FR": (french_title, french_summary)}),
        issue=partial(Issue, issue.theme, "Isobar", issue.number, summary, date))


ALL = (
    comic_issue(kestrel_station.STORY, "com.example.kestrelstation.issue1",
                "Two lighthouse keepers above a planet of dust hear a call that nobody has answered for a hundred years.",
                "Kestrel Station nº 1 : Le Long Signal",
                "Deux gardiens de phare, au-dessus d’une planète de poussière, entendent un appel resté cent ans sans réponse."),
    comic_issue(moss_and_mallow.STORY, "com.example.mossandmallow.issue3",
                "Every clock in Pennywhistle jumps from four to five. A fox and a hare look for the hour in between.",
                "Moss & Mallow nº 3 : L’Heure disparue",
                "À Pennywhistle, toutes les horloges sautent de quatre à cinq heures. Un renard et un lièvre cherchent l’heure perdue."),
    magazine_issue(isobar_september.ISSUE, (2026, 9, 1),
                   "The last warm wind, the oldest forecast, a calendar of apples, and a rain gauge to make.",
                   "Isobar, septembre 2026 : les moissons",
                   "Le dernier vent chaud, la rosée qui prédit, un calendrier de pommes et un pluviomètre à fabriquer."),
    magazine_issue(isobar_october.ISSUE, (2026, 10, 1),
                   "How a cloud lies down, the railway that runs by ear, keepers of the lamp, and how to read a hedge.",
                   "Isobar, octobre 2026 : le brouillard",
                   "Comment un nuage se couche, le train qui roule à l’oreille, les gardiens de la lampe, et lire une haie."),
    magazine_issue(isobar_november.ISSUE, (2026, 11, 1),
                   "Ferns on the window, what trees do in the dark, summer in the cellar, and stars for cold hands.",
                   "Isobar, novembre 2026 : le givre",
                   "Les fougères de glace, ce que font les arbres la nuit, l’été à la cave, et les étoiles pour mains froides."),
    Publication(
        slug="isobar", extension="jpg", drawings=tuple,
        product=Product(
            identifier="com.example.isobar.monthly", type="auto-renewable-subscription", publication="com.example.isobar",
            publication_date="2026-09-01T00:00:00.000Z", period="P1M", price="3.99",
            note="A subscription has no pages: it entitles to the issues of its publication.",
            texts={"en-US": ("Isobar, every month", "A monthly of land, water and sky. Each issue arrives on the day it is published."),
                   "fr-FR": ("Isobar, chaque mois", "Le mensuel de la terre, de l’eau et du ciel. Chaque numéro arrive le jour de sa parution.")})),
)
