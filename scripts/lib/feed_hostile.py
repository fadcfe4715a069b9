"""Asks the catalog for readers' applications what nobody means well by, and says what is answered wrongly.

No answer may have a status of the class 5xx. `operations` are those of docs/openapi.yaml below /opds and /shop.
"""

import base64
import http.client
import json
import urllib.parse

BIDIRECTIONAL = "\u202etxet \u2066emos\u2069 \u200f"
TITLES = {
    "hostile.markup": "]]><script>alert(1)</script> & <b>\"'</b> \u6f2b\u753b",
    "hostile.direction": BIDIRECTIONAL + "abc",
    "hostile.long": "\u6f2b" * 166,
    "hostile.entities": "&lt;!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>&a; &#0; %00 ${7*7} {{7*7}}",
}
NUMBERS = ("-1", "-0", "00", "+1", "3", "99999", str(2**31), str(2**63 - 1), str(2**63), str(10**40), "1.5", "1e3", "0x1", "", "%00", "\u0661")
VALUES = ("%00", "%0d%0aX: y", "%ff", "' OR 1=1 --", "..%2f..%2fetc%2fpasswd", "<script>", "\u202e", "x" * 5000, "{territory}", "-1")
RANGES = {
    "bytes=0-9": 206, "bytes=5-": 206, "bytes=-3": 206, "bytes=999999999-": 416, "bytes=9-0": 200, "bytes=a-b": 200, "items=0-9": 200,
    f"bytes={2**63}-": 416, "bytes=0-0,2-3": 206}


def expect(faults, what, status, allowed):
    if status not in allowed:
        faults.append(f"{what}: {status}")


def parameters(document):
    """For each path below /opds and /shop that is asked by GET, its path and the names of its query."""
    for path, item in document["paths"].items():
        if not path.startswith(("/opds", "/shop")) or "get" not in item:
            continue
        names = []
        for parameter in item.get("parameters", []) + item["get"].get("parameters", []):
            if "$ref" in parameter:
                parameter = document["components"]["parameters"][parameter["$ref"].rsplit("/", 1)[1]]
            if parameter["in"] == "query":
                names.append(parameter["name"])
        yield path, names


def filled(path, product):
    return (path.replace("{id}", product).replace("{version}", "1.0").replace("{n}", "0").replace("{name}", f"{product}.cbz")
            .replace("{document}", "0123456789abcdef0123456789abcdef"))


def queries(server, document, product, headers):
    """Every parameter twice, one that there is not, and values that no parameter has."""
    faults, count = [], 0
    right = {"territory": "FRA", "locale": "fr-FR", "application": "a.b", "after": product, "price": "free", "q": "a", "width": "100"}
    for path, names in parameters(document):
        path = filled(path, product)
        for name in names:
            value = right.get(name, "1")
            expect(faults, f"{path}: {name} twice", server.ask(f"{path}?{name}={value}&{name}={value}", headers=headers)[0], {400})
            count += 1
            for value in VALUES:
                query = urllib.parse.quote(value, safe="%")
                expect(faults, f"{path}: {name}={value[:20]}", server.ask(f"{path}?{name}={query}", headers=headers)[0],
                       {200, 204, 302, 400, 402, 404, 414})
                count += 1
        expect(faults, f"{path}: a parameter that there is not", server.ask(f"{path}?nothing=1", headers=headers)[0], {400})
        count += 1
    return faults, count


def cursors(server, headers):
    """Cursors of other lists, of other interfaces, and of nothing."""
    faults, operator = [], {"Authorization": f"Bearer {server.key}"}
    foreign = {"hostile.nothing", "1", "MQ==", base64.b64encode(b"hostile.long").decode(), "a" * 300}
    for path in ("/v1/operator/deliveries?limit=1", "/v1/operator/audit?limit=1"):
        following = json.loads(server.ask(path, headers=operator.items())[2]).get("next")
        foreign |= {following} if following else set()
    for form in ("v1.2", "v2"):
        for place in ("new", "singles", "publications", "owned"):
            for cursor in foreign:
                path = f"/opds/{form}/{place}?after={urllib.parse.quote(cursor)}"
                expect(faults, path, server.ask(path, headers=headers)[0], {400, 200} if place == "publications" else {400})
        # An issue of a publication is not of the list of those that belong to none.
        path = f"/opds/{form}/singles?after=hostile.markup"
        expect(faults, path, server.ask(path, headers=headers)[0], {400})
    return faults


def pages(server, product, headers):
    """Numbers that no page has, and ranges over one."""
    faults = []
    for number in NUMBERS:
        for kind in ("pages", "samples"):
            path = f"/opds/{kind}/{product}/1.0/{number if number.startswith('%') else urllib.parse.quote(number)}"
            expect(faults, path, server.ask(path, headers=headers)[0], {400, 404})
    for number in NUMBERS:
        path = f"/opds/pages/{product}/1.0/0?width={urllib.parse.quote(number)}"
        expect(faults, path, server.ask(path, headers=headers)[0], {200, 400})
    path = f"/opds/pages/{product}/1.0/0"
    whole = server.ask(path, headers=headers)[2]
    for value, expected in RANGES.items():
        status, fields, content = server.ask(path, headers=[*headers, ("Range", value)])
        expect(faults, f"{path}: {value}", status, {expected})
        if status == 206 and "," not in value:
            start, end = fields["Content-Range"].removeprefix("bytes ").split("/")[0].split("-")
            if content != whole[int(start):int(end) + 1]:
                faults.append(f"{path}: {value}: other bytes")
    return faults


def titles(server, document_of):
    """Titles are texts wherever they stand; what is no character of XML is left out or refused."""
    faults = []
    for product, title in TITLES.items():
        shown = "".join(character for character in title if character not in "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
        status, _, content = server.ask(f"/opds/v2/products/{product}")
        expect(faults, f"{product}", status, {200})
        told = json.loads(content)["metadata"]["title"]
        if told not in (title, shown) and not (len(title) > 1000 and title.startswith(told.rstrip("\u2026"))):
            faults.append(f"{product}: OPDS 2.0 calls it {told[:80]!r}")
        status, _, content = server.ask(f"/opds/v1.2/products/{product}")
        expect(faults, f"{product}", status, {200})
        if document_of(content) != told:
            faults.append(f"{product}: OPDS 1.2 calls it {document_of(content)[:80]!r}")
        status, _, page = server.ask(f"/shop/{product}")
        expect(faults, f"/shop/{product}", status, {200})
        if b"<script" in page or b"<b>" in page or "\u202e".encode() in page and b"<bdi" not in page and b"dir=" not in page:
            faults.append(f"/shop/{product}: the title became markup")
    return faults


def passwords(server, name, password, count):
    """So many wrong passwords from one address; the right one from another is taken throughout."""
    address = urllib.parse.urlsplit(server.url)

    def connection(source):
        return http.client.HTTPConnection(address.hostname, address.port, timeout=60, source_address=(source, 0))

    def ask(client, words):
        credentials = base64.b64encode(f"{name}:{words}".encode()).decode()
        client.request("GET", "/opds/v2/owned", headers={"Authorization": f"Basic {credentials}"})
        answer = client.getresponse()
        answer.read()
        return answer.status, answer.headers

    faults, statuses, attacker = [], {}, connection("127.0.0.9")
    for number in range(count):
        status, fields = ask(attacker, f"wrong-{number}")
        statuses[status] = statuses.get(status, 0) + 1
        if status == 429 and not fields["Retry-After"]:
            faults.append("429 without Retry-After")
        if number % 1000 == 500:
            client = connection("127.0.0.10")
            expect(faults, f"the right password after {number} wrong ones", ask(client, password)[0], {200})
            client.close()
    if set(statuses) != {401, 429} or statuses[401] > statuses[429]:
        faults.append(f"{count} wrong passwords: {statuses}")
    expect(faults, "the right password from where the wrong ones came", ask(attacker, password)[0], {200, 429})
    attacker.close()
    return faults, statuses
