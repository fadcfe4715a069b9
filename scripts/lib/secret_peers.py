"""Whom the programs talk to while check-secrets listens: a proxy that notes what travels, and an object store that answers as it is told."""

import hashlib
import http.client
import http.server
import re
import threading
import urllib.parse
import xml.sax.saxutils

# What opens something and is made while the programs run.
SHOWN = re.compile(r"(?:Bearer|Basic|GoogleLogin) +(\S{16,})|[?&]ticket=([\w-]{16,})|(?:console_session|__Host-console_session|session)=([\w-]{16,})")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        try:
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
        except OSError:
            # Who asked has gone.
            self.close_connection = True


def serve(handler, port):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Wire:
    """Passes requests on to another port, and keeps each credential and ticket that goes by, by what it is."""

    def __init__(self, name, port, target):
        self.name, self.target, self.seen = name, target, set()
        wire = self

        class Passing(Handler):
            def pass_on(self):
                wire.note(f"{self.path} {self.headers.get('Authorization', '')} {self.headers.get('Cookie', '')}")
                connection = http.client.HTTPConnection("127.0.0.1", wire.target, timeout=60)
                headers = {name: value for name, value in self.headers.items() if name.lower() not in ("connection", "transfer-encoding")}
                try:
                    connection.request(self.command, self.path, self.body() or None, headers)
                    response = connection.getresponse()
                    body = response.read()
                except (OSError, http.client.HTTPException):
                    self.close_connection = True
                    return
                finally:
                    connection.close()
                wire.note(" ".join(f"?ticket={found}" for found in re.findall(r'"ticket" ?: ?"([\w-]+)"', body[:65536].decode(errors="replace"))))
                dropped = ("connection", "content-length", "transfer-encoding")
                if self.command == "HEAD":
                    self.send_response(response.status)
                    for name, value in response.getheaders():
                        self.send_header(name, value)
                    self.end_headers()
                else:
                    self.answer(response.status, body, [field for field in response.getheaders() if field[0].lower() not in dropped])

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = pass_on

        serve(Passing, port)

    def note(self, text):
        self.seen |= {next(filter(None, match.groups())) for match in SHOWN.finditer(text)}


class Bucket:
    """An object store that keeps what is put, believes every signature, and can refuse as AWS does: with all that it was sent."""

    def __init__(self, port, name):
        self.endpoint, self.name, self.objects, self.is_refusing, self.requests = f"http://127.0.0.1:{port}", name, {}, False, 0
        bucket = self

        class Store(Handler):
            def handle_request(self):
                body, address = self.body(), urllib.parse.urlsplit(self.path)
                bucket.requests += 1
                key = urllib.parse.unquote(address.path).removeprefix(f"/{bucket.name}").lstrip("/")
                if bucket.is_refusing:
                    self.answer(403, bucket.refusal(self), [("Content-Type", "application/xml")])
                elif self.command == "PUT":
                    bucket.objects[key] = body
                    self.answer(200, headers=[("ETag", bucket.tag(body))])
                elif self.command == "DELETE":
                    bucket.objects.pop(key, None)
                    self.answer(204)
                elif not key:
                    self.answer(200, bucket.listing(urllib.parse.parse_qs(address.query)), [("Content-Type", "application/xml")])
                elif key not in bucket.objects:
                    self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>", [("Content-Type", "application/xml")])
                else:
                    self.send_object(bucket.objects[key])

            def send_object(self, content):
                headers = [("ETag", bucket.tag(content)), ("Last-Modified", "Sun, 01 Nov 2026 00:00:00 GMT")]
                wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
                if not wanted:
                    return self.answer(200, content, headers)
                first, last = int(wanted[1]), min(int(wanted[2]), len(content) - 1)
                headers.append(("Content-Range", f"bytes {first}-{last}/{len(content)}"))
                return self.answer(206, content[first:last + 1], headers)

            do_GET = do_PUT = do_DELETE = do_HEAD = handle_request

        serve(Store, port)

    @staticmethod
    def tag(content):
        return f'"{hashlib.md5(content).hexdigest()}"'

    def listing(self, query):
        prefix = query.get("prefix", [""])[0]
        rows = "".join(
            f"<Contents><Key>{urllib.parse.quote(key)}</Key><LastModified>2026-11-01T00:00:00.000Z</LastModified>"
            f"<ETag>{xml.sax.saxutils.escape(self.tag(content))}</ETag><Size>{len(content)}</Size></Contents>"
            for key, content in sorted(self.objects.items()) if key.startswith(prefix))
        return (f'<?xml version="1.0"?><ListBucketResult><Name>{self.name}</Name><EncodingType>url</EncodingType>'
                f"<IsTruncated>false</IsTruncated>{rows}</ListBucketResult>").encode()

    @staticmethod
    def refusal(request):
        sent = "\n".join([f"{request.command} {request.path}", *(f"{name}: {value}" for name, value in request.headers.items())])
        return (f"<Error><Code>SignatureDoesNotMatch</Code><Message>{xml.sax.saxutils.escape(sent)}</Message>"
                f"<StringToSign>{xml.sax.saxutils.escape(sent)}</StringToSign></Error>").encode()
