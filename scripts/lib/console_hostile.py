"""Asks the console what nobody means well by: no answer is of the class 5xx, and what is not the session's own form changes nothing. The
forms that are the session's own have hostile values in each of their fields, each field twice, and more than may be sent."""

import html.parser
import urllib.error
import urllib.parse
import urllib.request

NAMES = (
    "action", "actor", "after", "application", "as", "compare", "device", "from", "id", "kind", "locale", "name", "notice", "page", "period", "product", "progress",
    "publication", "sale", "show", "since", "state", "store", "territory", "to", "transaction", "until", "version")
VALUES = ("%00", "%ff", "%0d%0aX:%20y", "-1", str(2**63), "1" * 5000, "'%20OR%201=1--", "%3Cscript%3E", "%E2%80%AEtxet", "..%2f..%2fetc", "2026-02-30", "{0}")
PATHS = (
    "", "products", "publications", "deliveries", "customers", "stores", "money", "house", "audit", "upload", "products/{product}",
    "products/{product}/edit", "products/{product}/1.0", "products/{product}/1.0/release", "products/{product}/1.0/pages", "import", "approvals", "approvals/1",
    "customers/revoke", "customers/reader", "publications/{product}", "publications/{product}/edit", "sign-in", "json/v1/operator/products",
    "pictures/{product}/1.0/pages/0", "pictures/{product}/cover")
ODD_PATHS = (
    "%2e%2e/v1/operator/audit", "products/%00", "products/..%2f..", "products/" + "a" * 3000, "deliveries/" + "\u6f2b", "json/metrics", "json//etc/passwd",
    "pictures/a/b/pages/-1", f"pictures/a/b/pages/{2**63}", "assets/0/console.js", "assets/x/../console.js", "products/a/b/c/d/e/f")
FORMS = (
    "sign-out", "language", "upload", "uploads", "stores/calls", "customers/revoke", "customers/reader", "house/scrub", "house/collect", "deliveries/x/revoke",
    "import", "approvals/1/approve", "approvals/1/decline", "publications/{product}/edit", "stores/nothing",
    "products/{product}/edit", "products/{product}/withdraw", "products/{product}/1.0/release", "products/{product}/1.0/withdraw", "nothing")
BODIES = (
    ("application/x-www-form-urlencoded", b"token=wrong"), ("application/x-www-form-urlencoded", b"token=a&token=b"), ("application/x-www-form-urlencoded", b"%00%ff=&&&="),
    ("application/json", b"{}"), ("multipart/form-data", b"x"), ("multipart/form-data; boundary=b", b"--b\r\n\r\n--b--"), ("text/plain", b""))


MULTIPART = "multipart/form-data"
# Bytes of a form, at most, by the end of its address; and of one of its fields.
MAXIMUM_FORM, MAXIMUM_EDIT, MAXIMUM_SHEET, MAXIMUM_FIELD = 64 * 1024, 4 * 1024 * 1024, 1024 * 1024, 1024
# A form that was well-formed is carried out, shown again, or refused for a reason of its own.
ANSWERS = {200, 303, 400, 404, 409, 412, 413, 422}


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Forms(html.parser.HTMLParser):
    """The forms of a page that change something: address, encoding, and the fields with what stands in them."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.found, self.open, self.text = [], None, None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        name = attributes.get("name")
        if tag == "form" and attributes.get("method") == "post":
            self.open = (attributes["action"].removeprefix("/console/"), attributes.get("enctype"), {})
            self.found.append(self.open)
        elif self.open and name:
            if tag == "textarea":
                self.text = name
            self.chosen = name
            self.open[2].setdefault(name, attributes.get("value") or "")
        elif self.open and tag == "option" and "selected" in attributes:
            self.open[2][self.chosen] = attributes.get("value") or ""

    def handle_endtag(self, tag):
        if tag == "form":
            self.open = None
        elif tag == "textarea":
            self.text = None

    def handle_data(self, text):
        if self.open and self.text:
            self.open[2][self.text] += text


def encoded(fields, encoding):
    """The body of pairs of a name and a value, percent-encoded, and its type."""
    if encoding != MULTIPART:
        return "&".join(f"{urllib.parse.quote(name)}={value}" for name, value in fields).encode(), "application/x-www-form-urlencoded"
    parts = []
    for name, value in fields:
        file = '; filename="x.cbz"' if name == "file" else ""
        parts += [f'--limit\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode(), urllib.parse.unquote_to_bytes(value), b"\r\n"]
    return b"".join([*parts, b"--limit--\r\n"]), f"{MULTIPART}; boundary=limit"


def given(action, encoding, fields):
    """What a form is sent with, percent-encoded; of an import and an upload what comes after their first pages."""
    pairs = {name: urllib.parse.quote(value) for name, value in fields.items() if name != "file"}
    if encoding == MULTIPART:
        pairs |= {"tag": "%22x%22", "confirmed": "yes", "content": ""} if action == "import" else {"upload": "x"}
    return pairs


def variants(action, encoding, names):
    """A form as nobody fills it in, by what it is given: each with the statuses that are right."""
    is_edit = action.endswith("/edit")
    longest = MAXIMUM_SHEET if action == "import" else MAXIMUM_FIELD if encoding else MAXIMUM_EDIT if is_edit else MAXIMUM_FORM
    for name in names:
        for value in VALUES if name != "token" else ():
            # Neither the character U+0000 nor what is no text is in a form; in a file they are a fault of that file.
            is_text = encoding == MULTIPART or value not in ("%00", "%ff")
            yield lambda given, name=name, value=value: [*{**given, name: value}.items()], ANSWERS if is_text else {400}
        yield lambda given, name=name: [*given.items(), (name, given[name])], {400} if name != "call" else ANSWERS
        yield lambda given, name=name: [pair for pair in given.items() if pair[0] != name], ANSWERS if name != "token" else {403}
    # One field of a form of several MiB tells as much as each of them.
    for name in [name for name in names if name != "token"][:1 if is_edit else None]:
        yield lambda given, name=name: [*{**given, name: "x" * (longest * 4 // 3 + 5)}.items()], {400, 413} if encoding else {413}
    yield lambda given: [*given.items(), ("unknown", "x")], ANSWERS


def check_forms(server, cookie, places):
    """Sends the forms of pages: `places` are the pages, each with what brings it back to where its forms are. How many were sent, and
    what was answered wrongly."""
    opener, faults, count = urllib.request.build_opener(NoRedirects), [], 0

    def send(path, body=None, kind=None):
        headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin", **({"Content-Type": kind} if kind else {})}
        try:
            with opener.open(urllib.request.Request(f"{server}/console/{path}", body, headers), timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode(errors="replace")

    def forms(path, bring_back):
        page = bring_back() or path
        status, text = send(page)
        if status != 200:
            faults.append(f"/console/{page}: {status}")
        # The two of every page: the session has to stay, and its language.
        return page, [form for form in Forms(text).found if form[0] not in ("sign-out", "language")]

    for path, bring_back in places:
        page, found = forms(path, bring_back)
        if not found:
            faults.append(f"/console/{page} has no form")
        for number in range(len(found)):
            action, encoding, fields = found[number]
            for make, allowed in variants(action, encoding, list(given(action, encoding, fields))):
                action, encoding, fields = found[number]
                body, kind = encoded(make(given(action, encoding, fields)), encoding)
                count += 1
                status, text = send(action, body, kind)
                if status not in allowed:
                    faults.append(f"POST /console/{action[:100]} {body[:300]} ({len(body)} bytes): {status}: {text[text.find('<h1'):][:300]}")
                if status == 303:
                    page, anew = forms(path, bring_back)
                    found = anew if len(anew) == len(found) else found
    return count, faults


def check_sign_in(server, key):
    """Signs in with hostile fields beside the right key: it leads nowhere but to the console. How many times, and what was answered wrongly."""
    opener, faults, count = urllib.request.build_opener(NoRedirects), [], 0
    fields = {"key": key, "page": "%2Fconsole%2Fhouse", "language": "en"}
    addresses = ("https://evil.example/", "//evil.example/console/", "%2Fconsole%2F..%2F..%2Fevil", "%2Fconsole%2F%5C%5Cevil.example", "%2Fconsole%2Fsign-in")
    bodies = [({**fields, name: value}, {303, 400}) for name in ("page", "language") for value in (*VALUES, *addresses)]
    bodies += [([*fields.items(), (name, fields[name])], {400}) for name in fields] + [({**fields, "page": "x" * MAXIMUM_FORM}, {413})]
    for body, allowed in bodies:
        count += 1
        body, kind = encoded(body.items() if isinstance(body, dict) else body, None)
        request = urllib.request.Request(f"{server}/console/sign-in", body, {"Content-Type": kind, "Sec-Fetch-Site": "same-origin"})
        try:
            opener.open(request, timeout=30).close()
        except urllib.error.HTTPError as answer:
            target = answer.headers["Location"] or "/console/"
            if answer.code not in allowed or not target.startswith("/console/") or target.startswith("/console/sign-in"):
                faults.append(f"POST /console/sign-in {body[:200]}: {answer.code}, Location {target}")
        else:
            faults.append(f"POST /console/sign-in {body[:200]}: no redirect")
    return count, faults


def check(server, cookie, product):
    """Returns how many questions were asked, and what was answered wrongly."""
    opener, faults, count = urllib.request.build_opener(NoRedirects), [], 0

    def ask(path, allowed, body=None, kind=None, **fields):
        nonlocal count
        count += 1
        headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin", **({"Content-Type": kind} if kind else {}), **fields}
        address = f"{server}/console/{urllib.parse.quote(path, safe='%/?&=.')}"
        try:
            with opener.open(urllib.request.Request(address, body, headers), timeout=30) as answer:
                status = answer.status
        except urllib.error.HTTPError as refusal:
            status = refusal.code
        if status not in allowed:
            faults.append(f"{'POST' if body is not None else 'GET'} /console/{path[:100]} {(kind, body) if body is not None else ''}: {status}")

    for path in PATHS:
        path = path.format(product=product)
        for name in NAMES:
            # A picture that cannot be had is none.
            ask(f"{path}?{name}=a&{name}=b", {404} if path.startswith("pictures/") else {400})
            for value in VALUES:
                ask(f"{path}?{name}={value}", {200, 400, 404, 414})
    for path in ODD_PATHS:
        ask(path, {200, 303, 400, 404, 414})
    for path in FORMS:
        path = path.format(product=product)
        for kind, body in BODIES:
            ask(path, {400, 403, 404, 405}, body, kind)
        ask(path, {400, 403, 404, 405}, b"token=wrong", "application/x-www-form-urlencoded", **{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"})
    # The session is still there: nothing of it was done.
    ask("", {200})
    return count, faults
