"""A bucket of an object store that speaks S3, which the environment names."""
import datetime
import hashlib
import hmac
import json
import os
import secrets
import urllib.parse
import urllib.request
from pathlib import Path
from xml.etree import ElementTree

VARIABLES = ("PULLBOX_TEST_S3_ENDPOINT", "PULLBOX_TEST_S3_BUCKET", "PULLBOX_TEST_S3_KEY_FILE")


class NoBucket(RuntimeError):
    """The environment names no bucket."""


class Bucket:
    """Has a prefix that no other run has; what lies below it is removed at the end."""

    def __init__(self):
        missing = [name for name in VARIABLES if not os.environ.get(name)]
        if missing:
            raise NoBucket(f"an object store is needed, and nothing says {', '.join(missing)}; see docs/object-stores.md")
        self.endpoint, self.name, self.key_file = (os.environ[name] for name in VARIABLES)
        self.endpoint = self.endpoint.rstrip("/")
        self.region = os.environ.get("PULLBOX_TEST_S3_REGION") or "us-east-1"
        self.prefix = f"benchmarks/{secrets.token_hex(6)}"
        text = Path(self.key_file).read_text()
        if text.lstrip().startswith("{"):
            key = json.loads(text)
            self.key = key["accessKey"], key["secretKey"], key.get("sessionToken")
        else:
            self.key = (*text.split("\n"), "")[:3]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        while names := self.names():
            for name in names:
                self.call("DELETE", name)

    def location(self, part):
        return f"s3://{self.name}/{self.prefix}/{part}"

    def settings(self, endpoint=None):
        """Those of a server whose packages lie here."""
        return {"endpoint": endpoint or self.endpoint, "region": self.region, "accessKeyFile": str(Path(self.key_file).absolute()),
                "pathStyle": True}

    def address(self, name, method="GET", **query):
        """One that needs no key, for an hour."""
        access, secret, token = self.key
        now = datetime.datetime.now(datetime.timezone.utc)
        day, time = now.strftime("%Y%m%d"), now.strftime("%Y%m%dT%H%M%SZ")
        scope = f"{day}/{self.region}/s3/aws4_request"
        query |= {"X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": f"{access}/{scope}", "X-Amz-Date": time,
                  "X-Amz-Expires": "3600", "X-Amz-SignedHeaders": "host"}
        if token:
            query["X-Amz-Security-Token"] = token
        path = urllib.parse.quote(f"/{self.name}/{name}" if name else f"/{self.name}")
        words = urllib.parse.urlencode(sorted(query.items()), quote_via=urllib.parse.quote, safe="")
        host = urllib.parse.urlsplit(self.endpoint).netloc
        asked = "\n".join([method, path, words, f"host:{host}\n", "host", "UNSIGNED-PAYLOAD"])
        text = "\n".join(["AWS4-HMAC-SHA256", time, scope, hashlib.sha256(asked.encode()).hexdigest()])
        key = ("AWS4" + secret).encode()
        for part in (*scope.split("/"), text):
            key = hmac.digest(key, part.encode(), "sha256")
        return f"{self.endpoint}{path}?{words}&X-Amz-Signature={key.hex()}"

    def call(self, method, name, **query):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(self.address(name, method, **query), method=method), timeout=60) as answer:
            return answer.read()

    def names(self, below=""):
        """Up to a thousand, of objects that lie below this run's prefix."""
        document = ElementTree.fromstring(self.call("GET", "", **{"list-type": "2", "prefix": f"{self.prefix}/{below}"}))
        return [one.text for one in document.iter() if one.tag.rpartition("}")[2] == "Key"]
