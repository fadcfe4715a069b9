"""Mistakes that people make with secrets: each with a key that must not be shown for it (check-secrets)."""

import base64
import json
import re


def requests_with(key):
    """Method, path, body and headers of requests that bear a key where it does not belong, or is none."""
    text, coded = key, base64.b64encode(f"operator:{key}".encode()).decode()
    plain = re.sub(r"[^0-9a-zA-Z]", "", key)
    for value in (f"Bearer {text}", f"Bearer {text} {text}", f"bearer {text}x", f"Basic {coded}", text, f"Digest key={text}", f"PullboxDevice {text}",
                  f"PullboxDevice {base64.urlsafe_b64encode(text.encode()).decode()}.e30.AAAA"):
        yield "GET", "/v1/operator/products", None, {"Authorization": value}
        yield "GET", "/opds/v2/owned", None, {"Authorization": value}
        yield "POST", "/v1/grants/0123456789abcdef0123456789abcdef/tickets", {}, {"Authorization": value}
        yield "POST", "/store/v1/purchases", {"product": "com.example.none"}, {"Authorization": value}
        yield "GET", "/inApps/v1/transactions/1", None, {"Authorization": value}
        yield "GET", "/v1/downloads", None, {"Authorization": value}
    yield "POST", "/sandbox/v1/accounts", {"territory": "USA"}, {"Control-Key": text}
    for name in ("key", "ticket", "token", "password"):
        yield "GET", f"/v1/products?{name}={plain}", None, {}
        yield "GET", f"/opds?{name}={plain}", None, {}
        yield "GET", f"/c/{plain}?{name}={plain}", None, {}
    yield "POST", f"/v1/grants/{plain}/tickets", {}, {}
    yield "GET", f"/v1/grants/{plain}", None, {}
    for member in ("receipt", "signedTransaction", "purchaseToken"):
        yield "POST", "/v1/entitlements", {member: text, "device": {"id": "tablet"}}, {}
        yield "POST", "/v1/grants", {"store": "google", member: text, "device": {"id": "tablet"}, "product": "com.example.none"}, {}
    yield "POST", "/v1/grants", f'{{"receipt": "{text}'.encode(), {"Content-Type": "application/json"}
    yield "POST", "/v1/grants", f'{{"receipt": {text}}}'.encode(), {"Content-Type": "application/json"}
    yield "POST", "/verifyReceipt", {"receipt-data": "MAA=", "password": text}, {}
    yield "POST", "/verifyReceipt", {"receipt-data": text, "password": text}, {}
    yield "POST", "/token", f"grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion={plain}".encode(), {
        "Content-Type": "application/x-www-form-urlencoded"}
    yield "POST", "/opds/oauth/token", f"grant_type=authorization_code&code={plain}&code_verifier={plain}".encode(), {
        "Content-Type": "application/x-www-form-urlencoded"}
    yield "POST", "/v1/notifications/apple", {"signedPayload": text}, {}
    yield "POST", "/v1/notifications/google", {"message": {"data": base64.b64encode(text.encode()).decode()}}, {"Authorization": f"Bearer {text}"}
    yield "GET", "/console/", None, {"Cookie": f"pullbox_console={text}; __Host-pullbox_console={text}"}
    yield "GET", "/v1/operator/products", None, {"Authorization": f"Bearer {text}", "X" * 200: text * 400}


def commands_with(key, server):
    """Name, words and environment of commands that are given a key that is wrong, or at a wrong place."""
    yield "wrong-key", ["-v", "products"], {"PULLBOX_SERVER": server, "PULLBOX_OPERATOR_KEY": key}
    yield "wrong-key-json", ["--json", "-v", "products"], {"PULLBOX_SERVER": server, "PULLBOX_OPERATOR_KEY": key}
    yield "wrong-key-of-status", ["status"], {"PULLBOX_SERVER": server, "PULLBOX_OPERATOR_KEY": key}
    yield "wrong-key-of-doctor", ["-v", "doctor", server, "--pause", "1s"], {"PULLBOX_OPERATOR_KEY": key}
    yield "wrong-key-option", ["--operator-key", key, "--server", server, "products"], {}
    yield "unknown-option", [f"--operator-kei={key}", "products"], {}
    yield "key-without-a-word", ["--server", server, "--operator-key", key], {}
    yield "key-of-another-word", ["--operator-key", key, "prodcts"], {}
    host = server.removeprefix("http://")
    plain = re.sub(r"[^0-9a-zA-Z]", "", key)
    for name, address in (("user", f"http://operator:{plain}@{host}"), ("query", f"{server}?key={plain}"), ("closed", f"http://operator:{plain}@127.0.0.1:1")):
        yield f"address-with-{name}", ["-v", "products"], {"PULLBOX_SERVER": address, "PULLBOX_PATIENCE": "1s", "PULLBOX_OPERATOR_KEY": key}
        yield f"doctor-of-address-with-{name}", ["-v", "doctor", address, "--pause", "1s"], {}


def configurations_with(key, settings, work):
    """Name of the daemon, text of its file, environment and further words; each is wrong in one way."""
    plain = re.sub(r"[^0-9a-zA-Z]", "", key)

    def changed(name, **members):
        return json.dumps(settings[name] | members)

    def server(**members):
        return "server", changed("server", **members), {}, []

    # A secret of another type, or in another form.
    for member, name in (("operatorKey", "server"), ("serverCredential", "store"), ("controlKey", "store")):
        for value in ([key], {"key": key}, {key: 1}):
            yield name, changed(name, **{member: value}), {}, []
        for text in (f'{{ {member}: "{key}', f"{{ {member}: {plain} }}", f'{{ {member}: "{key}" x }}', f'{{ {member}: "{key}\\u12" }}', f"{{ {member} '{key}' }}",
                     f'{{ {member}: "{key}", {member}: "{key}" }}'):
            yield name, text, {}, []
    weak = {"name": "ada", "scopes": ["read"]}
    for entry in (weak | {"key": key, "hash": key}, weak | {"keys": key}, weak | {"hash": key}, weak | {"hash": f"sha256:{key}"}, {"key": key}, key,
                  {"name": key, "key": key}, weak | {"key": key, "scopes": [key]}, weak | {"key": [key]}):
        yield server(operatorKeys=[entry])
    yield server(operatorKeys=[weak | {"key": key}, {"name": "bob", "key": key, "scopes": ["read"]}])
    yield server(operatorKeys=key)
    # The file of operator keys.
    for number, line in enumerate((key, f"{{name: 'ada', key: '{key}'", f"{{name: 'ada', key: '{key}'}}", f"ada:{key}", f"{{name: 'ada', scopes: ['read'], key: {plain}}}",
                                   f"{{name: 'ada', scopes: ['read'], hash: '{key}'}}")):
        file = work / f"config/wrong/operators-{number}"
        file.parent.mkdir(exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(line + "\n")
        yield server(operatorKeyFile=str(file))
    # Stores.
    def store(**members):
        entry = {"name": "other", "kind": "pullbox", "bundles": ["com.example.pullbox"], "credential": key,
                 "addresses": {"sandbox": "http://127.0.0.1:1"}} | members
        return server(stores=[*settings["server"]["stores"], entry])

    yield store(credential=[key])
    yield store(kind=key)
    yield store(sharedSecrets=key)
    yield store(addresses={"sandbox": f"http://operator:{plain}@127.0.0.1:1"})
    yield store(addresses={"sandbox": "http://store.example"})
    yield store(kind="apple", sharedSecret=key)
    yield store(kind="google", sharedSecret=key)
    for kind, content in (("google", f'{{"type": "service_account", "private_key": "{key}", "client_email": "a@b", "private_key_id": "1", "token_uri": "http://127.0.0.1"}}'),
                          ("google", f'{{"type": "{key}", "private_key": 1}}'), ("google", key), ("google", f'{{"private_key": {key}'),
                          ("apple", key), ("apple", f"-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n")):
        file = work / f"config/wrong/key-{abs(hash((kind, content)))}"
        file.touch(mode=0o600)
        file.write_text(content)
        more = {"issuer": "i", "keyId": "k", "roots": settings["server"]["stores"][0]["roots"]} if kind == "apple" else {"addresses": None}
        entry = {"name": "other", "kind": kind, "bundles": ["com.example.pullbox"], "keyFile": str(file), "allowSandbox": True} | more
        yield server(stores=[*settings["server"]["stores"], {name: value for name, value in entry.items() if value is not None}])
    # Addresses with a password.
    yield server(publicURL=f"https://operator:{plain}@comics.example")
    yield server(database=f"postgres://comics:{plain}@[::1/comics")
    yield server(database=f"postgresql://comics:{plain}@127.0.0.1:1/comics?connect_timeout=2")
    yield server(database=[key])
    for content in (key, f"name {key}\n", f'{{"accessKey": "name", "secretKey": "{key}"', f"name\n{key}\n{key}\n{key}\n"):
        file = work / f"config/wrong/bucket-{abs(hash(content))}"
        file.touch(mode=0o600)
        file.write_text(content)
        yield server(packages="s3://comics", s3={"endpoint": "http://127.0.0.1:1", "accessKeyFile": str(file)})
    yield server(packages=f"s3://name:{plain}@comics", s3={"endpoint": f"http://name:{plain}@127.0.0.1:1", "accessKeyFile": "/nowhere"})
    for member in ("server", "store"):
        yield "agent", changed("agent", **{member: f"http://reader:{plain}@127.0.0.1:1"}), {}, []
    token = work / "config/wrong/token"
    token.touch(mode=0o600)
    token.write_text(f"{key}\n{key}\n")
    yield "agent", changed("agent", accountTokenFile=str(token)), {}, []
    yield "agent", changed("agent", accountTokenFile=[key]), {}, []
    # By variables and options.
    right = json.dumps(settings["server"])
    for variable, value in (("PULLBOX_OPERATOR_KEYS", f"{{name: 'ada', key: '{key}', scopes: ['x']}}"), ("PULLBOX_OPERATOR_KEYS", f"{{name: 'ada', key: '{key}'"),
                            ("PULLBOX_OPERATOR_KEYS", key), ("PULLBOX_STORES", f"{{name: 'b', kind: 'none', credential: '{key}'}}"), ("PULLBOX_STORES", key),
                            ("PULLBOX_DATABASE", f"postgresql://comics:{plain}@a b/c"), ("PULLBOX_SERVER_OPERATOR_KEY", "short"),
                            ("PULLBOX_OPERATOR_KEY", key)):
        yield "server", right, {variable: value}, []
    for words in (["--operator-key", key, "extra"], [f"--operator-kei={key}"], ["--named-operator-key", f"{{name: 'ada', key: '{key}'"], ["--named-operator-key", key],
                  ["--payment-store", f"{{credential: '{key}'}}"], [f"--require-second-key={key}"], ["--database", f"postgresql://a:{plain}@b:c/d"]):
        yield "server", right, {}, words
