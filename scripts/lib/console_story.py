"""A day of who never saw a terminal, by keyboard alone: an issue is uploaded, compared with the one before, submitted, approved by somebody
else, released to a tenth, fails on three devices, goes back, and a letter is answered."""

import itertools
import json
import urllib.parse

from console_buttons import make_book
from console_states import ADA, restart
from console_visitor import Failure, Interface, Visitor, ask

REASON = "the content is not what its manifest says"


class Customer:
    """A customer with one device, which is no agent: it asks for what it bought, and says that it is not what its manifest says."""

    def __init__(self, arguments, device):
        self.arguments, self.device = arguments, device
        self.token = self.store("sandbox/v1/accounts", {"territory": "USA", "name": "A reader"})["token"]

    def store(self, path, body=None):
        return self.answered(f"{self.arguments.store}/{path}", body, getattr(self, "token", None))

    def server(self, path, body, token=None):
        return self.answered(f"{self.arguments.server}/v1/{path}", body, token)

    @staticmethod
    def answered(url, body, token):
        status, _, content = ask(url, "GET" if body is None else "POST", body, token)
        if status >= 300:
            raise Failure(f"{url}: {status} {content}")
        return json.loads(content)

    def fail(self, product):
        """Buys it, is granted a version, fetches some of it, and reports that it is damaged: the transaction and the version."""
        transaction = self.store("store/v1/purchases", {"product": product, "device": self.device})["transaction"]["id"]
        receipt = self.store(f"store/v1/receipt?device={urllib.parse.quote(self.device)}")["receipt"]
        granted = self.server("grants", {"receipt": receipt, "device": {"id": self.device}, "product": product})
        download = granted["download"]
        status, _, _ = ask(f"{self.arguments.server}{download['contentURL']}", token=download["ticket"], headers={"Range": "bytes=0-99"})
        if status != 206:
            raise Failure(f"{download['contentURL']}: {status}")
        self.server(f"grants/{granted['grant']}/failure", {"digest": download["digest"], "version": download["version"]}, granted["renewalSecret"])
        return transaction, download["version"]


def devices_of(arguments, product, version):
    """Names of devices to which that version is offered."""
    for number in itertools.count(1):
        device = f"story-{number}"
        status, _, content = ask(f"{arguments.server}/v1/products?id={product}&device={device}&territory=USA")
        if status != 200:
            raise Failure(f"/v1/products: {status} {content}")
        if any(shown.get("contentVersion") == version for shown in json.loads(content)["products"]):
            yield device
        if number > 1000:
            raise Failure(f"of 1000 devices too few are offered {product} {version}")


def prepare(arguments, product, interface, ada):
    """An issue that all have."""
    interface.change(f"products/{product}", {
        "localizations": {"en-US": {"title": "The story", "description": "An issue"}},
        "prices": {"USA": {"amount": "1.99", "currency": "USD"}}}, "PUT")
    interface.upload(product, "1.0", make_book(arguments.work / "story-1.cbz", 0, 1, 2).read_bytes())
    steps = f"products/{product}/versions/1.0"
    interface.change(f"{steps}/submit")
    ada.change(f"{steps}/approve")
    interface.change(f"{steps}/release")


def check(arguments, browser, product, has_script):
    restart(arguments, PULLBOX_SECOND_OPERATOR="true")
    interface, ada_interface = Interface(arguments.server, arguments.key), Interface(arguments.server, ADA)
    prepare(arguments, product, interface, ada_interface)
    version = lambda number: interface.version(product, number)
    path, book = f"products/{product}/2.0", make_book(arguments.work / "story-2.cbz", 0, 3, 2)
    assistant = Visitor(browser, arguments.server, arguments.key, "light", has_script)
    assistant.sign_in()

    # Uploaded.
    assistant.link("products")
    assistant.link("upload")
    assistant.type("[name=product]", product)
    assistant.type("[name=version]", "2.0")
    assistant.reach("[name=file]")
    with assistant.page.expect_file_chooser(timeout=60_000) as chooser:
        assistant.page.keyboard.press("Space")
    chooser.value.set_files(str(book))
    assistant.reach("form[action='/console/upload'] button:not([type])")
    assistant.page.keyboard.press("Enter")
    assistant.page.wait_for_url(f"{arguments.server}/console/{path}?notice=uploaded")

    # Compared.
    assistant.link(f"{path}/pages")
    assistant.reach("[name=compare]")
    assistant.page.keyboard.type("1.0")
    assistant.enter("form[method=get] button")
    assistant.expect("Pages that are the same: 2; changed: 1; added: 0; removed: 0.")
    if assistant.page.locator("main tbody tr").count() != 1:
        raise Failure(f"of one page that was changed is shown {assistant.main()[:600]}")

    # Submitted, and approved with another key.
    assistant.link(path)
    assistant.take(f"{path}/submit")
    other = Visitor(browser, arguments.server, ADA, "light", has_script)
    other.sign_in()
    other.link(path)
    other.take(f"{path}/approve")
    if version("2.0")["state"] != "approved":
        raise Failure(f"the version is {version('2.0')}")

    # Released to a tenth, where three devices fail.
    assistant.link("products")
    assistant.link(f"products/{product}")
    assistant.link(path)
    assistant.take(f"{path}/release", [("percentage", "10")])
    if version("2.0")["percentage"] != 10:
        raise Failure(f"the version is {version('2.0')}")
    letters = []
    for device in itertools.islice(devices_of(arguments, product, "2.0"), 3):
        transaction, granted = Customer(arguments, device).fail(product)
        if granted != "2.0":
            raise Failure(f"{device} was granted {granted}")
        letters.append((device, transaction))
    assistant.link(f"{path}/release")
    row = assistant.page.locator("main tr", has_text=REASON)
    if row.count() != 1 or row.locator("td").nth(2).inner_text() != "3":
        raise Failure(f"three devices fail, and shown is {assistant.main()[:1500]}")
    assistant.enter(row.locator("a"))
    assistant.expect(*[device for device, _ in letters])
    # Alt and the left arrow are the browser's own keys, which its window has and a page without one does not.
    assistant.page.go_back()

    # Back.
    assistant.take(f"products/{product}/1.0/release")
    if (version("1.0")["state"], version("1.0")["percentage"], version("2.0")["state"]) != ("released", 100, "superseded"):
        raise Failure(f"after going back the versions are {version('1.0')}, {version('2.0')}")

    # A letter with a number.
    device, transaction = letters[1]
    assistant.link("customers")
    assistant.type("[name=transaction]", transaction)
    assistant.enter("form[method=get] button")
    assistant.expect(device, product)
    assistant.enter(assistant.page.locator(f"main a[href*='&product={product}']").first)
    assistant.expect("Because", transaction)
    for visitor in (assistant, other):
        visitor.close()
    restart(arguments)
