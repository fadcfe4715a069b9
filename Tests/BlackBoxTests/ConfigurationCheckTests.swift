import CoreTypes
import Files
import PullboxTesting
import SystemCalls
import Testing

@Suite("The configuration of the built daemons, looked at from outside")
struct ConfigurationCheckTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func file(_ text: String, permissions: UInt32 = 0o600) throws -> String {
    let path = directory.path("daemon.json5")
    try DurableFile.write(Array(text.utf8).span, to: path, permissions: permissions)
    return path
  }

  private func run(
    _ program: String, _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> Executables.Outcome {
    try await Executables.run(
      program.hasPrefix("/") ? program : Executables.path(program), arguments,
      environment: Executables.environment.merging(environment) { $1 }, in: directory)
  }

  @Test("--check tells every fault with its place, ends with 78, and starts and writes nothing")
  func check() async throws {
    let path = try file(
      """
      {
        state: "\(directory.path("state"))",
        lisen: ["127.0.0.1:0"],
        publicURL: "not a url",
        store: { url: "ftp://x", credential: "the-credential-of-a-store-4711" },
        operatorKeys: [
          { name: "ada", key: "short", scopes: ["read"] },
          { name: "bob", key: "another-key-of-an-operator", scopes: ["read"] },
        ],
        operatorKey: "another-key-of-an-operator",
      }
      """, permissions: 0o644)
    let outcome = try await run("pullbox-server", ["--check", "--config", path, "--loops", "many"])
    #expect(outcome.ending == .exited(78))
    #expect(outcome.output == "")
    let lines = outcome.errors.replacing(path, with: "f").split(separator: "\n").map(String.init)
    #expect(
      lines == [
        "f:3:3: lisen: there is no such key; did you mean 'listen'?",
        "f:4:14: publicURL: an address such as https://comics.example is expected here, http or https with a host",
        "f:5:17: store.url: an address such as https://comics.example is expected here, http or https with a host",
        "f:7:5: operatorKeys.0: the key of ada could be guessed: it has at most 23 bits, and 128 are needed; "
          + "'pullbox key operator new' makes one",
        "f:10:16: operatorKey: the keys bob (operatorKeys.1) and operator are the same",
        "--loops: loops: a whole number is expected here, not 'many'",
        "configuration: f: every user of this machine may use this file, which holds operatorKey and operatorKeys and "
          + "store.credential; 'chmod o= f'",
        "pullbox-server: 7 faults",
      ])
    #expect(!(try FileSystem.list(directory.path)).contains { $0.name == "state" })
  }

  @Test(
    "a daemon with a faulty configuration does not start: its exit code is 78, and the log has each fault",
    arguments: ["pullbox-server", "pullbox-agent", "pullbox-sandbox"])
  func start(program: String) async throws {
    let path = try file("{\n  state: '\(directory.path("state"))',\n  nonsense: 1,\n  logLevel: 'loud' }")
    let outcome = try await run(
      program, ["--config", path], environment: ["PULLBOX_STORE_CREDENTIAL": "the-credential-of-a-store-4711"]
    )
    #expect(outcome.ending == .exited(78))
    #expect(outcome.errors.contains("\(path):3:3"))
    #expect(outcome.errors.contains("\(path):4:13"))
    #expect(!(try FileSystem.list(directory.path)).contains { $0.name == "state" })
  }

  @Test(
    "neither --check nor --print-config shows a secret of a store, from file, option or variable, good or faulty"
  )
  func storeSecrets() async throws {
    let (credential, shared) = ("the-credential-of-a-store-4711", "the-shared-secret-of-a-store-4712")
    func entry(_ name: String, _ more: String) -> String {
      "{name: '\(name)', kind: 'apple', bundles: ['com.example.comics'], sharedSecret: '\(shared)'\(more)}"
    }
    let file = try file(
      """
      { store: { credential: '\(credential)' },
        stores: [\(entry("file", ", sharedSecretFile: '/nowhere'")), {name: 'again', kind: 'pullbox', credential: '\(credential)'}] }
      """)
    let runs: [(program: String, arguments: [String], environment: [String: String])] = [
      ("pullbox-server", ["--config", file], [:]),
      ("pullbox-server", ["--payment-store", entry("option", "")], [:]),
      ("pullbox-server", ["--payment-store", entry("option", ", deviceLimit: 'many'")], [:]),
      ("pullbox-server", ["--payment-store", entry("option", "") + "}"], [:]),
      ("pullbox-server", ["--store-credential", credential], [:]),
      ("pullbox-server", [], ["PULLBOX_STORES": entry("variable", ", nonsense: 1")]),
      (
        "pullbox-sandbox",
        ["--shared-secret", shared, "--server-credential", credential, "--control-key", credential], [:]
      ),
      (
        "pullbox-sandbox", [],
        ["PULLBOX_SANDBOX_SHARED_SECRET": shared, "PULLBOX_SANDBOX_CONTROL_KEY": credential]
      ),
    ]
    for run in runs {
      for mode in ["--check", "--print-config"] {
        let outcome = try await self.run(run.program, [mode] + run.arguments, environment: run.environment)
        let printed = outcome.output + outcome.errors
        #expect(!printed.isEmpty || mode == "--check")
        for secret in [credential, shared] {
          #expect(!printed.contains(secret), "\(run.program) \(mode): \(printed)")
        }
      }
    }
    let shown = try await self.run("pullbox-server", ["--print-config", "--config", file])
    #expect(
      shown.output.contains("store.credential: set") && shown.output.contains("stores: set"),
      "\(shown.output)")
  }

  @Test(
    "the sample of each daemon passes --check",
    arguments: ["pullbox-server", "pullbox-agent", "pullbox-sandbox"])
  func samples(program: String) async throws {
    let sample = "\(Executables.root)/deploy/samples/\(program.dropFirst(8)).json5"
    let outcome = try await run(program, ["--check", "--config", sample])
    #expect(outcome.ending == .exited(0))
    #expect(outcome.output == "\(program): the configuration has no fault\n")
    #expect(try await run(program, ["--print-sample"]).output == Executables.text(sample))
  }

  @Test("--print-config tells each value and its source, and no secret")
  func print() async throws {
    let path = try file("{ listen: ['127.0.0.1:7'], operatorKey: 'a-secret-of-the-operator-4711' }")
    let outcome = try await run(
      "pullbox-server", ["--print-config", "--config", path, "--loops", "2"],
      environment: ["PULLBOX_STORE_CREDENTIAL": "a-secret-of-the-store-4711", "PULLBOX_GC_GRACE": "7d"])
    #expect(outcome.ending == .exited(0))
    let lines = outcome.output.replacing(path, with: "f").split(separator: "\n")
    for line in [
      "listen: [\"127.0.0.1:7\"]  // f:1:11", "operatorKey: set  // f:1:41", "operatorKeys: not set",
      "loops: 2  // --loops",
      "store.credential: set  // PULLBOX_STORE_CREDENTIAL", "gcGrace: \"7d\"  // PULLBOX_GC_GRACE",
      "gcInterval: \"1h\"  // default", "publicURL: not set",
    ] { #expect(lines.contains(Substring(line)), "\(line)") }
    #expect(!outcome.output.contains("a-secret-of"))
    let faulty = try await run("pullbox-server", ["--print-config", "--loops", "many"])
    #expect(faulty.ending == .exited(78))
    #expect(faulty.errors.contains("--loops: loops: a whole number is expected here, not 'many'"))
  }

  @Test("the command line's operator key is none of the server, which says so, and warns that it has none")
  func operatorKeys() async throws {
    let key = "a-key-of-an-editor-with-few-scopes"
    let foreign = try await run("pullbox-server", ["--check"], environment: ["PULLBOX_OPERATOR_KEY": key])
    #expect(foreign.ending == .exited(0))
    #expect(foreign.errors.contains("warning: operatorKey: there is no operator key"))
    #expect(foreign.errors.contains("its own is PULLBOX_SERVER_OPERATOR_KEY"))
    let own = try await run("pullbox-server", ["--check"], environment: ["PULLBOX_SERVER_OPERATOR_KEY": key])
    #expect(!own.errors.contains("operatorKey"))
    let server = try await Daemon.start(
      "pullbox-server",
      ["--listen", "127.0.0.1:0", "--state", directory.path("state"), "--store-credential", "unused"],
      name: "server", in: directory, environment: ["PULLBOX_OPERATOR_KEY": key])
    let asked = try await run(
      "pullbox",
      ["products", "--server", "http://\(server.addresses.first ?? "")", "--operator-key", key])
    #expect(asked.ending == .exited(3) || asked.ending == .exited(1))
    #expect(await server.process.terminateAndWait() == .exited(0))
    #expect(try Executables.text(server.log).contains("there is no operator key"))
  }

  @Test("a reload takes the log's level, and says which other keys need a restart", .timeLimit(.minutes(1)))
  func reload() async throws {
    func text(_ level: String, _ bundle: String) -> String {
      """
      { listen: ["127.0.0.1:0"], state: "\(directory.path("store"))", catalog: "http://127.0.0.1:9",
        logLevel: "\(level)", bundle: "\(bundle)" }
      """
    }
    let path = try file(text("info", "com.example.one"))
    let store = try await Daemon.start(
      "pullbox-sandbox", ["--config", path], name: "store", in: directory)
    _ = try file(text("debug", "com.example.two"))
    store.process.send(signal: 1)
    try await eventually {
      let log = try Executables.text(store.log)
      return log.contains("\"reloaded\"")
        && log.contains("\"some changes need a restart\",\"keys\":\"bundle\"")
    }
    #expect(await store.process.terminateAndWait() == .exited(0))
  }

  @Test(
    "a reload of a faulty configuration logs each fault with its place, keeps the old one, and a metric tells it"
  )
  func faultyReload() async throws {
    func text(_ rest: String) -> String {
      """
      { listen: ["127.0.0.1:0"], state: "\(directory.path("state"))",
        store: { credential: "the-credential-of-a-store-4711" },
        \(rest) }
      """
    }
    let path = try file(text("logLevel: 'info'"))
    let server = try await Daemon.start("pullbox-server", ["--config", path], name: "server", in: directory)
    let metric = {
      let page = try await run(
        "/usr/bin/curl", ["-sf", "--noproxy", "*", "http://\(server.addresses.first ?? "")/metrics"])
      return page.output.split(separator: "\n").first {
        $0.hasPrefix("pullbox_configuration_last_reload_successful ")
      }?.last
    }
    #expect(try await metric() == "1")
    _ = try file(text("logLevel: 'loud', nonsense: 1,\n  loops: 'many'"))
    server.process.send(signal: 1)
    try await eventually { try await metric() == "0" }
    let refused = try Executables.text(server.log).split(separator: "\n").filter {
      $0.contains("reloading failed; everything stays as it was")
    }
    let places = refused.compactMap { $0.firstMatch(of: /"from":"[^"]*:(\d+:\d+)"/).map { String($0.1) } }
    #expect(places == ["3:13", "3:21", "4:10"], "\(refused)")
    _ = try file(text("logLevel: 'debug'"))
    server.process.send(signal: 1)
    try await eventually { try await metric() == "1" }
    #expect(await server.process.terminateAndWait() == .exited(0))
  }

  @Test("one address for two listeners is a fault of the second, and port 0 is never the same")
  func repeatedAddress() async throws {
    let path = try file(
      """
      { listen: ["127.0.0.1:7801", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:7801"],
        management: { listen: ["127.0.0.1:7801"] },
        store: { credential: "the-credential-of-a-store-4711" } }
      """)
    let outcome = try await run("pullbox-server", ["--check", "--config", path])
    #expect(outcome.ending == .exited(78))
    let lines = outcome.errors.replacing(path, with: "f").split(separator: "\n").filter {
      $0.contains("already")
    }
    #expect(
      lines == [
        "f:1:60: listen.3: 127.0.0.1:7801 stands in listen.0 already",
        "f:2:26: management.listen.0: 127.0.0.1:7801 stands in listen.0 already",
      ])
    let options = ["--check", "--listen", "unix:/tmp/a", "--listen", "unix:/tmp/a"]
    let sandbox = try await run("pullbox-sandbox", options + ["--catalog", "http://127.0.0.1:9"])
    #expect(sandbox.errors.contains("--listen: listen.1: unix:/tmp/a stands in listen.0 already"))
  }

  @Test(
    "a configuration that is a FIFO, a device or a directory is refused at once",
    .timeLimit(.minutes(1)), arguments: ["fifo", "/dev/zero", "/dev/null", "/"])
  func noRegularFile(name: String) async throws {
    let path = name == "fifo" ? directory.path("fifo") : name
    if name == "fifo" { _ = try await run("/usr/bin/mkfifo", [path]) }
    let outcome = try await run("pullbox-server", ["--check", "--config", path])
    #expect(outcome.ending == .exited(78))
    let kind = name == "/" ? "a directory" : "a device or a pipe"
    #expect(outcome.errors.contains("\(path): a regular file is expected here, not \(kind)"))
  }

  @Test("a word that stands where a store's kind belongs is not repeated: entries of stores hold secrets")
  func storeKind() async throws {
    let path = try file("{ stores: [{ name: 'a', kind: 'a-secret-of-a-test', bundles: ['a.b'] }] }")
    let outcome = try await run("pullbox-server", ["--config", path, "--check"])
    #expect(outcome.ending == .exited(78))
    #expect(outcome.errors.contains("stores.0.kind: it is pullbox, apple or google"), "\(outcome.errors)")
    #expect(!(outcome.output + outcome.errors).contains("a-secret-of-a-test"))
  }
}
