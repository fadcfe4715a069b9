"""What has to be there before every page of the console has something to show: a publication, a request of a second operator, a reader's
key; and every form as it is shown again once it was refused, or asks before it does anything."""

import contextlib
import json
import os
import pathlib
import sqlite3
import zipfile

from console_visitor import Failure, Interface, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SERIES = "com.example.check.series"
# A second operator, with every scope.
ADA = "a-key-of-ada-who-looks-again-0123456789"
ADA_SETTING = f"{{name: 'ada', key: '{ADA}', scopes: ['read', 'publish', 'review', 'admin']}}"
SHEET = "kind,id,title:en-US\nproduct,com.example.check.sheet,A sheet {}\n"
FAULTY_SHEET = "kind,id,title:en-US,order\nproduct,com.example.check.sheet,A sheet,x\nnothing,y,z,1\n"


def restart(arguments, **settings):
    """The server anew, with two operators' keys, and with these variables."""
    run(ROOT / "scripts/stack", "kill", "server", "--dir", arguments.stack)
    start(arguments, **settings)


def start(arguments, **settings):
    run(ROOT / "scripts/stack", "start", "server", "--dir", arguments.stack,
        env=dict(os.environ, PULLBOX_CONSOLE="everywhere", PULLBOX_OPERATOR_KEYS=ADA_SETTING, **settings))


def rewrite(arguments, change, **settings):
    """Stops the server, lets `change` write into its database, and starts it: what comes of time alone cannot be waited for. Returns what
    `change` does."""
    run(ROOT / "scripts/stack", "kill", "server", "--dir", arguments.stack)
    with contextlib.closing(sqlite3.connect(arguments.stack / "server/server.db")) as database, database:
        changed = change(database)
    start(arguments, **settings)
    return changed


def park(database, count):
    """Calls to the store that have been refused as often as a store may: their numbers."""
    calls = [row[0] for row in database.execute("SELECT id FROM outbox ORDER BY id LIMIT ?", (count,))]
    database.executemany(
        "UPDATE outbox SET done = NULL, dropped = NULL, parked = created, refusals = 20, attempts = 20, last_error = 'forbidden' WHERE id = ?",
        [(call,) for call in calls])
    return calls


def make_reader(arguments):
    """A reader's key of the customer of the stack's agent: its name."""
    return json.loads(run(arguments.pullbox, "readers", "add", "Check", "--json"))["name"]


def ask_for_withdrawal(arguments, product, version, reason="for the check"):
    """The number of a request, by the second operator, that waits for the first."""
    status, document = Interface(arguments.server, ADA).answer(
        "POST", f"products/{product}/versions/{version}/withdraw", {"reason": reason})
    if status != 403 or "approval" not in document:
        raise Failure(f"a withdrawal that wants a second operator: {status} {document}")
    return document["approval"]


def arrange(arguments, product):
    """Makes what the pages need that nothing leads to otherwise; their paths."""
    operator = Interface(arguments.server, arguments.key)
    text = {"en-US": {"title": "A series", "description": "Its issues"}}
    operator.change(f"publications/{SERIES}", {"localizations": text, "cover": f"{product}.1", "order": 1}, "PUT")
    operator.change(f"products/{SERIES}.1", {
        "localizations": text, "publication": SERIES, "publicationDate": "2026-01-01T00:00:00Z",
        "prices": {"USA": {"amount": "2.99", "currency": "USD"}}}, "PUT")
    operator.change(f"products/{SERIES}.2", {"localizations": text, "publication": f"{SERIES}.new"}, "PUT")
    restart(arguments, PULLBOX_SECOND_OPERATOR="true")
    approval = ask_for_withdrawal(arguments, product, "1.0")
    reader = make_reader(arguments)
    return (
        f"publications/{SERIES}", f"publications/{SERIES}/edit", f"publications/{SERIES}.new", f"publications/{SERIES}.new/edit", "import", "approvals",
        "approvals?state=waiting", f"approvals/{approval}", f"customers/reader?name={reader}")


class Refusals:
    """Leads a visitor to each form that was refused, and to each question; the server wants a second operator."""

    def __init__(self, arguments, product, grant, transaction):
        self.arguments, self.product = arguments, product
        self.grant, self.transaction = grant.removeprefix("deliveries/"), transaction
        self.operator, self.ada = Interface(arguments.server, arguments.key), Interface(arguments.server, ADA)

    def all(self):
        """The ways there, by what was refused, each with the status that it is answered with and words that the page says."""
        return {
            "sign-in": (self.sign_in, 401, "key"), "typed name": (self.typed_name, 400, ""), "sale": (self.sale, 412, "ada"),
            "version": (self.version, 412, "ada"), "time": (self.time, 400, ""), "edit": (self.edit, 400, "XXX"),
            "preview of an edit": (self.preview, 200, "Another title"), "publication": (self.publication, 400, "many"),
            "import": (self.sheet, 422, "order"), "preview of an import": (self.sheet_preview, 200, "com.example.check.sheet"),
            "upload": (self.upload, 404, ""), "no call": (self.no_call, 400, ""), "grant": (self.revocation, 412, ""),
            "grants": (self.revocations, 412, ""), "reader's key": (self.reader, 404, ""), "approval": (self.approval, 409, ""),
        }

    def sign_in(self, visitor):
        """With a wrong key, from a window that is not signed in."""
        cookies = visitor.context.cookies()
        visitor.context.clear_cookies()
        visitor.open("sign-in?page=%2Fconsole%2Fhouse")
        status = visitor.send("form[action='/console/sign-in']", [("key", "no-key-of-anyone")])
        visitor.context.add_cookies(cookies)
        return status

    def typed_name(self, visitor):
        visitor.open(f"products/{self.product}/1.0")
        return visitor.send(
            f"form[action='/console/products/{self.product}/1.0/withdraw']", [("reason", "what was typed"), ("typed", "another name")])

    def sale(self, visitor):
        """Too late: its description was changed meanwhile."""
        visitor.open(f"products/{SERIES}.1")
        description = self.ada.get(f"products/{SERIES}.1")["product"]
        title = description["localizations"]["en-US"]
        title["title"] = "A series" if title["title"] != "A series" else "The series"
        members = ("localizations", "publication", "publicationDate", "prices")
        self.ada.change(f"products/{SERIES}.1", {name: description[name] for name in members}, "PUT")
        return visitor.send(f"form[action='/console/products/{SERIES}.1/withdraw']", [("typed", f"{SERIES}.1"), ("reason", "too late")])

    def version(self, visitor):
        """Too late: it was decided meanwhile, and submitted again."""
        path = f"products/{self.product}/1.1"
        visitor.open(path)
        steps = f"products/{self.product}/versions/1.1"
        self.ada.change(f"{steps}/reject", {"reason": "meanwhile"})
        self.operator.change(f"{steps}/submit")
        return visitor.send(f"form[action='/console/{path}/reject']", [("reason", "what was typed")])

    def time(self, visitor):
        """A time that is none, of the version that is released further: made for this."""
        version = f"3.{len(self.operator.get(f'products/{self.product}/versions?limit=200')['items'])}"
        run(self.arguments.pullbox, "publish", ROOT / "content/kestrel-station-1", "--product", self.product, "--version", version)
        self.ada.change(f"products/{self.product}/versions/{version}/approve")
        path = f"products/{self.product}/{version}"
        visitor.open(path)
        return visitor.send(f"form[action='/console/{path}/release']", [("at", "tomorrow"), ("percentage", "7")])

    def edit(self, visitor):
        visitor.open(f"products/{self.product}/edit")
        return visitor.send(f"form[action='/console/products/{self.product}/edit']", [("prices", "USA much XXX")])

    def preview(self, visitor):
        visitor.open(f"products/{SERIES}.1/edit")
        return visitor.send(f"form[action='/console/products/{SERIES}.1/edit']", [("title.en-US", "Another title")])

    def publication(self, visitor):
        visitor.open(f"publications/{SERIES}/edit")
        return visitor.send(f"form[action='/console/publications/{SERIES}/edit']", [("order", "many")])

    def sheet(self, visitor):
        visitor.open("import")
        return visitor.send("form[action='/console/import']", [("text", FAULTY_SHEET)])

    def sheet_preview(self, visitor):
        visitor.open("import")
        return visitor.send("form[action='/console/import']", [("text", SHEET.format("to look at"))])

    def upload(self, visitor):
        """For a product that is not there; with a script it says so itself."""
        book = self.arguments.work / "small.cbz"
        with zipfile.ZipFile(book, "w") as archive:
            archive.write(ROOT / "content/kestrel-station-1/page-001.png", "0.png")
        visitor.open("upload")
        form = visitor.page.locator("form[action='/console/upload']")
        form.locator("[name=file]").set_input_files(str(book))
        fields = [("product", "com.example.check.absent"), ("version", "1.0")]
        if not visitor.has_script:
            return visitor.send(form, fields)
        for name, value in fields:
            form.locator(f"[name={name}]").fill(value)
        form.locator("button:not([type])").click()
        visitor.page.locator("form [role=alert]:not([hidden])").wait_for()
        return 404

    def no_call(self, visitor):
        visitor.open("stores")
        return visitor.send("form[action='/console/stores/calls']", button="[value=retry]")

    def revocation(self, visitor):
        """Too late: somebody else has revoked it."""
        visitor.open(f"deliveries/{self.grant}/revoke")
        self.ada.change(f"grants/{self.grant}/revoke", {"reason": "meanwhile"})
        status = visitor.send(f"form[action='/console/deliveries/{self.grant}/revoke']", [("reason", "what was typed")])
        self.ada.change(f"grants/{self.grant}/reinstate")
        return status

    def revocations(self, visitor):
        visitor.open(f"customers/revoke?{self.transaction}")
        # The question is about grants that stand: with one of them gone it is another question.
        form = visitor.page.locator("form[action='/console/customers/revoke']")
        self.ada.change(f"grants/{self.grant}/revoke", {"reason": "meanwhile"})
        status = visitor.send(form, [("reason", "what was typed")])
        self.ada.change(f"grants/{self.grant}/reinstate")
        return status

    def reader(self, visitor):
        name = make_reader(self.arguments)
        visitor.open(f"customers/reader?name={name}")
        self.ada.change(f"readers/{name}/remove", {"reason": "meanwhile"})
        return visitor.send("form[action='/console/customers/reader']", [("reason", "what was typed")])

    def approval(self, visitor):
        """Who asked has taken the request back."""
        number = ask_for_withdrawal(self.arguments, f"{self.product}.1", "1.0")
        visitor.open(f"approvals/{number}")
        self.ada.change(f"approvals/{number}/decline", {"reason": "a mistake"})
        return visitor.send(f"form[action='/console/approvals/{number}/approve']")


def places_of_forms(arguments, product):
    """Pages with forms, each with what makes its forms possible again, which may lead to another page than its own."""
    operator, ada = Interface(arguments.server, arguments.key), Interface(arguments.server, ADA)
    hostile = f"{product}.hostile"
    text = {"en-US": {"title": "Hostile", "description": "Forms of it"}}
    operator.change(f"products/{hostile}", {"localizations": text, "publication": f"{hostile}.series"}, "PUT")
    operator.change(f"publications/{hostile}.series", {"localizations": text}, "PUT")
    book = arguments.work / "hostile.cbz"
    with zipfile.ZipFile(book, "w") as archive:
        archive.write(ROOT / "content/kestrel-station-1/page-001.png", "0.png")
    grants = operator.get(f"grants?product={product}.1")["items"]
    grant, transaction = grants[-1]["grant"], grants[-1]["transaction"]
    steps = f"products/{hostile}/versions"

    def version(state):
        """A version that is in that state: the one that is left from before, or a new one."""
        def bring_back():
            found = [row["version"] for row in operator.get(f"{steps}?limit=200")["items"] if row["state"] == state
                     and (state != "submitted" or row["submittedBy"] == "ada")]
            if not found:
                number = f"1.{len(operator.get(f'{steps}?limit=200')['items'])}"
                operator.upload(hostile, number, book.read_bytes())
                ways = {"draft": (), "submitted": ("submit",), "approved": ("submit", "approve"), "released": ("submit", "approve", "release")}
                for step in ways[state]:
                    # Who submits cannot approve.
                    (ada if step == "submit" else operator).change(f"{steps}/{number}/{step}", {"percentage": 10} if step == "release" else {})
                found = [number]
            return f"products/{hostile}/{found[0]}"
        return bring_back

    def standing():
        if operator.get(f"grants/{grant}")["state"] == "revoked":
            operator.change(f"grants/{grant}/reinstate")

    def revoked():
        if operator.get(f"grants/{grant}")["state"] != "revoked":
            operator.change(f"grants/{grant}/revoke")

    def request():
        waiting = [row["id"] for row in operator.get("approvals?state=waiting")["items"] if row["subject"].startswith(f"{hostile} ")]
        page = version("released")()
        return f"approvals/{waiting[0] if waiting else ask_for_withdrawal(arguments, hostile, page.rsplit('/', 1)[1])}"

    reader = []

    def key():
        found = operator.get(f"customers?transaction={transaction}")["customers"]
        if not reader or reader[-1] not in [row["name"] for customer in found for row in customer["readers"]]:
            reader.append(make_reader(arguments))
        return f"customers/reader?name={reader[-1]}"

    def nothing():
        return None

    return [
        ("import", nothing), ("upload", nothing), (f"products/{hostile}", nothing), (f"products/{hostile}/edit", nothing),
        (f"publications/{hostile}.series/edit", nothing), ("a draft", version("draft")), ("a version that waits", version("submitted")),
        ("an approved version", version("approved")), ("a released version", version("released")),
        ("a release", lambda: f"{version('released')()}/release"), ("a request", request), ("a reader's key", key), ("stores", nothing),
        ("house", nothing), (f"deliveries/{grant}/revoke", standing), (f"customers/revoke?transaction={transaction}", standing),
        (f"deliveries/{grant}/reinstate", revoked),
    ]
