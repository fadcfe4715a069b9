"""OpenStack Swift with its S3 front, of PyPI, started for a check and ended with it: one storage node with two disks, which are directories."""

import contextlib
import os
import pathlib
import secrets
import shutil
import tempfile
import urllib.error
import urllib.request

from node_engines import START_SECONDS, Failure, ObjectStore, Process, answers, run, until

# swift.conf is looked for in /etc by all programs; each is told another place before its own code begins.
LAUNCHER = """
import runpy, sys
from swift.common import utils
folder, *sys.argv = sys.argv[1:]
utils.set_swift_dir(folder)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
# With their share of the ports behind that of the proxy.
SERVERS = {"account": 2, "container": 3, "object": 4}
DISKS = 2


class Swift(ObjectStore):
    """`binaries` is where its programs and their Python lie. The S3 port is `base`, the others follow."""

    @staticmethod
    def why_not(binaries):
        if not (pathlib.Path(binaries) / "swift-proxy-server").exists():
            return "PyPI's swift is not installed"
        return None if shutil.which("memcached") else "Debian's memcached is not installed"

    def __init__(self, binaries, base):
        self.binaries, self.base = pathlib.Path(binaries), base
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="pullbox-swift-"))
        super().__init__(f"http://127.0.0.1:{base}", "pullbox", self.place / "key")
        self.daemons, self.secret = [], secrets.token_hex(20)
        try:
            self.start()
        except BaseException:
            self.remove()
            raise

    def start(self):
        self.write("swift.conf", {
            "swift-hash": {"swift_hash_path_prefix": secrets.token_hex(8), "swift_hash_path_suffix": secrets.token_hex(8)},
            "storage-policy:0": {"name": "plain", "default": "yes"}})
        for disk in range(DISKS):
            (self.place / f"node/disk{disk}").mkdir(parents=True)
        for kind, offset in SERVERS.items():
            self.make_ring(kind, self.base + offset)
            self.write(f"{kind}.conf", {
                "DEFAULT": self.common(self.base + offset) | {"devices": self.place / "node", "mount_check": "false"},
                "pipeline:main": {"pipeline": f"{kind}-server"},
                # What was read stays in memory, as on a server that has enough of it.
                f"app:{kind}-server": {"use": f"egg:swift#{kind}"} | ({"keep_cache_private": "true"} if kind == "object" else {})})
        self.write("proxy.conf", self.proxy())
        account = ["-u", "nobody"] if os.geteuid() == 0 else []
        self.spawn("memcached", [shutil.which("memcached"), *account, "-l", "127.0.0.1", "-p", self.base + 1, "-U", "0"], self.base + 1)
        for kind, offset in SERVERS.items():
            self.launch(kind, f"swift-{kind}-server", self.base + offset)
        self.launch("proxy", "swift-proxy-server", self.base)
        self.make_bucket()
        self.key_file.touch(mode=0o600)
        self.key_file.write_text(f"test:tester\n{self.secret}\n")

    def common(self, port):
        return {"bind_ip": "127.0.0.1", "bind_port": port, "workers": 1, "user": os.environ.get("USER", "root"), "swift_dir": self.place,
                "log_level": "WARNING"}

    def proxy(self):
        filters = {
            "catch_errors": {}, "gatekeeper": {}, "cache": {"memcache_servers": f"127.0.0.1:{self.base + 1}"},
            "listing_formats": {}, "s3api": {"location": "us-east-1"}, "tempauth": {"user_test_tester": f"{self.secret} .admin"},
            "bulk": {}, "slo": {}, "copy": {}}
        names = {"cache": "memcache"}
        return {
            "DEFAULT": self.common(self.base),
            "pipeline:main": {"pipeline": " ".join([*filters, "proxy-server"])},
            "app:proxy-server": {"use": "egg:swift#proxy", "account_autocreate": "true"},
        } | {f"filter:{name}": {"use": f"egg:swift#{names.get(name, name)}"} | settings for name, settings in filters.items()}

    def write(self, name, sections):
        path = self.place / name
        path.touch(mode=0o600)
        path.write_text("\n".join(
            f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in settings.items()) for section, settings in sections.items()))

    def make_ring(self, kind, port):
        """Where each name lies: on one of the disks, once."""
        program = """
import sys
from swift.common.ring import RingBuilder
place, kind, port, disks = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
builder = RingBuilder(6, 1, 0)
for disk in range(disks):
    builder.add_dev({"id": disk, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": port, "replication_ip": "127.0.0.1",
                     "replication_port": port, "device": f"disk{disk}", "weight": 1.0, "meta": ""})
builder.rebalance(seed=1)
builder.get_ring().save(f"{place}/{kind}.ring.gz")
"""
        run(self.binaries / "python", "-c", program, self.place, kind, port, DISKS)

    def launch(self, name, script, port):
        command = [self.binaries / "python", "-W", "ignore", "-c", LAUNCHER, self.place, self.binaries / script, self.place / f"{name}.conf"]
        self.spawn(name, command, port)

    def spawn(self, name, command, port):
        daemon = Process(name, command, self.place / f"{name}.log")
        self.daemons.append(daemon)
        daemon.start()
        try:
            until(START_SECONDS, f"Swift's {name} listens", lambda: answers(port))
        except Failure as failure:
            raise Failure(f"{failure}: {daemon.tail()}") from None

    def make_bucket(self):
        """By Swift's own interface: curl cannot sign with a key that has a colon."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

        def send(method, url, headers):
            with contextlib.suppress(urllib.error.URLError, OSError):
                return opener.open(urllib.request.Request(url, method=method, headers=headers), timeout=10)
            return None

        words = {"X-Storage-User": "test:tester", "X-Storage-Pass": self.secret}
        account = until(START_SECONDS, "Swift knows its user", lambda: send("GET", f"{self.endpoint}/auth/v1.0", words), 0.5)
        url, token = account.headers["X-Storage-Url"], account.headers["X-Auth-Token"]
        until(START_SECONDS, "Swift makes a bucket", lambda: send("PUT", f"{url}/{self.bucket}", {"X-Auth-Token": token}), 0.5)

    def remove(self):
        for daemon in reversed(self.daemons):
            daemon.stop()
        shutil.rmtree(self.place, ignore_errors=True)
