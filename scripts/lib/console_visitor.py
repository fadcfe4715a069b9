"""One window of a browser at the console, by mouse or by keyboard alone; and the management interface, by which what it did is judged."""

import json
import subprocess
import urllib.error
import urllib.request

from axe_playwright_python.sync_playwright import Axe

RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}}
MAXIMUM_STOPS = 400


class Failure(Exception):
    pass


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise Failure(f"{' '.join(str(part) for part in command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def ask(url, method="GET", body=None, token=None, headers=None):
    """Status, fields and content of an answer."""
    fields = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, fields, method=method), timeout=30) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.headers, refusal.read()


class Interface:
    """The management interface, with one operator's key."""

    def __init__(self, server, key):
        self.server, self.key = server, key

    def answer(self, method, path, body=None, headers=None):
        status, _, content = ask(f"{self.server}/v1/operator/{path}", method, body, self.key, headers)
        return status, json.loads(content or b"{}")

    def change(self, path, body=None, method="POST"):
        status, document = self.answer(method, path, {} if body is None else body)
        if status >= 300:
            raise Failure(f"{method} {path}: {status} {document}")
        return document

    def get(self, path):
        status, document = self.answer("GET", path)
        if status != 200:
            raise Failure(f"{path}: {status} {document}")
        return document

    def version(self, product, version):
        return self.get(f"products/{product}/versions/{version}")

    def upload(self, product, version, content):
        """A draft of a file that is a package."""
        status, headers, answer = ask(f"{self.server}/v1/operator/uploads", "POST", content, self.key, {
            "Tus-Resumable": "1.0.0", "Upload-Length": str(len(content)), "Content-Type": "application/offset+octet-stream"})
        if status != 201:
            raise Failure(f"an upload: {status} {answer}")
        upload = headers["Location"].rsplit("/", 1)[1]
        self.change(f"products/{product}/versions", {"upload": upload, "version": version})


class Visitor:
    """One browser window, and what went wrong in it."""

    def __init__(self, browser, server, key, scheme, has_script, **features):
        self.server, self.key, self.has_script = server, key, has_script
        self.name = f"{' '.join([scheme, *features])}, scripts {'on' if has_script else 'off'}"
        self.context = browser.new_context(
            color_scheme=scheme, java_script_enabled=has_script, locale="en-US", viewport={"width": 1180, "height": 900}, **features)
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.errors = []
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(f"{message.text} {message.location['url']}"))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, path):
        response = self.page.goto(f"{self.server}/console/{path}")
        if response.status != 200:
            raise Failure(f"{self.name}: /console/{path}: status {response.status}")
        return response

    def sign_in(self):
        """With the keyboard alone."""
        self.page.goto(f"{self.server}/console/")
        self.reach("#key")
        self.page.keyboard.insert_text(self.key)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(f"{self.server}/console/")
        self.page.get_by_text("Signed in as").wait_for()

    def violations(self, path):
        results = Axe().run(self.page, options=RULES).response["violations"]
        return [
            f"{self.name}: /console/{path}: {result['id']}: {node['html'][:160]}" for result in results for node in result["nodes"]]

    def find(self, place):
        """A selector's elements, or those that a locator has."""
        return self.page.locator(place) if isinstance(place, str) else place

    def main(self):
        return self.page.locator("main").inner_text()

    def expect(self, *texts):
        """Fails unless the page says so."""
        shown = self.main()
        for text in texts:
            if text not in shown:
                raise Failure(f"{self.name}: {self.page.url}: no “{text}” in\n{shown[:900]}")

    def follow(self, path, step, fields=()):
        """Fills the form of a step in, and sends it."""
        self.open(path)
        form = self.page.locator(f"form[action='/console/{path}/{step}']")
        if not form.count():
            self.page.locator(f"a[href='/console/{path}/{step}']").click()
            form = self.page.locator(f"form[action='/console/{path}/{step}']")
        for name, value in fields:
            form.locator(f"[name={name}]").fill(value)
        form.locator("button").last.click()
        return self.notice(f"{path}: {step}")

    def send(self, form, fields=(), button="button:not([type])"):
        """Fills a form in with the mouse, and sends it; the status of the answer."""
        form = self.find(form)
        for name, value in fields:
            form.locator(f"[name='{name}']").fill(value)
        with self.page.expect_navigation() as navigation:
            form.locator(button).last.click()
        return navigation.value.status

    def notice(self, what):
        """The words that say what was done."""
        notice = self.page.locator(".notice[role=status]")
        if not notice.count():
            raise Failure(f"{self.name}: {what}: {self.main()[:900]}")
        return notice.inner_text()

    # By keyboard alone.

    def reach(self, place):
        """Moves the focus there with Tab."""
        wanted = self.find(place).and_(self.page.locator(":focus"))
        for _ in range(MAXIMUM_STOPS):
            if wanted.count():
                return
            self.page.keyboard.press("Tab")
        raise Failure(f"{self.name}: {self.page.url}: Tab leads to no {place}")

    def enter(self, place):
        """Follows a link, or presses a button; the status of what is shown then."""
        self.reach(place)
        with self.page.expect_navigation() as navigation:
            self.page.keyboard.press("Enter")
        return navigation.value.status

    def link(self, path):
        """Follows the page's link to another page of the console, by keyboard."""
        status = self.enter(self.page.locator(f"a[href='/console/{path}']").first)
        if status != 200:
            raise Failure(f"{self.name}: /console/{path}: status {status}")

    def type(self, place, text):
        """Replaces what stands in a field."""
        self.reach(place)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press("Delete")
        self.page.keyboard.insert_text(text)

    def press(self, form, fields=(), button="button:not([type])"):
        """Fills a form in by keyboard, and presses its button; the status of the answer. A value of True ticks a box."""
        form = self.find(form)
        for name, value in fields:
            field = form.locator(f"[name='{name}']")
            if value is True:
                self.reach(field)
                self.page.keyboard.press("Space")
            else:
                self.type(field, value)
        return self.enter(form.locator(button).last)

    def take(self, action, fields=(), button="button:not([type])"):
        """Presses the button of the form that is sent there; the words that say what was done."""
        status = self.press(f"form[action='/console/{action}']", fields, button)
        if status != 200:
            raise Failure(f"{self.name}: {action}: status {status}: {self.main()[:900]}")
        return self.notice(action)

    def close(self, *meant):
        """Fails for what the browser reported meanwhile, but for what has one of these texts."""
        self.context.close()
        if errors := [text for text in self.errors if not any(part in text for part in meant)]:
            raise Failure("\n".join([f"{self.name}:", *errors]))
