"""Asks the console what nobody means well by: no answer is of the class 5xx, and what is not the session's own form changes nothing."""

import urllib.error
import urllib.parse
import urllib.request

NAMES = (
    "action", "actor", "after", "application", "as", "compare", "device", "from", "id", "kind", "locale", "notice", "period", "product", "progress",
    "publication", "sale", "show", "since", "state", "store", "territory", "to", "transaction", "until", "version")
VALUES = ("%00", "%ff", "%0d%0aX:%20y", "-1", str(2**63), "1" * 5000, "'%20OR%201=1--", "%3Cscript%3E", "%E2%80%AEtxet", "..%2f..%2fetc", "2026-02-30", "{0}")
PATHS = (
    "", "products", "publications", "deliveries", "customers", "stores", "money", "house", "audit", "upload", "products/{product}",
    "products/{product}/edit", "products/{product}/1.0", "products/{product}/1.0/release", "products/{product}/1.0/pages", "json/v1/operator/products",
    "pictures/{product}/1.0/pages/0", "pictures/{product}/cover")
ODD_PATHS = (
    "%2e%2e/v1/operator/audit", "products/%00", "products/..%2f..", "products/" + "a" * 3000, "deliveries/" + "\u6f2b", "json/metrics", "json//etc/passwd",
    "pictures/a/b/pages/-1", f"pictures/a/b/pages/{2**63}", "assets/0/console.js", "assets/x/../console.js", "products/a/b/c/d/e/f")
FORMS = (
    "sign-out", "language", "upload", "uploads", "stores/calls", "customers/revoke", "house/scrub", "house/collect", "deliveries/x/revoke",
    "products/{product}/edit", "products/{product}/withdraw", "products/{product}/1.0/release", "products/{product}/1.0/withdraw", "nothing")
BODIES = (
    ("application/x-www-form-urlencoded", b"token=wrong"), ("application/x-www-form-urlencoded", b"token=a&token=b"), ("application/x-www-form-urlencoded", b"%00%ff=&&&="),
    ("application/json", b"{}"), ("multipart/form-data", b"x"), ("multipart/form-data; boundary=b", b"--b\r\n\r\n--b--"), ("text/plain", b""))


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


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
