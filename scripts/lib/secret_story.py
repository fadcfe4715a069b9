"""What happens in the house of check-secrets, and which secrets its programs make."""

import base64
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import time
import urllib.parse

from node_engines import Failure, run, until
from secret_faults import commands_with, configurations_with, requests_with
from secret_house import BUNDLE, ISSUER, Daemon, Ground, allow_cores
from secret_marks import elements

PRODUCT, SUBSCRIPTION = "com.example.kestrelstation.issue1", "com.example.isobar.monthly"
BOUGHT = ("com.example.isobar.2026-09", PRODUCT)
# What readings operators have, each in words and in JSON.
READINGS = (
    ("products",), ("product", PRODUCT), ("versions", PRODUCT), ("versions", PRODUCT, "1.0"), ("publications",), ("price-tiers",), ("deliveries",),
    ("grants",), ("audit",), ("stores",), ("report",), ("approvals",), ("outbox", "--all"), ("outbox",), ("irregularities",), ("scrub",), ("status",),
    ("gc", "--dry-run"), ("explain", PRODUCT))
# What readings the user of a device has.
LOCAL = (
    ("shop",), ("downloads", "--all"), ("library",), ("library", "--verify"), ("transactions", "--all"), ("status",), ("conditions",), ("news",),
    ("readers", "list"), ("restore", "--plan"), ("update", "--plan"), ("ownership", PRODUCT), ("sections", PRODUCT), ("subscription",))
STATE_OF_SERVER = ("state/server/server.db*", "backup/*/server.db*", "state/restored/server.db*")

# By core, the secrets that its program works with or that were shown to it, and one that it has in any case. No other one may be in its memory.
SHOWN = ("a wrong key", "a purchase token", "a ticket or token on the way to the server", "a ticket or token on the way to the store",
         "a ticket or token on the way to the apple", "the password of a reader's key")
CORES = {
    "cores/server": ("the operator key", SHOWN + (
        "the operator key", "a named operator key", "a new operator key", "an operator key of the key file", "the store credential",
        "the shared secret of Apple's store", "the TLS key", "a ticket key", "a license key", "the key to Apple's interface",
        "the key of Google's service account", "the renewal secret of a grant", "the secret of a session of the console")),
    "cores/agent": ("the key of the device", SHOWN + ("the key of the device", "the token of an account of store", "the password of the device's catalog")),
    "cores/store": ("the control key of the store", SHOWN + (
        "the control key of the store", "the store credential", "the token of an account of store", "the key to Apple's interface",
        "the key of Google's service account", "the store's authority", "the store's signed-data", "the store's google-identity")),
    "cores/command": ("the operator key", ("the operator key",)),
}


class Story(Ground):
    """Told once; then the places are searched."""

    def tell(self):
        self.open_stores()
        self.open_server()
        self.publish()
        self.open_agent()
        self.buy()
        self.read()
        self.ask_wrongly()
        self.misconfigure()
        self.tell_by_options()
        self.use_the_second_server()
        self.care_for_state()
        self.crash()
        self.find_made_secrets()
        for daemon in reversed(self.daemons):
            daemon.end()
        self.find_what_travelled()
        for mark in self.marks.all:
            for core, (_, names) in CORES.items():
                if mark.name.partition(" (")[0] in names:
                    mark.holders[core] = "its program works with it"

    # ---- opening -------------------------------------------------------------------------------------------------------

    def open_stores(self):
        self.store, self.apple = (Daemon(self, name, "pullbox-sandbox") for name in ("store", "apple"))
        self.store.start()
        self.apple.start()
        self.google_key = self.work / "state/store/google-service-account.json"
        self.apple_key = next((self.work / "state/apple").glob("AuthKey_*.p8"))
        control = {"Control-Key": self.control_key}
        self.accounts = {}
        for name, offset, fields in (("store", 10, control), ("apple", 11, {})):
            answer = self.request(offset, "POST", "/sandbox/v1/accounts", {"territory": "USA", "name": "Ada"}, headers=fields, keeps=False)
            self.accounts[name] = self.marks.add(
                f"the token of an account of {name}", json.loads(answer.body)["token"], {"secrets/account": "the agent's file of it"})
            if name == "apple":
                self.marks.all[-1].is_seen = True
        self.file("secrets/account", self.accounts["store"] + "\n")

    def open_server(self):
        self.configure("server", self.server_settings())
        self.server = Daemon(self, "server", "pullbox-server")
        self.server.start()
        self.operator = {"PULLBOX_SERVER": self.url(0), "PULLBOX_OPERATOR_KEY": self.operator_key}

    def operate(self, name, *words, **options):
        return self.command(name, "pullbox", *words, environment=self.operator, **options)

    def publish(self):
        content = self.project / "content"
        for name in ("kestrel-station-1", "isobar", "isobar-2026-09"):
            self.operate("publish", "-v", "publish", content / name, *(["--release"] if name != "isobar" else []), codes={0})
        made = self.command("key-operator-new", "pullbox", "key", "operator", "new", "--name", "cleo", "--scope", "read", "--json", codes={0})
        new = json.loads(made)
        self.marks.add("a new operator key", new["key"], {"outputs/*-key-operator-new.txt": "it is printed, once"})
        self.operate("key", "key")
        self.operate("export", "export", self.work / "temporary/catalogue.json", codes={0})

    def open_agent(self):
        self.socket = self.sockets / "agent.sock"
        self.configure("agent", {
            "socket": str(self.socket), "state": str(self.work / "state/agent"), "server": self.url(20), "store": self.url(10),
            "storeName": "sandbox", "accountTokenFile": str(self.work / "secrets/account"), "metricsListen": f"127.0.0.1:{self.port(2)}",
            "catalogListen": f"127.0.0.1:{self.port(3)}", "pollInterval": 1, "bus": "none"})
        self.agent = Daemon(self, "agent", "pullbox-agent")
        self.agent.start()
        self.device = {"PULLBOX_AGENT_SOCKET": str(self.socket)}

    def use(self, name, *words, **options):
        return self.command(name, "pullbox", *words, environment=self.device, **options)

    # ---- selling -------------------------------------------------------------------------------------------------------

    def buy(self):
        for product in BOUGHT:
            self.use("buy", "-v", "buy", product, "--yes", "--wait", codes={0})
        self.use("buy", "-v", "buy", SUBSCRIPTION, "--yes")
        added = json.loads(self.use("readers-add", "readers", "add", "Tablet", "--json", codes={0}))
        self.reader = added["name"], added["password"]
        self.marks.add("the password of a reader's key", self.reader[1], {"outputs/*-readers-add.txt": "it is printed, once"})
        local = json.loads(self.use("readers-local", "readers", "local", "--json", codes={0}))
        self.marks.add("the password of the device's catalog", local["password"], {
            "outputs/*-readers-local.txt": "it is printed for those who may change something", "state/agent/catalog-key": "the agent's file of it"})
        for offset, key in ((0, self.reader), (3, (local["name"], local["password"]))):
            for path in ("/opds", "/opds/v2", "/opds/v1.2/owned"):
                token = base64.b64encode(":".join(key).encode()).decode()
                self.request(offset, "GET", path, headers={"Authorization": f"Basic {token}"})
        self.buy_at("apple", 11, {})
        self.buy_by_token()

    def buy_at(self, store, offset, fields):
        """A device without a key gets a grant with a renewal secret, by an app receipt and by a signed transaction."""
        sold = json.loads(self.request(offset, "POST", "/store/v1/purchases", {"product": PRODUCT, "device": "tablet"}, self.accounts[store], fields).body)
        receipt = json.loads(self.request(offset, "GET", "/store/v1/receipt?device=tablet", token=self.accounts[store], keeps=False).body)["receipt"]
        proof = {"store": store, "receipt": receipt, "device": {"id": "tablet"}}
        answer = self.request(0, "POST", "/v1/grants", proof | {"product": PRODUCT}, keeps=False)
        if answer.status != 201:
            raise Failure(f"no grant by a receipt of {store}: {answer.status} {answer.body.decode()[:400]}")
        grant = json.loads(answer.body)
        self.marks.add("the renewal secret of a grant", grant["renewalSecret"])
        self.marks.all[-1].is_seen = True
        self.request(0, "POST", f"/v1/grants/{grant['grant']}/tickets", {}, grant["renewalSecret"], keeps=False)
        address = urllib.parse.urlsplit(grant["download"]["contentURL"] if "download" in grant else grant["contentURL"]).path
        ticket = grant.get("download", grant)["ticket"]
        self.wires[0].seen.add(ticket)
        self.request(0, "GET", f"{address}?ticket={ticket}", headers={"Range": "bytes=0-9"})
        self.request(0, "GET", address, token=ticket + "A")
        self.request(0, "POST", "/v1/entitlements", proof, keeps=False)
        # As Apple's applications have it; this store gives one to who holds the key of its interface.
        signed = json.loads(self.request(offset, "GET", f"/inApps/v1/transactions/{sold['transaction']['id']}", token=self.token_of_interface()).body)
        self.request(0, "POST", "/v1/entitlements", {
            "store": store, "signedTransaction": signed["signedTransactionInfo"], "device": {"id": "tablet"}}, keeps=False)

    def token_of_interface(self):
        """A JWT by the key to Apple's interface (RFC 7515, RFC 7518 section 3.4)."""
        def coded(data):
            return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=")

        now = int(time.time())
        text = coded({"alg": "ES256", "kid": self.apple_key.stem.removeprefix("AuthKey_"), "typ": "JWT"}) + b"." + coded(
            {"iss": ISSUER, "iat": now, "exp": now + 300, "aud": "appstoreconnect-v1", "bid": BUNDLE})
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.apple_key], input=text, stdout=subprocess.PIPE, check=True).stdout
        numbers = [number.lstrip(b"\0").rjust(32, b"\0") for _, number in elements(elements(signature)[0][1])]
        token = (text + b"." + coded(b"".join(numbers))).decode()
        self.wires[2].seen.add(token)
        return token

    def buy_by_token(self):
        """As an application of Google's does."""
        sold = json.loads(self.request(10, "POST", "/store/v1/purchases", {"product": PRODUCT, "device": "phone"}, self.accounts["store"]).body)
        path = f"/store/v1/transactions/{sold['transaction']['id']}/purchase-token"
        token = json.loads(self.request(10, "POST", path, {}, self.accounts["store"], keeps=False).body)["purchaseToken"]
        self.marks.add("a purchase token", token, dict.fromkeys(
            (*STATE_OF_SERVER, "state/store/store.sqlite*"), "the outbox needs it, and the store made it"))
        self.request(0, "POST", "/v1/entitlements", {"store": "google", "purchaseToken": token, "device": {"id": "phone"}}, keeps=False)
        answer = self.request(
            0, "POST", "/v1/grants", {"store": "google", "purchaseToken": token, "device": {"id": "phone"}, "product": PRODUCT}, keeps=False)
        if answer.status not in (200, 201):
            raise Failure(f"no grant by a purchase token: {answer.status} {answer.body.decode()[:400]}")

    # ---- reading -------------------------------------------------------------------------------------------------------

    def read(self):
        for words in READINGS:
            self.operate(words[0], "-v", *words)
            self.operate(f"{words[0]}-json", "--json", *words)
        for words in LOCAL:
            self.use(words[0], "-v", *words)
            self.use(f"{words[0]}-json", "--json", *words)
        self.operate("doctor", "-v", "doctor", self.url(0), "--pause", "1s", seconds=120)
        self.operate("doctor-json", "--json", "doctor", self.url(0), "--pause", "1s", seconds=120)
        opener = self.file("home/opener", "#!/bin/sh\nenv >\"$HOME/opened\"\n", 0o700)
        both = self.device | self.operator
        self.command("open", "pullbox", "open", PRODUCT, "--with", opener, environment=both, codes={0})
        (self.work / "home/opened").rename(self.work / "processes/opened-by-a-command.environ")
        self.request(0, "GET", "/v1/operator/configuration", token=self.operator_key)
        for name, offset in (("server", 0), ("agent", 2), ("store", 10), ("apple", 11)):
            self.keep_metrics(name, offset)
        self.use_console()

    def use_console(self):
        """A session's secret is in the browser's cookie and nowhere else."""
        form = urllib.parse.urlencode({"key": self.operator_key})
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Host": f"127.0.0.1:{self.port(0)}"}
        answer = self.request(0, "POST", "/console/sign-in", form.encode(), headers=kind, keeps=False)
        cookie = re.search(r"^([^=]+=([^;]+))", answer.headers.get("Set-Cookie", ""))
        if not cookie:
            raise Failure(f"the console gives no session: {answer.status} {answer.body.decode()[:300]}")
        self.marks.add("the secret of a session of the console", cookie[2])
        self.marks.all[-1].is_seen = True
        for page in ("", "products", "house", "stores", "deliveries", "audit", "customers"):
            self.request(0, "GET", f"/console/{page}", headers={"Cookie": cookie[1]})
        wrong = urllib.parse.urlencode({"key": self.wrong_key})
        self.request(0, "POST", "/console/sign-in", wrong.encode(), headers=kind)

    # ---- failing -------------------------------------------------------------------------------------------------------

    def ask_wrongly(self):
        """Keys in wrong places, and wrong keys in right ones."""
        for offset, keys in ((0, (self.operator_key, self.wrong_key)), (10, (self.control_key, self.credential, self.wrong_key)),
                             (11, (self.shared_secret, self.wrong_key)), (2, (self.wrong_key,)), (3, (self.wrong_key,))):
            for key in keys:
                for method, path, body, headers in requests_with(key):
                    # A refusal tells who asked which path it was: the logs must not have it all the same.
                    has_key = re.sub(r"\W", "", key) in path.split("?")[0]
                    self.request(offset, method, path, body, headers=headers, keeps=not has_key)
        for name, words, environment in commands_with(self.wrong_key, self.url(0)):
            self.command(name, "pullbox", *words, environment=self.device | environment)
        self.apple.end()
        self.operate("stores-away", "-v", "stores")
        self.request(0, "POST", "/v1/entitlements", {"store": "apple", "receipt": "MAA=", "device": {"id": "tablet"}})
        self.apple.start()

    def misconfigure(self):
        settings = {"server": self.server_settings(), "agent": json.loads((self.work / "config/agent.json5").read_text()),
                    "store": json.loads((self.work / "config/store.json5").read_text())}
        programs = {"server": "pullbox-server", "agent": "pullbox-agent", "store": "pullbox-sandbox"}
        for number, (name, text, environment, words) in enumerate(configurations_with(self.wrong_key, settings, self.work)):
            config = self.file(f"config/wrong/{number:02}.json5", text)
            for option in ("--check", "--print-config", None):
                self.command(
                    f"wrong-{name}-{option or 'start'}", programs[name], "--config", config, "--log-level", "debug",
                    *([option] if option else []), *words, environment=environment, seconds=20)
        for name, program in programs.items():
            for option in ("--check", "--print-config", "--print-sample"):
                self.command(f"right-{name}-{option}", program, "--config", self.work / f"config/{name}.json5", option)
        self.reload()

    def reload(self):
        """With the same configuration, and with one that is wrong."""
        good = (self.work / "config/server.json5").read_text()
        for text in (good, good.replace('"scopes"', '"scope"'), good):
            self.file("config/server.json5", text)
            before = self.server.tail().count("reload")
            self.server.process.send_signal(signal.SIGHUP)
            until(20, "the reload is in the log", lambda: self.server.tail().count("reload") > before or text != good)
        self.request(0, "GET", "/v1/operator/products", token=self.filed_key)

    def tell_by_options(self):
        """Secrets on command lines are overwritten, of a daemon and of a command that waits."""
        state, closed = self.work / "state/plain", self.url(59)
        store = ["--store-url", self.url(10), "--store-credential", self.credential]
        for name, secret, words in (
                ("server-by-option", self.operator_key, ["pullbox-server", "--listen", f"127.0.0.1:{self.port(50)}", "--state", state / "server",
                                                         f"--operator-key={self.operator_key}", *store]),
                ("server-by-table", self.named_key, ["pullbox-server", "--listen", f"127.0.0.1:{self.port(50)}", "--state", state / "server", *store,
                                                     "--named-operator-key", "{name: 'ada', key: '%s', scopes: ['read']}" % self.named_key]),
                ("store-by-option", self.control_key, ["pullbox-sandbox", "--listen", f"127.0.0.1:{self.port(51)}", "--state", state / "store",
                                                       "--control-key", self.control_key, "--server-credential", self.credential]),
                ("command-by-option", self.operator_key, ["pullbox", "--server", closed, "--operator-key", self.operator_key, "--patience", "30s",
                                                          "approve", PRODUCT, "1.0"])):
            self.shows_after(name, [self.bin / words[0], *words[1:]], secret)

    # ---- the second server ---------------------------------------------------------------------------------------------

    def use_the_second_server(self):
        url = self.start_database()
        if not url:
            print("left out  the server on PostgreSQL and an object store: Debian's postgresql-15 is not installed")
            without = ("the password", "the secret key of the object", "the session token", "the operator key of the second", "the store credential of the second")
            self.marks.all = [mark for mark in self.marks.all if not mark.name.startswith(without)]
            return
        self.configure("node", self.node_settings(url))
        node = Daemon(self, "node", "pullbox-server")
        node.start()
        environment = {"PULLBOX_SERVER": self.url(4), "PULLBOX_OPERATOR_KEY": self.node_key}
        self.command("node-publish", "pullbox", "-v", "publish", self.project / "content/kestrel-station-1", "--release", environment=environment, codes={0})
        self.keep_metrics("node", 4)
        for option in ("--check", "--print-config"):
            self.command(f"node-{option}", "pullbox-server", "--config", self.work / "config/node.json5", option)
        self.bucket.is_refusing = True
        self.command("node-refused", "pullbox", "-v", "publish", self.project / "content/isobar-2026-09", environment=environment, seconds=30)
        self.command("node-check-refused", "pullbox-server", "--config", self.work / "config/node.json5", "--check", seconds=30)
        self.bucket.is_refusing = False
        self.database.kill()
        self.request(4, "GET", "/v1/operator/products", token=self.node_key)
        self.command("node-check-away", "pullbox-server", "--config", self.work / "config/node.json5", "--check", seconds=30)
        self.database.start()
        self.command("node-backup", "pullbox-server", "backup", self.work / "backup-of-node", "--config", self.work / "config/node.json5", seconds=120)
        node.end()
        wrong = url.replace(urllib.parse.quote(self.password, safe="~!"), self.wrong_key.translate(str.maketrans("", "", "/+=")))
        for name, address in (("password", wrong), ("parameter", url + "?passfil=x"), ("port", url.replace(str(self.port(30)), "70000")),
                              ("host", url.replace("127.0.0.1", "[::1")), ("scheme", url.replace("postgresql", "http"))):
            for option in (["--check"], []):
                self.command(f"node-wrong-{name}", "pullbox-server", "--config", self.work / "config/node.json5", "--database", address, *option, seconds=20)
        self.file("postgresql/dump.sql", run(self.database.binaries / "pg_dump", "--inserts", "-d", self.database.url.replace("/postgres?", "/comics?")))

    # ---- care ----------------------------------------------------------------------------------------------------------

    def care_for_state(self):
        config = ["--config", self.work / "config/server.json5"]
        self.command("rotate-ticket-key", "pullbox-server", *config, "--rotate-ticket-key", codes={0})
        self.command("rotate-license-key", "pullbox-server", *config, "--rotate-license-key")
        self.server.process.send_signal(signal.SIGHUP)
        self.command("backup", "pullbox-server", "backup", self.work / "backup", *config, codes={0})
        self.command("check", "pullbox-server", "check", *config, codes={0})
        self.command("restore", "pullbox-server", "restore", self.work / "backup", "--state", self.work / "state/restored", codes={0})
        if self.database:
            (self.work / "state/moved").mkdir(mode=0o700)
            url = f"postgresql://comics:{self.password.replace(':', '%3A')}@127.0.0.1:{self.port(30)}/restored"
            self.command("restore-to-database", "pullbox-server", "restore", self.work / "backup", "--state", self.work / "state/moved", "--database", url)

    def crash(self):
        """Each program is ended by a fault, which leaves a core, and started again."""
        for daemon in (self.server, self.agent, self.store):
            daemon.end(signal.SIGABRT)
            self.keep_core(daemon.name)
            daemon.start()
        waiting = subprocess.Popen(
            [self.bin / "pullbox", "--server", self.url(59), "--patience", "60s", "approve", PRODUCT, "1.0"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.work / "cwd", preexec_fn=allow_cores,
            env=self.environment | {"PULLBOX_OPERATOR_KEY": self.operator_key})
        # Once it has threads, it is asking.
        until(20, "the command asks", lambda: len(os.listdir(f"/proc/{waiting.pid}/task")) > 1, 0.02)
        waiting.send_signal(signal.SIGABRT)
        waiting.wait()
        self.keep_core("command")
        self.use("library-after", "-v", "library", codes={0})
        for name, offset in (("server-after", 0), ("agent-after", 2)):
            self.keep_metrics(name, offset)

    # ---- what was made -------------------------------------------------------------------------------------------------

    def find_made_secrets(self):
        """The secrets of files and tables that the programs made."""
        state = self.work / "state"
        held = {"state/server/ticket-keys.json": "the server's file of them", "backup/*/ticket-keys.json": "a backup says so",
                "state/restored/ticket-keys.json": "a restored state", "state/moved/ticket-keys.json": "a restored state"}
        for place in ("server", "restored"):
            for key in json.loads((state / place / "ticket-keys.json").read_text())["keys"]:
                self.marks.add("a ticket key", bytes.fromhex(key["secret"]), held)
        seed = (state / "agent/device-key").read_text().strip()
        self.marks.add("the key of the device", base64.urlsafe_b64decode(seed + "=="), {"state/agent/device-key": "the agent's file of it"})
        with sqlite3.connect(f"file:{state}/server/server.db?mode=ro", uri=True) as database:
            for (secret,) in database.execute("SELECT secret FROM license_keys WHERE secret IS NOT NULL"):
                self.marks.add("a license key", secret, dict.fromkeys(STATE_OF_SERVER, "a table of the database, which backups have"))
        database.close()
        for key in (self.work / "home").rglob("*signing-key.pem"):
            self.marks.add_key("the publisher's signing key", key.read_text(), {str(key.relative_to(self.work)): "the publisher's file of it"})
        self.marks.add_key("the key to Apple's interface", self.apple_key.read_text(), {"state/apple/AuthKey_*.p8": "the file of it"})
        self.marks.add_key("the key of Google's service account", json.loads(self.google_key.read_text())["private_key"], {
            "state/store/google-service-account.json": "the file of it", "state/store/pki/google-service-account.pem": "the store's own",
            "state/apple/pki/google-service-account.pem": "the store's own"})
        for name in ("authority", "signed-data", "google-identity"):
            self.marks.add_key(f"the store's {name}", (state / f"store/pki/{name}.pem").read_text(), {f"state/store/pki/{name}.pem": "the store's own"})

    def find_what_travelled(self):
        """Tickets and tokens that went by; of a signed one, the signature is what no one else can make."""
        planted = {mark.value.decode(errors="replace") for mark in self.marks.all}
        travelled = set()
        for wire in self.wires:
            for text in wire.seen - planted:
                secret = text.rpartition(".")[2] if text.count(".") == 2 else text
                # The code of a ticket stands behind what says whose it is.
                travelled.add((wire.name, secret[-21:] if re.fullmatch(r"[\w-]{72}", secret) else secret))
        for name, secret in sorted(travelled):
            if len(secret) >= 16:
                self.marks.add(f"a ticket or token on the way to the {name}", secret, {"state/agent/agent.sqlite*": "the agent's own tickets"})
                self.marks.all[-1].is_seen = True
        if not travelled:
            raise Failure("no ticket and no token went by: the check did not listen where they do")

    # ---- on purpose ----------------------------------------------------------------------------------------------------

    def leak(self):
        """Leaks in the ways that programs have; returns what has to be found, by secret and place."""
        # In what a daemon logs, says when it is ready, and is started with.
        coded = base64.urlsafe_b64encode(b"a" + self.operator_key.encode()).decode().rstrip("=")
        self.configure("leaking", {name: value for name, value in self.server_settings().items() if name not in ("listen", "tls")})
        leaking = Daemon(self, "leaking", "pullbox-server", "--listen", f"unix:{self.sockets}/{coded}")
        leaking.start()
        leaking.end()
        leaked = {("the operator key", place) for place in ("logs/leaking.log", "run/leaking.ready", "processes/leaking.cmdline")}
        process = subprocess.Popen(["sleep", "60"], env=self.environment | {"SECRET": self.credential})
        # A moment after its start it shows nothing yet.
        until(5, "a process shows its environment", lambda: b"SECRET" in pathlib.Path(f"/proc/{process.pid}/environ").read_bytes(), 0.02)
        self.show_process("sleeping", process.pid)
        process.kill()
        process.wait()
        leaked.add(("the store credential", "processes/sleeping.environ"))
        generation = next(path for path in (self.work / "backup").iterdir() if path.is_dir())
        escaped = "".join(f"\\u00{byte:02x}" for byte in self.control_key.encode())
        for place, secret, text in (
                (f"backup/{generation.name}/note.json", "the control key of the store", escaped),
                ("metrics/agent.txt", "the shared secret of Apple's store", self.shared_secret.encode().hex().upper()),
                ("outputs/leaking.txt", "a named operator key", f"offered: {self.named_key[:28]}…")):
            self.append(place, text)
            leaked.add((secret, place))
        if (self.work / "cores/agent").exists():
            self.append("cores/agent", base64.b64encode(b"ab" + self.credential.encode()).decode())
            leaked.add(("the store credential", "cores/agent"))
        return leaked

    def unread_cores(self):
        """The cores in which nothing was found of what their programs have in any case."""
        return [core for core, (name, _) in CORES.items()
                if (self.work / core).exists() and not any(found.partition(" (")[0] == name for found in self.marks.found_in[core])]

    def append(self, place, text):
        with open(os.open(self.work / place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as file:
            file.write(text)
