"""The console in text browsers: signs in, finds a delivery that is stuck, and has a parked call made, as somebody at a terminal does."""

import re
import subprocess
import time

# Every page is one screen.
COLUMNS, LINES, SECONDS = 160, 250, 20

FILTERED = r"How it goes.*stuck"


class Failure(Exception):
    pass


class Terminal:
    """A program in a terminal of tmux's, with a server of its own."""

    def __init__(self, work, name, command):
        self.name, self.socket = name, str(work / f"{name}.tmux")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES), command)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout

    def close(self):
        self.tmux("kill-server")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def types(self, text):
        self.tmux("send-keys", "-l", text)

    def until(self, words):
        """Waits for words on the screen; the screen."""
        deadline = time.monotonic() + SECONDS
        while not re.search(words, screen := self.screen()):
            if time.monotonic() > deadline:
                raise Failure(f"{self.name} does not show {words}:\n{screen}")
            time.sleep(0.05)
        return screen


class W3m:
    """Searches with /, and goes from link to link."""

    name = "w3m"

    def __init__(self, work, server, key):
        self.terminal, self.key = Terminal(work, self.name, f"HOME={work} w3m -cookie {server}/console/"), key

    def find(self, words):
        self.terminal.keys("g", "/")
        self.terminal.until("Forward:")
        self.terminal.types(words)
        self.terminal.keys("Enter")

    def go(self, words, *moves):
        """Activates the link or the button that is so many moves from the first place of these words."""
        self.find(words)
        for move in moves:
            self.terminal.keys(*(("Escape", "Tab") if move == "back" else ("Tab",)))
        self.terminal.keys("Enter")

    def sign_in(self):
        self.terminal.until("Operator key")
        self.go("Operator key", "on")
        self.terminal.until("Password:")
        self.terminal.types(self.key)
        self.terminal.keys("Enter", "Tab", "Tab", "Enter")
        self.terminal.until("Signed in as")

    def open_section(self, name, until):
        self.go(f"{name}$")
        self.terminal.until(until)

    def open_stuck(self):
        self.go("stuck: no byte")
        self.terminal.until(FILTERED)
        self.go("stuck: no byte for 10 minutes *com", "on")

    def retry(self, call):
        self.go(f"Call {call} ", "back")
        self.terminal.until(rf"\[\*\] *Call {call}\b")
        self.go("Retry the chosen")


class Lynx:
    """Numbers links and fields."""

    name = "lynx"

    def __init__(self, work, server, key):
        (work / ".lynxrc").write_text("keypad_mode=LINKS_AND_FIELDS_ARE_NUMBERED\n")
        command = f"HOME={work} lynx -nopause -accept_all_cookies {server}/console/"
        self.terminal, self.key = Terminal(work, self.name, command), key

    def go(self, pattern, suffix=""):
        """Activates what has the number before these words; with `g` goes there."""
        numbered = rf"\[(\d+)\]{pattern}"
        number = re.search(numbered, self.terminal.until(numbered)).group(1)
        self.terminal.types(number + suffix)
        self.terminal.until("number:")
        self.terminal.keys("Enter")

    def sign_in(self):
        self.terminal.until("Operator key")
        self.terminal.keys("Down")
        self.terminal.types(self.key)
        self.terminal.keys("Down", "Down", "Enter")
        self.terminal.until("Signed in as")

    def open_section(self, name, until):
        self.go(rf"{name}\b")
        self.terminal.until(until)

    def open_stuck(self):
        self.go("stuck: no byte")
        self.terminal.until(FILTERED)
        self.go("[0-9a-f]{16}")

    def retry(self, call):
        self.go(rf"\[ \] *Call {call}\b", "g")
        self.terminal.keys("Right")
        self.terminal.until(rf"\[[X*]\] *Call {call}\b")
        # A button is gone to by its number, and pressed then.
        self.go(r"retry\) Retry the chosen")
        self.terminal.until("Form submit button")
        self.terminal.keys("Right")


def check(browser_class, work, server, key, product, call):
    """A delivery of `product` is stuck, and the call of that number is parked."""
    browser = browser_class(work, server, key)
    try:
        browser.sign_in()
        browser.open_section("Deliveries", "Failures by reason")
        browser.open_stuck()
        browser.terminal.until(rf"(?s)Grant .*stuck: no byte.*{re.escape(product)}.*Steps")
        browser.open_section("Stores", rf"\[ \] *Call {call}\b.*parked")
        browser.retry(call)
        browser.terminal.until("The calls are made again at once")
    finally:
        browser.terminal.close()
