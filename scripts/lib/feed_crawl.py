"""Follows the feeds of the catalog to everything that they lead to, and reads each document on the way by programs that are not ours."""

import json
import xml.etree.ElementTree as ElementTree

import feedparser

import feed_questions
import feed_schemas

try:
    from webpub_manifest_parser.opds2 import OPDS2FeedParserFactory
    from webpub_manifest_parser.rwpm import RWPMManifestParserFactory
except ImportError:
    OPDS2FeedParserFactory = RWPMManifestParserFactory = None

MANIFESTS = ("application/webpub+json", "application/divina+json")
PSE, STREAM = "{http://vaemendis.net/opds-pse/ns}", "http://vaemendis.net/opds-pse/stream"
PROGRESS = "http://www.cantook.com/api/progression"


def links_of(value):
    """Every link object in a document of OPDS 2.0."""
    if isinstance(value, dict):
        if isinstance(value.get("href"), str):
            yield value
        for part in value.values():
            yield from links_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from links_of(part)


def crawl(server, start, read, headers=()):
    """Follows every link below /opds that `read` finds in the documents, as one reader where `headers` say so; how many there were, by
    type, and what is wrong."""
    waiting, seen, faults = [start], {}, []
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        status, fields, content = server.ask(path, headers=headers)
        seen[path] = (fields["Content-Type"] or "").split(";")[0]
        # Nothing that was read of it yet is no error.
        if status not in ((200, 204) if path.startswith("/opds/progress/") else (200,)):
            faults.append(f"{path}: {status}")
            continue
        links = [link.removeprefix(server.url) for link in read(path, fields, content, faults)]
        waiting += [link for link in links if link.startswith(("/opds", "/shop"))]
    return seen, faults


def read_atom(path, headers, content, faults):
    if not headers["Content-Type"].startswith("application/atom+xml"):
        return []
    feed = feedparser.parse(content, response_headers={"content-type": headers["Content-Type"].split(";")[0]})
    if feed.bozo:
        faults.append(f"{path}: feedparser says {feed.bozo_exception}")
    if ";type=entry" not in headers["Content-Type"]:
        for member in ("title", "id", "updated"):
            if not feed.feed.get(member):
                faults.append(f"{path}: the feed has no {member}")
    links = list(feed.feed.get("links", []))
    for entry in feed.entries:
        for member in ("title", "id", "updated"):
            if not entry.get(member):
                faults.append(f"{path}: an entry has no {member}")
        links += entry.get("links", [])
    return [link["href"] for link in links if "{" not in link["href"]]


def read_json(path, headers, content, faults):
    kind = headers["Content-Type"] or ""
    if kind not in feed_schemas.SCHEMAS:
        return []
    document = json.loads(content)
    faults += [f"{path}: {fault}" for fault in feed_schemas.faults_of(kind, document)]
    if kind in MANIFESTS and RWPMManifestParserFactory:
        result = RWPMManifestParserFactory().create().parse_json(document)
        faults += [f"{path}: webpub_manifest_parser says {error}" for error in result.errors]
    return [link["href"] for link in links_of(document) if not link.get("templated")]


def streams(server, product, headers):
    """The link to the pages of an entry: how many, how far they were read, and each of them by its template."""
    faults = []
    entry = ElementTree.fromstring(server.ask(f"/opds/v1.2/products/{product}", headers=headers)[2])
    links = {link.get("rel"): link for link in entry.iter(f"{feed_questions.ATOM}link")}
    publication = json.loads(server.ask(f"/opds/v2/products/{product}", headers=headers)[2])
    relations = {relation for link in publication["links"] for relation in link.get("rel", [])}
    for found, wanted in ((links, (STREAM, feed_questions.RELATION)), (relations, (PROGRESS, feed_questions.RELATION))):
        faults += [f"the entry of {product} has no link {relation}" for relation in wanted if relation not in found]
    if faults:
        return faults
    stream = links[STREAM]
    told = {name: stream.get(f"{PSE}{name}") for name in ("count", "lastRead", "lastReadDate")}
    if told != {"count": "3", "lastRead": "2", "lastReadDate": told["lastReadDate"]} or not (told["lastReadDate"] or "").startswith("2026-11-29T08:30:00"):
        faults.append(f"of page 1 of 3, which was read, the entry of {product} tells {told}")
    for number in range(4):
        path = stream.get("href").removeprefix(server.url).replace("{pageNumber}", str(number)).replace("{maxWidth}", "100")
        status, fields, _ = server.ask(path, headers=headers)
        expected = (200, "image/png") if number < 3 else (404, fields["Content-Type"])
        if (status, fields["Content-Type"]) != expected:
            faults.append(f"{path}: {status} {fields['Content-Type']}")
    return faults
