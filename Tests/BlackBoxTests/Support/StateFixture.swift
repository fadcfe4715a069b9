import Files
import Foundation
import HTTPClient
import PullboxTesting
import SystemCalls

/// A state directory that an earlier version made, and what that version answered about it: a folder below
/// Tests/Fixtures/state.
struct StateFixture: Sendable, CustomStringConvertible {
  enum Daemon: String, Sendable, CaseIterable {
    case server
    case agent
    case store
  }

  let daemon: Daemon
  /// The folder's name, `schema-` and the schema's version.
  let name: String

  static let root = Executables.root + "/Tests/Fixtures/state"

  /// Every one that is kept; none where the folder cannot be read.
  static func all(of daemon: Daemon) -> [StateFixture] {
    let names = (try? FileSystem.list("\(root)/\(daemon.rawValue)").map(\.name)) ?? []
    return names.filter { $0.hasPrefix("schema-") }.sorted().map { StateFixture(daemon: daemon, name: $0) }
  }

  var description: String { "\(daemon.rawValue)/\(name)" }
  private var folder: String { "\(Self.root)/\(daemon.rawValue)/\(name)" }

  /// The facts that were written down when it was made.
  func recorded() throws -> JSONValue {
    let bytes = try Data(contentsOf: URL(filePath: "\(folder)/answers.json"))
    return try JSONDecoder().decode(JSONValue.self, from: bytes)
  }

  /// Puts the state directory into `directory`, under the daemon's name.
  func unpack(in directory: TemporaryDirectory) async throws {
    let outcome = try await Executables.run(
      "/usr/bin/tar",
      [
        "-xzf", "\(folder)/state.tar.gz", "-C", directory.path, "--no-same-owner", "--same-permissions",
      ], in: directory)
    guard outcome.succeeded else { throw FixtureStack.Failure(description: outcome.errors) }
  }
}

/// State directories of earlier versions, each opened by the daemon of this one. Daemons reach one another through proxies,
/// so that their addresses are known before they run; one that does not run cannot be reached.
actor FixtureStack {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  nonisolated let directory: TemporaryDirectory
  nonisolated let client: HTTPClient
  private let serverProxy: PackageProxy
  private let storeProxy: PackageProxy
  private var daemons: [StateFixture.Daemon: Daemon] = [:]

  /// Runs `body` with the unpacked directories; nothing is left of them afterwards.
  static func with(
    _ fixtures: [StateFixture], _ body: @Sendable (FixtureStack) async throws -> Void
  ) async throws {
    let stack = try FixtureStack()
    do {
      for fixture in fixtures { try await fixture.unpack(in: stack.directory) }
      try await body(stack)
    } catch {
      let logs = await stack.tearDown()
      FileHandle.standardError.write(Data("---- logs of fixtures whose test threw \(error)\n\(logs)\n".utf8))
      throw error
    }
    await stack.tearDown()
  }

  private init() throws {
    directory = try TemporaryDirectory()
    serverProxy = try PackageProxy()
    storeProxy = try PackageProxy()
    var configuration = HTTPClientConfiguration()
    configuration.usesProxyOfEnvironment = false
    client = try HTTPClient(configuration: configuration)
  }

  @discardableResult
  private func tearDown() async -> String {
    serverProxy.close()
    storeProxy.close()
    for daemon in daemons.values { await daemon.process.killAndWait() }
    client.shutDown()
    return daemons.keys.compactMap { name in
      (try? Executables.text(directory.path("\(name.rawValue).log"))).map {
        "\(name.rawValue): \($0.suffix(4000))"
      }
    }.joined(separator: "\n")
  }

  /// Opens the state directory of that daemon with what was written down about it.
  func start(_ name: StateFixture.Daemon, _ recorded: JSONValue) async throws {
    let executable: String
    var arguments = ["--state", name.rawValue]
    switch name {
    case .server:
      executable = "pullbox-server"
      arguments += [
        "--listen", "127.0.0.1:0", "--store-url", storeProxy.url, "--operator-key",
        recorded["credentials"]["operator"].text ?? "", "--store-credential",
        recorded["storeCredential"].text ?? "",
        // The uploads that waited when the fixture was made wait still.
        "--upload-lifetime", "36500d",
      ]
    case .agent:
      executable = "pullbox-agent"
      arguments += [
        "--server", serverProxy.url, "--store", storeProxy.url, "--account-token-file",
        try AccountTokenFile(recorded["accounts"]["device"].text ?? "", in: directory).path, "--socket",
        directory.path("agent/agent.sock"), "--poll-interval", "1",
      ]
    case .store:
      executable = "pullbox-sandbox"
      arguments += [
        "--listen", "127.0.0.1:0", "--catalog", serverProxy.url, "--server-credential",
        recorded["storeCredential"].text ?? "",
      ]
    }
    let daemon = try await Daemon.start(
      executable, arguments, name: name.rawValue, in: directory, workingDirectory: directory.path)
    daemons[name] = daemon
    switch name {
    case .server: serverProxy.setUpstream(port: daemon.port)
    case .store: storeProxy.setUpstream(port: daemon.port)
    case .agent: break
    }
  }

  /// SIGTERM; how it ended.
  func terminate(_ name: StateFixture.Daemon) async throws -> ChildProcess.Ending {
    guard let daemon = daemons.removeValue(forKey: name) else {
      throw Failure(description: "\(name.rawValue) does not run")
    }
    return await daemon.process.terminateAndWait()
  }

  /// Requests to that daemon.
  nonisolated func web(_ name: StateFixture.Daemon, credential: String? = nil) -> Web {
    switch name {
    case .server: Web(base: serverProxy.url, credential: credential, client: client)
    case .store: Web(base: storeProxy.url, credential: credential, client: client)
    case .agent: Web(base: "http://agent", socket: directory.path("agent/agent.sock"), client: client)
    }
  }

  /// Where an agent says that content lies; one that an earlier version placed may be told from the directory on.
  nonisolated func place(_ path: String) -> String { path.hasPrefix("/") ? path : directory.path(path) }

  /// The answer as JSON; throws unless the status is a success.
  nonisolated func json(
    _ method: String, _ path: String, of name: StateFixture.Daemon, credential: String? = nil,
    body: String? = nil
  ) async throws -> JSONValue {
    let headers = body.map { _ in [("Content-Type", "application/json")] } ?? []
    let answer = try await web(name, credential: credential).send(
      method, path, headers: headers, body: body.map { Array($0.utf8) })
    guard (200..<300).contains(answer.status) else {
      throw Failure(description: "\(method) \(path): \(answer.text)")
    }
    return try JSONDecoder().decode(JSONValue.self, from: Data(answer.body))
  }

  /// Asks everything that the earlier version was asked; where the answers differ from its. Operators know grants by
  /// short names since then, and a grant's own address asks for a proof.
  nonisolated func differences(
    from recorded: JSONValue, of name: StateFixture.Daemon
  ) async throws -> [String] {
    let secrets = recorded["credentials"].members.merging(recorded["accounts"].members) { first, _ in first }
    var differences: [String] = []
    for earlier in recorded["answers"].items {
      let path = earlier["path"].text ?? ""
      if path.hasPrefix("/v1/grants/") { continue }
      let credential = earlier["credential"].text.flatMap { secrets[$0]?.text }
      let answer = try await json("GET", path, of: name, credential: credential)
      let body = path.hasPrefix("/v1/operator/") ? earlier["body"].withShortNames : earlier["body"]
      if name == .agent {
        let place = directory.path
        differences += answer.aligned(in: place).differences(from: body.aligned(in: place), at: path)
      } else {
        differences += answer.differences(from: body, at: path)
      }
    }
    return differences
  }

  /// The hexadecimal digits of a file's SHA-256, as another program computes it.
  nonisolated func digest(ofFile path: String) async throws -> String {
    let outcome = try await Executables.run("/usr/bin/sha256sum", [path], in: directory)
    guard outcome.succeeded else { throw Failure(description: outcome.errors) }
    return String(outcome.output.prefix(64))
  }
}
