"""Everything that is drawn: which folder, which pages, and how it is described and sold."""
from dataclasses import dataclass
from functools import partial
from typing import Callable

from generator import comic
from generator.description import Issue, Product
from generator.stories import kestrel_station, moss_and_mallow


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


ALL = (
    comic_issue(kestrel_station.STORY, "com.example.kestrelstation.issue1",
                "Two lighthouse keepers above a planet of dust hear a call that nobody has answered for a hundred years.",
                "Kestrel Station nº 1 : Le Long Signal",
                "Deux gardiens de phare, au-dessus d’une planète de poussière, entendent un appel resté cent ans sans réponse."),
    comic_issue(moss_and_mallow.STORY, "com.example.mossandmallow.issue3",
                "Every clock in Pennywhistle jumps from four to five. A fox and a hare look for the hour in between.",
                "Moss & Mallow nº 3 : L’Heure disparue",
                "À Pennywhistle, toutes les horloges sautent de quatre à cinq heures. Un renard et un lièvre cherchent l’heure perdue."),
)
