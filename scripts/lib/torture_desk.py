"""A desk, at which one thing is done after the other, again and again until it is answered."""

import http.client
import queue
import subprocess
import threading
import time

from node_engines import Failure, until

# What is tried again is tried so long.
PATIENCE_SECONDS = 120
PAUSE_SECONDS = 0.1
# What a store or an agent may refuse to sell, and what is no fault of anybody's.
REFUSED = ("product-unknown", "already-subscribed", "state-conflict", "price-changed", "version-unknown", "content-withdrawn")


class Again(Exception):
    """An answer after which the same is asked again."""


class Desk(threading.Thread):
    """Does what it is given, in its order."""

    def __init__(self, name, transcript):
        super().__init__(daemon=True)
        self.name, self.transcript, self.work, self.free = name, transcript, queue.Queue(), threading.Event()
        self.free.set()
        self.open, self.lock, self.last = 0, threading.Lock(), None
        self.over = False
        self.start()

    def do(self, what, act):
        with self.lock:
            self.open += 1
        self.work.put((what, act))

    def run(self):
        while True:
            what, act = self.work.get()
            self.free.wait()
            if not self.over:
                self.insist(what, act)
            with self.lock:
                self.open -= 1

    def insist(self, what, act):
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                result = act()
                self.transcript.note(f"{self.name}: {what}{f': {result}' if result else ''}")
                return
            except (OSError, http.client.HTTPException, Again, subprocess.TimeoutExpired) as error:
                self.last = f"{what}: {error!r}"
            except Failure as failure:
                self.transcript.violate(f"{self.name}: {what}: {failure}")
                return
            if self.over:
                return
            if time.monotonic() > end:
                self.transcript.violate(f"{self.name}: {what} is not done after {PATIENCE_SECONDS} s, the last was {self.last}")
                return
            self.transcript.count(f"{self.name}: again")
            time.sleep(PAUSE_SECONDS)

    def await_idle(self, seconds=PATIENCE_SECONDS + 20):
        until(seconds, f"{self.name} has done everything (the last was {self.last})", lambda: self.open == 0, 0.01)

    def leave(self):
        self.over = True
        self.free.set()
