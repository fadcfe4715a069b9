"""Every button of the console that changes something, pressed by keyboard alone. What it did is said by the page, and judged by the
management interface. Two operators share the work: what one submits the other decides."""

import pathlib
import zipfile

from console_states import ADA, SHEET, make_reader, park, restart, rewrite
from console_visitor import Failure, Interface, Visitor, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "content/kestrel-station-1"
WORDS = "Page 2 is upside down, “again” & again"


def make_book(path, *numbers):
    """A comic book of these pages."""
    with zipfile.ZipFile(path, "w") as archive:
        for place, number in enumerate(numbers):
            archive.write(sorted(FOLDER.glob("page-*.png"))[number], f"{place}.png")
    return path


class Desk:
    """Both operators, and what they act on."""

    def __init__(self, arguments, browser, product, has_script):
        self.arguments, self.product, self.suffix = arguments, product, "on" if has_script else "off"
        self.one = Visitor(browser, arguments.server, arguments.key, "light", has_script)
        self.ada = Visitor(browser, arguments.server, ADA, "light", has_script)
        self.interface = Interface(arguments.server, arguments.key)

    def expect(self, what, found, wanted):
        if found != wanted:
            raise Failure(f"{self.one.name}: {what}: {found} in place of {wanted}")

    def step(self, visitor, path, step, fields=(), button="button:not([type])"):
        visitor.open(path)
        return visitor.take(f"{path}/{step}", fields, button)

    # The sale.

    def sale(self):
        """Of a product that is new: without a picture it cannot be submitted."""
        name, path = self.product, f"products/{self.product}"
        self.interface.change(path, {
            "localizations": {"en-US": {"title": f"Buttons {self.suffix}", "description": "To be pressed"}}}, "PUT")
        sale = lambda: self.interface.get(path)["sale"]
        self.expect("a new product", sale(), "draft")
        self.one.open(path)
        self.expect("a submission without a picture", self.one.press(f"form[action='/console/{path}/submit']", [("reason", WORDS)]), 422)
        self.expect("what was typed", self.one.page.locator("form [name=reason]").first.input_value(), WORDS)
        self.expect("a submission without a picture", sale(), "draft")
        picture = (FOLDER / "page-001.png").read_bytes()
        status, _ = self.interface.answer("PUT", f"{path}/screenshot", picture, {"Content-Type": "image/png"})
        self.expect("a screenshot", status // 100, 2)
        self.step(self.one, path, "submit", [("reason", WORDS)])
        self.expect("submit", sale(), "submitted")
        self.step(self.ada, path, "reject", [("reason", WORDS)])
        self.expect("reject", (sale(), self.interface.get(path)["review"]["reason"]), ("rejected", WORDS))
        self.one.open(path)
        self.one.expect(WORDS)
        self.step(self.one, path, "submit", [("reason", "once more")])
        self.step(self.ada, path, "approve")
        self.expect("approve", sale(), "cleared")
        for decision, state in (("decline", "cleared"), ("approve", "withdrawn")):
            self.step(self.one, path, "withdraw", [("typed", name), ("reason", "for the check")])
            self.expect("a withdrawal that waits", sale(), "cleared")
            self.decide(decision, "product.withdraw")
            self.expect(f"{decision} of a withdrawal", sale(), state)
        self.step(self.one, path, "submit")
        self.step(self.ada, path, "approve")
        self.expect("sold again", sale(), "cleared")

    def decide(self, decision, action):
        """From today to the request, and its button."""
        waiting = self.interface.get("approvals?state=waiting")["items"]
        number = next(approval["id"] for approval in waiting if approval["action"] == action)
        self.ada.open("")
        self.ada.link(f"approvals/{number}")
        self.ada.take(f"approvals/{number}/{decision}", [("reason", WORDS)] if decision == "decline" else ())
        state = {"decline": "declined", "approve": "done"}[decision]
        self.expect(decision, self.interface.get(f"approvals/{number}")["state"], state)
        if decision == "decline":
            self.ada.expect(WORDS)

    # Versions.

    def versions(self):
        """From a draft to all devices, in steps; the next one to some, and back."""
        for version, pages in (("1.0", (0, 1)), ("2.0", (0, 2))):
            book = make_book(self.arguments.work / f"{self.product}-{version}.cbz", *pages)
            self.interface.upload(self.product, version, book.read_bytes())
        version = lambda number: self.interface.version(self.product, number)
        path = f"products/{self.product}/1.0"
        self.expect("a draft", version("1.0")["state"], "draft")
        self.step(self.one, path, "submit")
        self.expect("submit", version("1.0")["state"], "submitted")
        self.step(self.ada, path, "reject", [("reason", WORDS)])
        self.expect("reject", (version("1.0")["state"], version("1.0")["reason"]), ("rejected", WORDS))
        self.one.open(path)
        self.one.expect(WORDS)
        self.step(self.one, path, "submit")
        self.step(self.ada, path, "approve")
        self.expect("approve", version("1.0")["state"], "approved")
        self.step(self.one, path, "release", [("percentage", "30"), ("at", "2090-01-01 08:30")])
        self.expect("a planned release", version("1.0")["scheduled"]["at"][:16], "2090-01-01T08:30")
        self.step(self.one, path, "stop")
        self.expect("a release that was called off", version("1.0").get("scheduled"), None)
        self.step(self.one, path, "release", [("percentage", "100")])
        self.expect("release", (version("1.0")["state"], version("1.0")["percentage"]), ("released", 100))
        path = f"products/{self.product}/2.0"
        self.step(self.one, path, "submit")
        self.step(self.ada, path, "approve")
        self.step(self.one, path, "release", [("percentage", "10")])
        self.expect("a tenth", version("2.0")["percentage"], 10)
        self.one.open(path)
        self.one.link(f"{path}/release")
        self.one.take(f"{path}/release", [("percentage", "50")])
        self.expect("half", version("2.0")["percentage"], 50)
        self.one.take(f"products/{self.product}/1.0/release")
        self.expect("back", (version("1.0")["state"], version("1.0")["percentage"], version("2.0")["state"]), ("released", 100, "superseded"))
        self.step(self.one, path, "withdraw", [("reason", "for the check"), ("stops", True), ("typed", f"{self.product} 2.0")])
        self.expect("a withdrawal that waits", version("2.0")["state"], "superseded")
        self.decide("approve", "version.withdraw")
        self.expect("withdraw", (version("2.0")["state"], version("2.0").get("downloadsStopped")), ("withdrawn", True))

    # The catalog.

    def sheets(self):
        """A sheet, looked at and then imported; twice it changes nothing."""
        form, title = "form[action='/console/import']", f"A sheet {self.suffix}"
        for status in (200, 404):
            self.one.open("import")
            self.one.press(form, [("text", SHEET.format(self.suffix))])
            if status == 404:
                break
            self.one.expect(title)
            self.expect("a preview", self.one.press("section form[action='/console/import']"), 200)
            self.one.notice("import")
            product = self.interface.get("products/com.example.check.sheet")["product"]
            self.expect("import", product["localizations"]["en-US"]["title"], title)
        self.expect("an import that changes nothing", self.one.page.locator("section form[action='/console/import']").count(), 0)

    def publication(self):
        name, title = f"{self.product}.series", f"Series {self.suffix}"
        path = f"publications/{name}"
        self.interface.change(f"products/{name}.1", {
            "localizations": {"en-US": {"title": title, "description": "Its first"}}, "publication": name}, "PUT")
        self.one.open(path)
        self.one.link(f"{path}/edit")
        self.one.press(f"form[action='/console/{path}/edit']", [("language", "en-US"), ("newtitle", title), ("newdescription", "One\nTwo")])
        self.one.expect(title)
        self.expect("a preview", self.one.press(f"section form[action='/console/{path}/edit']"), 200)
        self.expect("an edit", self.interface.get(path)["localizations"]["en-US"], {"title": title, "description": "One\nTwo"})

    # Customers.

    def customers(self, grant, transaction):
        """A grant, all of a transaction, and a reader's key."""
        state = lambda: self.interface.get(f"grants/{grant}")["state"]
        before = state()
        path = f"deliveries/{grant}"
        self.one.open(path)
        self.one.link(f"{path}/revoke")
        self.one.take(f"{path}/revoke", [("reason", WORDS)])
        self.expect("revoke", state(), "revoked")
        self.one.link(f"{path}/reinstate")
        self.one.take(f"{path}/reinstate", [("reason", WORDS)])
        self.expect("reinstate", state(), before)
        self.one.open(f"customers?transaction={transaction}")
        self.one.link(f"customers/revoke?transaction={transaction}")
        self.one.take("customers/revoke", [("reason", WORDS)])
        self.expect("revoke all", state(), "revoked")
        self.interface.change(f"grants/{grant}/reinstate")
        name = make_reader(self.arguments)
        readers = lambda: {key["name"] for customer in self.interface.get(f"customers?transaction={transaction}")["customers"] for key in customer["readers"]}
        self.expect("a reader's key", name in readers(), True)
        self.one.open(f"customers?transaction={transaction}")
        self.one.link(f"customers/reader?name={name}")
        self.one.take("customers/reader", [("reason", WORDS)])
        self.expect("a key that was ended", name in readers(), False)

    # Stores and packages.

    def calls(self, parked):
        """One is made again, the other dropped, once it was said what that does."""
        again, dropped = parked
        state = lambda call: next(row for row in self.interface.get("outbox?limit=200")["items"] if row["id"] == call)["state"]
        form = "form[action='/console/stores/calls']"
        self.expect("parked calls", {state(call) for call in parked}, {"parked"})
        for call, button in ((again, "[value=retry]"), (dropped, "[value=drop]")):
            self.one.open("stores?state=parked")
            self.one.reach(f"{form} [name=call][value='{call}']")
            self.one.page.keyboard.press("Space")
            self.one.press(form, button=button)
        self.expect("a call that was not confirmed", state(dropped), "parked")
        self.one.take("stores/calls", [("reason", WORDS)], "[value=drop]")
        self.expect("retry and drop", (state(again) in ("waiting", "done"), state(dropped)), (True, "dropped"))

    def house(self):
        """All packages are read, and what is not needed goes."""
        lately = lambda: self.interface.get("scrub")
        self.one.open("house")
        self.one.take("house/scrub")
        self.expect("packages with faults", lately()["faults"], [])
        plan = self.interface.change("collection", {"dryRun": True})
        self.expect("an upload that was left", len(plan["uploads"]), 1)
        self.one.take("house/collect")
        self.expect("a collection", self.interface.change("collection", {"dryRun": True})["uploads"], [])

    def language(self):
        """German, and back."""
        for language in ("de", "en"):
            self.one.open("house")
            self.one.press("form[action='/console/language']")
            self.expect("the language", self.one.page.locator("html").get_attribute("lang"), language)
            self.expect("the page that was open", self.one.page.url, f"{self.arguments.server}/console/house")


def check(arguments, browser, product, has_script):
    """Presses all of them; the browser must have nothing to report but refusals that were meant."""
    def leave(database):
        # An upload that nobody goes on with, as after its day.
        name = f"left{'on' if has_script else 'off'}" * 8
        database.execute(
            "INSERT INTO uploads (id, owner, length, metadata, created, touched) VALUES (?, 'operator', 9, '', 1, 1)", (name,))
        return park(database, 2)
    parked = rewrite(
        arguments, leave, PULLBOX_SECOND_OPERATOR="true", PULLBOX_REQUIRE_PRODUCT_REVIEW="true", PULLBOX_GC_INTERVAL="0")
    desk = Desk(arguments, browser, f"{product}.buttons-{'on' if has_script else 'off'}", has_script)
    for visitor in (desk.one, desk.ada):
        visitor.sign_in()
    grants = desk.interface.get(f"grants?product={product}.1")["items"]
    desk.sale()
    desk.versions()
    desk.sheets()
    desk.publication()
    desk.customers(grants[0]["grant"], grants[0]["transaction"])
    desk.calls(parked)
    desk.house()
    desk.language()
    for visitor in (desk.one, desk.ada):
        visitor.close("status of 422")
    restart(arguments)
