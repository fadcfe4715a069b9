"""Asks what is for sale, at which price, and what of it is owned, by every form that tells it, and tabulates what differs.

The shop of random products is the same for the same seed, and so are the questions. Each names a territory, a language and a part of the
catalog; the answers of `/v1/products` and of OPDS 1.2 and 2.0 have to be the same, and what a reader's key owns what its customer bought
and got no money back for. The agent's shop (`pullbox shop`) names no territory but its account's: in each language the whole of it has to be
what `/v1/products` has there, and owned the same.
"""

import json
import random
import urllib.parse
import xml.etree.ElementTree as ElementTree

ATOM = "{http://www.w3.org/2005/Atom}"
OPDS = "{http://opds-spec.org/2010/catalog}"
RELATION = "http://opds-spec.org/acquisition"
TERRITORIES = {"USA": "USD", "FRA": "EUR", "JPN": "JPY", "GBR": "GBP"}
LANGUAGES = ("en-US", "fr-FR", "de-DE", "ja-JP")
WORDS = ("Lantern", "Harbor", "Mallow", "Signal", "Orchard", "Comet", "Thistle", "Anvil", "Willow", "Ember")
SERIES = ("ask.series1", "ask.series2", "ask.series3")
HOUR = "2020-01-01T00:00:00Z"


def random_shop(chooser, count):
    """Descriptions by identifier."""
    products = {}
    for number in range(count):
        languages = chooser.sample(LANGUAGES, chooser.randint(1, 3))
        description = {"localizations": {
            language: {"title": f"{chooser.choice(WORDS)} {chooser.choice(WORDS)} {number} ({language})", "description": "About it"} for language in languages}}
        if chooser.random() < 0.75:
            description["prices"] = {
                territory: {"amount": f"{chooser.randint(0, 19)}.{'00' if currency == 'JPY' else '99'}", "currency": currency}
                for territory, currency in chooser.sample(sorted(TERRITORIES.items()), chooser.randint(1, 4))}
        if chooser.random() < 0.5:
            description["publication"] = chooser.choice(SERIES)
            description["publicationDate"] = f"2025-{chooser.randint(1, 12):02}-{chooser.randint(1, 28):02}T00:00:00Z"
        state = chooser.random()
        if state < 0.08:
            description["availableFrom"] = "2090-01-01T00:00:00Z"
        elif state < 0.16:
            description["availableUntil"] = HOUR
        elif state < 0.24:
            description["onSale"] = False
        elif state < 0.32:
            description.update(availableFrom=HOUR, availableUntil="2090-01-01T00:00:00Z")
        products[f"ask.product{number:03}"] = description
    return products


class Asker:
    """Asks one server, with the key of one reader once there is one."""

    def __init__(self, server, products):
        self.server, self.products, self.headers = server, products, {}

    def shop(self, territory, language):
        """What `/v1/products` has for sale: title and price by identifier."""
        query = urllib.parse.urlencode([("territory", territory), ("locale", language)] + [("id", product) for product in self.products])
        status, _, content = self.server.ask(f"/v1/products?{query}")
        if status != 200:
            raise ValueError(f"/v1/products: {status}")
        return {product["id"]: (product["title"], self.price(product.get("price"))) for product in json.loads(content)["products"]}

    @staticmethod
    def price(value):
        return None if value is None else (float(value["amount"]), value["currency"])

    def listed(self, form, place, territory, language):
        """The entries of every page of a list, in order: identifier, title, price and relation."""
        query = urllib.parse.urlencode({"territory": territory, "locale": language})
        path, entries = f"/opds/{form}/{place}{'&' if '?' in place else '?'}{query}", []
        while path:
            status, _, content = self.server.ask(path, headers=self.headers.items())
            if status == 404:
                return entries
            if status != 200:
                raise ValueError(f"{path}: {status}")
            found, path = (self.atom if form == "v1.2" else self.json)(content)
            entries += found
        return entries

    def atom(self, content):
        root = ElementTree.fromstring(content)
        entries = [root] if root.tag == f"{ATOM}entry" else root.findall(f"{ATOM}entry")
        following = [link.get("href") for link in root.findall(f"{ATOM}link") if link.get("rel") == "next"]
        return [entry for entry in map(self.atom_entry, entries) if entry], following[0].removeprefix(self.server.url) if following else None

    def atom_entry(self, entry):
        price, relations, product = None, set(), None
        for link in entry.findall(f"{ATOM}link"):
            relation = link.get("rel")
            if relation in (RELATION, f"{RELATION}/open-access", f"{RELATION}/buy"):
                relations.add(relation)
                product = self.product(link.get("href"))
                for told in link.findall(f"{OPDS}price"):
                    price = (float(told.text), told.get("currencycode"))
        return (product, entry.findtext(f"{ATOM}title"), price, tuple(sorted(relations))) if product else None

    def json(self, content):
        document = json.loads(content)
        publications = document.get("publications", [])
        if not publications and any(RELATION in "".join(link.get("rel", [])) for link in document.get("links", [])):
            publications = [document]
        following = [link["href"] for link in document["links"] if "next" in link.get("rel", [])]
        return [entry for entry in map(self.json_entry, publications) if entry], following[0].removeprefix(self.server.url) if following else None

    def json_entry(self, publication):
        price, relations, product = None, set(), None
        for link in publication["links"]:
            for relation in link.get("rel", []):
                if relation in (RELATION, f"{RELATION}/open-access", f"{RELATION}/buy"):
                    relations.add(relation)
                    product = self.product(link["href"])
                    if "price" in link.get("properties", {}):
                        told = link["properties"]["price"]
                        price = (float(told["value"]), told["currency"])
        return (product, publication["metadata"]["title"], price, tuple(sorted(relations))) if product else None

    def product(self, address):
        """The product that an acquisition link leads to."""
        parts = urllib.parse.urlsplit(address).path.split("/")
        return parts[2] if parts[1] == "shop" else parts[3]


def device_shop(run, language):
    """What the agent's shop shows, its publications' shelves and what belongs to none: title, price and whether it is owned, by identifier.
    `run` runs the command line, in the language of a variable."""
    def lines(*words):
        return [json.loads(line) for line in run("shop", *words, "--limit", "1000", "--json", LC_ALL=f"{language.replace('-', '_')}.UTF-8").splitlines()]

    rows = lines()
    entries = [row for row in rows if "listing" in row]
    for publication in [row["id"] for row in rows if "listing" not in row]:
        entries += [row for row in lines(publication) if "listing" in row]
    return {row["listing"]["id"]: (row["listing"]["title"], Asker.price(row["listing"].get("price")), row["owned"]) for row in entries}


def device_differences(asker, run, owned, territory):
    """A row for each product that a device's shop shows otherwise than `/v1/products`; and how many were compared."""
    rows, count = [], 0
    for language in LANGUAGES:
        expected = {product: (*shown, product in owned) for product, shown in asker.shop(territory, language).items()}
        found = {product: shown for product, shown in device_shop(run, language).items() if product in asker.products}
        count += len(expected)
        rows += [f"pullbox shop in {language}: {product} is {found.get(product)}, and {expected.get(product)}"
                 for product in sorted(set(found) | set(expected)) if found.get(product) != expected.get(product)]
    return rows, count


def places(products, chooser):
    """A part of the catalog, and which of the products belong to it."""
    kind = chooser.choice(("new", "singles", "publication", "search", "product", "product", "product", "owned"))
    if kind == "new":
        return "new", {product for product, description in products.items() if "publication" in description}
    if kind == "singles":
        return "singles", {product for product, description in products.items() if "publication" not in description}
    if kind == "publication":
        series = chooser.choice(SERIES)
        return f"publications/{series}", {
            product for product, description in products.items() if description.get("publication") == series}
    if kind == "search":
        word = chooser.choice(WORDS)
        return f"search?q={word[:chooser.randint(3, len(word))].lower()}", {
            product for product, description in products.items()
            if any(word in text["title"] for text in description["localizations"].values())}
    if kind == "owned":
        return "owned", set(products)
    product = chooser.choice(sorted(products))
    return f"products/{product}", {product}


def differences(asker, owned, count, seed):
    """Asks so many questions; a row for each difference."""
    chooser, rows, shops = random.Random(seed), [], {}
    for number in range(count):
        territory, language = chooser.choice(sorted(TERRITORIES)), chooser.choice(LANGUAGES)
        place, members = places(asker.products, chooser)
        question = f"{number}: {place} in {territory}, {language}"
        if (territory, language) not in shops:
            shops[territory, language] = asker.shop(territory, language)
        shop = shops[territory, language]
        answers = {form: asker.listed(form, place, territory, language) for form in ("v1.2", "v2")}
        if answers["v1.2"] != answers["v2"]:
            rows.append(f"{question}: the forms differ: {[pair for pair in zip(answers['v1.2'], answers['v2']) if pair[0] != pair[1]][:2]}"
                        f" {len(answers['v1.2'])} and {len(answers['v2'])}")
        entries = {entry[0]: entry for entry in answers["v2"] if entry[0] in asker.products}
        expected = owned if place == "owned" else members & set(shop)
        shown = set(entries) if place == "owned" else set(entries) - (owned - set(shop))
        if shown != expected:
            rows.append(f"{question}: missing {sorted(expected - shown)}, too many {sorted(shown - expected)}")
        for product, (_, title, price, relations) in entries.items():
            if product in shop and title != shop[product][0]:
                rows.append(f"{question}: {product} is called {title}, and {shop[product][0]}")
            if (RELATION in relations) != (product in owned):
                rows.append(f"{question}: {product} is {'' if product in owned else 'not '}owned, and its links are {relations}")
            if f"{RELATION}/buy" in relations and product in shop and price != shop[product][1]:
                rows.append(f"{question}: {product} costs {price}, and {shop[product][1]}")
            if RELATION in relations and f"{RELATION}/buy" in relations:
                rows.append(f"{question}: {product} is owned and sold")
            # Free is what costs nothing in any territory: a request names its territory itself.
            is_free = all(float(told["amount"]) == 0 for told in asker.products[product].get("prices", {}).values())
            if product not in owned and is_free != (f"{RELATION}/open-access" in relations):
                rows.append(f"{question}: {product} is {'' if is_free else 'not '}free, and its links are {relations}")
    return rows
