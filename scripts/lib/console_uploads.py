"""Uploads of the console's script through a connection that breaks: what the server has acknowledged is not sent again."""

import contextlib
import random
import re
import socket
import struct
import threading
import zipfile
import zlib

from console_visitor import Failure

# More than the script sends at once, three times.
PICTURE_WIDTH, PICTURE_HEIGHT = 1500, 2600
CUT_AFTER = 6_000_000
OBSERVE = """() => new MutationObserver(changes => { for (const change of changes) tell(change.target.textContent); })
  .observe(document.querySelector("form [role=status]"), { childList: true, characterData: true, subtree: true })"""


def large_book(path):
    """A comic book of one page of noise, which is about 11.7 MB however it is compressed."""
    noise = random.Random(35)
    rows = b"".join(b"\0" + noise.randbytes(3 * PICTURE_WIDTH) for _ in range(PICTURE_HEIGHT))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", PICTURE_WIDTH, PICTURE_HEIGHT, 8, 2, 0, 0, 0)
    picture = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("0.png", picture)
    return path


class Proxy:
    """Passes connections on to a server. After so many bytes (`left`) it holds what comes, or cuts all of them and takes none."""

    def __init__(self, server):
        host, port = server.removeprefix("http://").split(":")
        self.target = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.lock, self.left, self.is_open, self.sent, self.pairs = threading.Lock(), None, True, 0, []
        self.holds, self.flows = False, threading.Event()
        self.flows.set()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                if not self.is_open:
                    raise OSError("closed")
                upstream = socket.create_connection(self.target)
            except OSError:
                self.reset(client)
                continue
            with self.lock:
                self.pairs.append((client, upstream))
            for source, sink, counts in ((client, upstream, True), (upstream, client, False)):
                threading.Thread(target=self.pass_on, args=(source, sink, counts), daemon=True).start()

    def pass_on(self, source, sink, counts):
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if counts:
                    self.flows.wait()
                    with self.lock:
                        self.sent += len(data)
                        if self.left is not None:
                            self.left -= len(data)
                            if self.left < 0 and self.holds:
                                self.left = None
                                self.flows.clear()
                            elif self.left < 0:
                                # Browsers try once more by themselves.
                                self.left, self.is_open = None, False
                                self.cut()
                                return
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def reset(connection):
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def cut(self):
        for pair in self.pairs:
            for connection in pair:
                self.reset(connection)
        self.pairs = []


class Upload:
    """The form of one upload in a visitor's page, what it sends, and what its status says."""

    def __init__(self, visitor, product):
        self.visitor, self.page, self.requests, self.told = visitor, visitor.page, [], []
        self.page.on("response", self.note)
        self.page.expose_function("tell", lambda text: self.told.append(text))
        visitor.open(f"upload?product={product}")

    def note(self, response):
        request = response.request
        if "/console/uploads" in request.url:
            self.requests.append((request.method, request.headers.get("upload-offset"), response.headers.get("upload-offset")))

    def begin(self, version, book):
        self.page.evaluate(OBSERVE)
        self.page.locator("#version").fill(version)
        self.page.locator("#file").set_input_files(str(book))
        self.page.get_by_role("button", name="Upload", exact=True).click()

    def says(self, words):
        self.page.locator("form [role=status]").get_by_text(words).wait_for(timeout=30_000)

    def ends(self, version):
        self.page.wait_for_url(f"**/{version}?notice=uploaded", timeout=60_000)

    def require_resumed(self, what):
        """After the last question where to go on, the next part begins there, and not at the start."""
        places = [index for index, (method, _, _) in enumerate(self.requests) if method == "HEAD"]
        if not places:
            raise Failure(f"{what}: nothing was asked: {self.requests}")
        acknowledged, following = self.requests[places[-1]][2], self.requests[places[-1] + 1]
        if not int(acknowledged or 0) > 0 or following[:2] != ("PATCH", acknowledged):
            raise Failure(f"{what}: {acknowledged} were acknowledged, and then came {following}")


def goes_on(upload, proxy, book):
    """The connection is cut in the middle of a part."""
    length = book.stat().st_size
    sent, proxy.left = proxy.sent, CUT_AFTER
    upload.begin("3.0", book)
    upload.says("The connection was lost")
    proxy.is_open = True
    upload.ends("3.0")
    upload.require_resumed("after a cut")
    if [method for method, _, _ in upload.requests].count("POST") != 1:
        raise Failure(f"after a cut another upload was begun: {upload.requests}")
    if proxy.sent - sent > length + 4 * 1024 * 1024:
        raise Failure(f"of {length} bytes {proxy.sent - sent} were sent")
    told = upload.told
    if any(first == second for first, second in zip(told, told[1:])) or len(told) > 16:
        raise Failure(f"the status is no change at a time: {told}")
    if sum("connection was lost" in text for text in told) != 1 or not any("100 %" in text for text in told):
        raise Failure(f"the status does not say what happened: {told}")


def stops(upload, proxy, book):
    """Stop leaves what has arrived, and Upload goes on with it."""
    proxy.left, proxy.holds = CUT_AFTER, True
    upload.begin("3.1", book)
    # The first of three parts.
    upload.says("30 % of")
    upload.page.get_by_role("button", name="Stop").click()
    upload.says("Stopped")
    if not upload.page.locator("main form button:not([type]):focus").count():
        raise Failure("after Stop the focus is lost")
    proxy.holds = False
    proxy.flows.set()
    upload.page.get_by_role("button", name="Upload", exact=True).click()
    upload.ends("3.1")
    upload.require_resumed("after Stop")


def goes_on_after_reload(upload, proxy, book, restart):
    """The server is killed while a file arrives, and the page is loaded again."""
    proxy.left = CUT_AFTER
    upload.begin("3.2", book)
    upload.says("The connection was lost")
    restart()
    proxy.is_open = True
    upload.requests.clear()
    upload.page.reload()
    upload.requests.clear()
    upload.begin("3.2", book)
    upload.ends("3.2")
    if upload.requests[0][0] != "HEAD":
        raise Failure(f"after a reload the upload began anew: {upload.requests}")
    upload.require_resumed("after a reload")


def check(new_visitor, server, product, work, restart):
    """`new_visitor` signs somebody in at an address."""
    book, proxy = large_book(work / "large.cbz"), Proxy(server)
    for step in (lambda upload: goes_on(upload, proxy, book), lambda upload: stops(upload, proxy, book),
                 lambda upload: goes_on_after_reload(upload, proxy, book, restart)):
        visitor = new_visitor(proxy.url)
        step(Upload(visitor, product))
        # A connection that was cut leaves a line in the browser's log, and so does a part that the browser itself has sent once more.
        errors = [text for text in visitor.errors if not re.search("net::ERR_|status of (409|423|50[234])", text)]
        if errors:
            raise Failure("\n".join(errors))
        visitor.context.close()
