import Foundation
import PullboxTesting
import Testing

@Suite("Operator keys from outside", .timeLimit(.minutes(5)))
struct OperatorKeyTests {
  @Test("a key that the command makes operates a server that holds its line and not the key")
  func made() async throws {
    let directory = try TemporaryDirectory()
    let made = try await Executables.run(
      Executables.path("pullbox"),
      ["key", "operator", "new", "--name", "ada", "--scope", "read", "--scope", "publish", "--json"],
      in: directory)
    #expect(made.succeeded, "\(made.errors)")
    let value = try JSONDecoder().decode(JSONValue.self, from: Data(made.output.utf8))
    let key = try #require(value["key"].text)
    #expect(key.utf8.count >= 43)
    let printed = try await Executables.run(
      Executables.path("pullbox"), ["key", "operator", "new", "--name", "bob", "--scope", "admin"],
      in: directory)
    let lines = printed.output.split(separator: "\n")
    let other = try #require(lines.first { $0.hasPrefix("key ") }?.split(separator: " ").last)
    let line = try #require(lines.first { $0.hasPrefix("line ") }?.drop { $0 != "{" })
    #expect(!line.contains(other) && other != key)
    let hash = try #require(value["entry"]["hash"].text)
    let path = directory.path("operators")
    try Data("{name: 'ada', scopes: ['read', 'publish'], hash: '\(hash)'}\n\(line)\n".utf8)
      .write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    let server = try await Daemon.start(
      "pullbox-server",
      [
        "--listen", "127.0.0.1:0", "--state", directory.path("state"), "--operator-key-file", path,
        "--store-credential", "unused",
      ], name: "server", in: directory)
    for (key, succeeds) in [(key, true), (String(other), true), (hash, false), ("wrong", false)] {
      let outcome = try await Executables.run(
        Executables.path("pullbox"),
        ["products", "--server", "http://\(server.addresses.first ?? "")", "--operator-key", key],
        in: directory)
      #expect(outcome.succeeded == succeeds, "\(outcome.errors)")
    }
    _ = await server.process.terminateAndWait()
  }

  @Test(
    "a command line that says too little or something else is refused",
    arguments: [
      ["key", "operator"], ["key", "operator", "new"], ["key", "operator", "new", "--name", "ada"],
      ["key", "operator", "new", "--name", "a b", "--scope", "read"],
      ["key", "operator", "new", "--name", "ada", "--scope", "reed"], ["key", "--name", "ada"],
    ])
  func usage(arguments: [String]) async throws {
    let outcome = try await Executables.run(
      Executables.path("pullbox"), arguments, in: try TemporaryDirectory())
    #expect(outcome.ending == .exited(2), "\(outcome.output) \(outcome.errors)")
  }

  @Test("a server with a key that could be guessed does not start, and says why")
  func shortKey() async throws {
    let directory = try TemporaryDirectory()
    let outcome = try await Executables.run(
      Executables.path("pullbox-server"),
      [
        "--listen", "127.0.0.1:0", "--state", directory.path("state"), "--operator-key", "short",
        "--store-credential", "unused",
      ], in: directory)
    #expect(outcome.ending == .exited(78))
    #expect(outcome.errors.contains("could be guessed"))
  }
}
