"""The console in Debian's Firefox, driven by its own protocol (Marionette): every page and the steps of it, with scripts and without.

Firefox writes down errors of scripts and what a Content-Security-Policy refuses; either fails.
"""

import contextlib
import socket
import subprocess
import time

from marionette_driver import By, Wait
from marionette_driver.errors import MarionetteException
from marionette_driver.keys import Keys
from marionette_driver.marionette import Marionette

START_SECONDS = 60
PREFERENCES = {
    "app.normandy.enabled": False, "app.update.enabled": False, "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False, "intl.accept_languages": "en-US", "toolkit.telemetry.enabled": False,
}
# Of pages alone: the browser's own parts have remarks of theirs.
MESSAGES = """
const found = [];
for (const message of Services.console.getMessageArray()) {
  if (!(message instanceof Ci.nsIScriptError)) continue;
  const isOfPage = (message.sourceName || "").startsWith("http") || /Content.Security.Policy/i.test(message.errorMessage);
  const isWarning = message.flags & Ci.nsIScriptError.warningFlag;
  if (isOfPage && (!isWarning || message.category === "CSP")) found.push(`${message.category}: ${message.errorMessage}`);
}
Services.console.reset();
return found;
"""


class Failure(Exception):
    pass


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Firefox:
    """One Firefox with a profile of its own."""

    def __init__(self, browser, server, key, work, has_script):
        self.server, self.key = server, key
        self.name = f"Firefox, scripts {'on' if has_script else 'off'}"
        profile, port = work / f"firefox-{'on' if has_script else 'off'}", free_port()
        profile.mkdir()
        preferences = dict(PREFERENCES, **{"javascript.enabled": has_script, "marionette.port": port})
        (profile / "user.js").write_text("".join(
            f'user_pref("{name}", {str(value).lower() if not isinstance(value, str) else chr(34) + value + chr(34)});\n'
            for name, value in preferences.items()))
        with open(work / "firefox.log", "ab") as log:
            self.process = subprocess.Popen(
                [browser, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", profile],
                stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.close()
                raise Failure(f"{self.name} does not start")
            time.sleep(0.1)
        self.marionette = Marionette(host="127.0.0.1", port=port)
        self.marionette.start_session()
        self.version = self.marionette.session_capabilities["browserVersion"]

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=30)

    def open(self, path):
        self.marionette.navigate(f"{self.server}/console/{path}")
        if not self.text("h1"):
            raise Failure(f"{self.name}: /console/{path} has no heading")

    def find(self, selector):
        return self.marionette.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        found = self.find(selector)
        return found[0].text if found else ""

    def until(self, what, condition):
        try:
            return Wait(self.marionette, timeout=30, ignored_exceptions=[MarionetteException]).until(lambda _: condition())
        except MarionetteException as error:
            raise Failure(f"{self.name}: {what}: {self.marionette.get_url()}: {self.text('main')[:600]}") from error

    def fill(self, element, value):
        element.clear()
        element.send_keys(value)

    def sign_in(self):
        self.marionette.navigate(f"{self.server}/console/")
        self.find("#key")[0].send_keys(self.key + Keys.ENTER)
        self.until("signs in", lambda: self.marionette.get_url() == f"{self.server}/console/")

    def follow(self, path, step, fields=()):
        """Fills the form of a step in, and sends it."""
        self.open(path)
        form = f"form[action='/console/{path}/{step}']"
        if not self.find(form):
            self.find(f"a[href='/console/{path}/{step}']")[0].click()
            self.until(step, lambda: self.find(form))
        for name, value in fields:
            self.fill(self.find(f"{form} [name={name}]")[0], value)
        self.find(f"{form} button")[-1].click()
        self.until(step, lambda: "notice=" in self.marionette.get_url() and self.find("[role=status]"))

    def edit(self, path, language, title):
        self.open(path)
        for name, value in (("language", language), ("newtitle", title)):
            self.fill(self.find(f"main [name={name}]")[0], value)
        self.find(f"form[action='/console/{path}'] button")[-1].click()
        self.until("shows what is edited", lambda: title in self.text("main section table"))
        self.find(f"section form[action='/console/{path}'] button")[-1].click()
        self.until("edits", lambda: "notice=" in self.marionette.get_url())

    def upload(self, product, version, book):
        self.open(f"upload?product={product}")
        self.fill(self.find("#version")[0], version)
        self.find("#file")[0].send_keys(str(book))
        self.find("main form button:not([type])")[0].click()
        self.until("uploads", lambda: self.marionette.get_url().endswith(f"/{version}?notice=uploaded"))

    def complaints(self):
        with self.marionette.using_context("chrome"):
            return [f"{self.name}: {text}" for text in self.marionette.execute_script(MESSAGES)]


def check(browser, arguments, pages, product, version, book, has_script):
    """Every page, and the steps of a version that was submitted; what Firefox calls itself."""
    firefox = Firefox(browser, arguments.server, arguments.key, arguments.work, has_script)
    try:
        firefox.complaints()
        firefox.sign_in()
        firefox.open("deliveries")
        grant = firefox.find("tbody a[href^='/console/deliveries/']")[0].get_attribute("href").removeprefix("/console/")
        for path in (*pages, grant, f"{grant}/revoke"):
            firefox.open(path)
        firefox.follow(grant, "revoke", [("reason", "for the check")])
        firefox.follow(grant, "reinstate", [("reason", "for the check")])
        path = f"products/{product}/{version}"
        firefox.follow(path, "approve")
        firefox.follow(path, "release", [("percentage", "10")])
        firefox.follow(path, "release", [("percentage", "100")])
        firefox.follow(path, "withdraw", [("typed", f"{product} {version}"), ("reason", "for the check")])
        firefox.edit(f"products/{product}/edit", *(("it", "La stazione") if has_script else ("es", "La estación")))
        firefox.upload(f"{product}.file", "4.0" if has_script else "4.1", book)
        firefox.find("form[action='/console/sign-out'] button")[0].click()
        firefox.until("signs out", lambda: firefox.find("#key"))
        if problems := firefox.complaints():
            raise Failure("\n".join(problems))
        return firefox.version
    finally:
        firefox.close()
