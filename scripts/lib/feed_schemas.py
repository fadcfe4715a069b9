"""What OPDS 2.0, the Readium web publication manifest and its profile for comics, the authentication document and the progression demand of
documents, as JSON schemas; and judges that say what of it a document does not have."""

import jsonschema

# OPDS 2.0, sections 1 to 5, and the link object of the Readium web publication manifest.
LINK = {
    "type": "object", "required": ["href"],
    "properties": {
        "href": {"type": "string", "minLength": 1}, "type": {"type": "string", "pattern": "^[^/]+/[^/]+$"},
        "title": {"type": "string"}, "templated": {"type": "boolean"},
        "rel": {"type": "array", "minItems": 1, "items": {"type": "string"}},
        "properties": {
            "type": "object",
            "properties": {
                "price": {
                    "type": "object", "required": ["value", "currency"],
                    "properties": {"value": {"type": "number", "minimum": 0}, "currency": {"type": "string", "pattern": "^[A-Z]{3}$"}}},
                "indirectAcquisition": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["type"]}},
                "availability": {"type": "object", "required": ["state"], "properties": {
                    "state": {"enum": ["available", "unavailable", "reserved", "ready"]}}}}}}}


def linked(*relations):
    """A list of links, among them one of these relations."""
    return {
        "type": "array", "items": {"$ref": "#/$defs/link"},
        "contains": {"properties": {"rel": {"contains": {"enum": list(relations)}}}, "required": ["rel"]}}


ACQUISITION = ["http://opds-spec.org/acquisition" + end for end in ("", "/open-access", "/borrow", "/buy", "/sample", "/subscribe")]
PUBLICATION = {
    "type": "object", "required": ["metadata", "links"],
    "properties": {
        "metadata": {
            "type": "object", "required": ["title"],
            "properties": {
                "title": {"type": "string", "minLength": 1}, "@type": {"type": "string", "format": "uri"},
                "identifier": {"type": "string", "format": "uri"}, "modified": {"type": "string", "format": "date-time"},
                "numberOfPages": {"type": "integer", "minimum": 1}}},
        "links": linked(*ACQUISITION),
        "images": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/link"}}}}
FEED = {
    "$defs": {"link": LINK, "publication": PUBLICATION},
    "type": "object", "required": ["metadata", "links"],
    "anyOf": [{"required": [name]} for name in ("navigation", "publications", "groups")],
    "properties": {
        "metadata": {"type": "object", "required": ["title"], "properties": {"title": {"type": "string", "minLength": 1}}},
        "links": linked("self"),
        "navigation": {"type": "array", "minItems": 1, "items": {"allOf": [{"$ref": "#/$defs/link"}, {"required": ["title"]}]}},
        "publications": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/publication"}},
        "groups": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["metadata"]}},
        "facets": {"type": "array", "items": {"type": "object", "required": ["metadata", "links"], "properties": {
            "links": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/link"}}}}}}}

# The Readium web publication manifest: publication.schema.json, and of each of its links a type. What is ours lies below /opds.
MANIFEST = {
    "$defs": {
        "link": {"allOf": [LINK], "properties": {
            "width": {"type": "integer", "minimum": 1}, "height": {"type": "integer", "minimum": 1},
            "alternate": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/resource"}},
            "children": {"type": "array", "items": {"$ref": "#/$defs/link"}}}},
        "resource": {"allOf": [{"$ref": "#/$defs/link"}], "required": ["type"]}},
    "type": "object", "required": ["metadata", "links", "readingOrder"],
    "properties": {
        "@context": {"const": "https://readium.org/webpub-manifest/context.jsonld"},
        "metadata": {
            "type": "object", "required": ["title"],
            "properties": {
                "title": {"anyOf": [{"type": "string", "minLength": 1}, {
                    "type": "object", "minProperties": 1, "additionalProperties": {"type": "string", "minLength": 1}}]},
                "@type": {"type": "string", "format": "uri"}, "identifier": {"type": "string", "format": "uri"},
                "conformsTo": {"anyOf": [{"type": "string", "format": "uri"}, {"type": "array", "items": {"type": "string", "format": "uri"}}]},
                "modified": {"type": "string", "format": "date-time"}, "published": {"type": "string"},
                "readingProgression": {"enum": ["auto", "ltr", "rtl", "ttb", "btt"]}, "numberOfPages": {"type": "integer", "minimum": 1}}},
        "links": linked("self"),
        "readingOrder": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"$ref": "#/$defs/resource"}},
        "resources": {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/resource"}},
        "toc": {"type": "array", "items": {"$ref": "#/$defs/link"}}}}
# Its profile for comics: pictures alone.
DIVINA = {
    "allOf": [MANIFEST], "$defs": MANIFEST["$defs"],
    "properties": {
        "metadata": {"required": ["conformsTo"], "properties": {"conformsTo": {"anyOf": [
            {"const": "https://readium.org/webpub-manifest/profiles/divina"},
            {"type": "array", "contains": {"const": "https://readium.org/webpub-manifest/profiles/divina"}}]}}},
        "readingOrder": {"items": {"properties": {"type": {"pattern": "^image/"}}}}}}
# Authentication for OPDS 1.0: sections 2.1 to 2.3, and what its flows ask for.
AUTHENTICATION = {
    "$defs": {"link": {**LINK, "properties": {
        **LINK["properties"], "rel": {"anyOf": [{"type": "string", "minLength": 1}, LINK["properties"]["rel"]]}}}},
    "type": "object", "required": ["id", "title", "authentication"],
    "properties": {
        "id": {"type": "string", "format": "uri"}, "title": {"type": "string", "minLength": 1}, "description": {"type": "string"},
        "links": {"type": "array", "uniqueItems": True, "items": {"allOf": [{"$ref": "#/$defs/link"}, {"required": ["rel"]}]}},
        "authentication": {
            "type": "array", "minItems": 1, "uniqueItems": True,
            "items": {
                "type": "object", "required": ["type"],
                "properties": {
                    "type": {"type": "string", "format": "uri"},
                    "labels": {"type": "object", "properties": {"login": {"type": "string"}, "password": {"type": "string"}}},
                    "links": {"type": "array", "uniqueItems": True, "items": {"allOf": [{"$ref": "#/$defs/link"}, {"required": ["rel"]}]}}},
                "allOf": [{
                    "if": {"properties": {"type": {"pattern": "/oauth/"}}},
                    "then": {"required": ["links"], "properties": {"links": {
                        "contains": {"properties": {"rel": {"anyOf": [{"const": "authenticate"}, {"type": "array", "contains": {"const": "authenticate"}}]}},
                                     "required": ["rel"]}}}}}]}}}}
# The record of how far something was read: the draft of OPDS Progression, whose locator is Readium's.
PROGRESSION = {
    "type": "object", "required": ["modified", "device", "locator"],
    "properties": {
        "modified": {"type": "string", "format": "date-time"},
        "device": {"type": "object", "required": ["id", "name"], "properties": {"id": {"type": "string"}, "name": {"type": "string"}}},
        "locator": {
            "type": "object", "required": ["href", "type"],
            "properties": {
                "href": {"type": "string", "minLength": 1}, "type": {"type": "string", "pattern": "^[^/]+/[^/]+$"},
                "locations": {"type": "object", "properties": {
                    "position": {"type": "integer", "minimum": 1}, "totalProgression": {"type": "number", "minimum": 0, "maximum": 1},
                    "progression": {"type": "number", "minimum": 0, "maximum": 1}}}}}}}
SCHEMAS = {
    "application/opds+json": FEED, "application/opds-publication+json": {"$defs": FEED["$defs"], **PUBLICATION},
    "application/webpub+json": MANIFEST, "application/divina+json": DIVINA, "application/opds-authentication+json": AUTHENTICATION,
    "application/vnd.readium.progression+json": PROGRESSION}


def faults_of(kind, document):
    """What a document of that type is not as it should be; nothing for a type that has no schema here."""
    if kind not in SCHEMAS:
        return
    validator = jsonschema.Draft202012Validator(SCHEMAS[kind], format_checker=jsonschema.FormatChecker())
    for error in validator.iter_errors(document):
        yield f"{error.json_path}: {error.message[:200]}"
