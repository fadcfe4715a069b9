import Commerce
import CoreTypes
import Foundation
import Glibc
import HTTPClient
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

/// The rights of processes of other users at an agent. Needs root, to become them.
@Suite("Who may change what the agent does", .enabled(if: getuid() == 0), .timeLimit(.minutes(5)))
struct ControlAccessTests {
  private static let stranger = "65534"
  private static let named = "64123"
  private static let controlGroup = "64999"

  /// The status and the body that curl gets as such a user.
  private func ask(
    _ arguments: [String], user: String, groups: [String] = [], socket: String,
    in directory: TemporaryDirectory
  ) async throws -> (status: String, body: String) {
    let membership = groups.isEmpty ? ["--clear-groups"] : ["--groups", groups.joined(separator: ",")]
    let outcome = try await Executables.run(
      "/usr/bin/setpriv",
      ["--reuid", user, "--regid", user] + membership
        + ["curl", "-s", "-w", "\n%{http_code}", "--unix-socket", socket] + arguments, in: directory)
    let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false)
    return (String(lines.last ?? ""), lines.dropLast().joined(separator: "\n"))
  }

  @Test(
    "a user who is not named may watch and change nothing; a member of the group and a named user may (R15)")
  func users() async throws {
    let directory = try TemporaryDirectory()
    #expect(unsafe chmod(directory.path, 0o755) == 0)
    let token = try AccountTokenFile("token", in: directory)
    let socket = directory.path("agent.sock")
    let daemon = try await Daemon.start(
      "pullbox-agent",
      [
        "--state", directory.path("state"), "--server", "http://127.0.0.1:9", "--store", "http://127.0.0.1:9",
        "--account-token-file", token.path, "--socket", socket, "--control-users", Self.named,
        "--control-group", Self.controlGroup,
      ], name: "agent", in: directory)
    do {
      #expect(unsafe chmod(socket, 0o666) == 0)
      let watched = try await ask(
        ["http://agent/v1/status"], user: Self.stranger, socket: socket, in: directory)
      #expect(watched.status == "200")
      let changes = [
        ["-X", "POST", "-d", #"{"product":"com.example.a"}"#, "http://agent/v1/purchases"],
        ["-X", "POST", "http://agent/v1/restore"], ["-X", "DELETE", "http://agent/v1/library/com.example.a"],
        ["-X", "POST", "http://agent/v1/downloads/0123456789abcdef/cancel"],
        ["-X", "PATCH", "-d", #"{"priority":1}"#, "http://agent/v1/downloads/0123456789abcdef"],
      ]
      for change in changes {
        let refused = try await ask(change, user: Self.stranger, socket: socket, in: directory)
        #expect(refused.status == "403" && refused.body.contains("not-permitted"), "\(change)")
      }
      let removal = ["-X", "DELETE", "http://agent/v1/library/com.example.a"]
      // There is nothing to remove: it was let through.
      for (user, groups) in [(Self.named, []), (Self.stranger, [Self.controlGroup]), ("0", [])] {
        let allowed = try await ask(removal, user: user, groups: groups, socket: socket, in: directory)
        #expect(allowed.status == "404" && allowed.body.contains("library-item-unknown"), "\(user) \(groups)")
      }
    } catch {
      Issue.record(error)
    }
    await daemon.process.killAndWait()
    let audit = try Executables.text(directory.path("agent.log")).split(separator: "\n").filter {
      $0.contains("a change was asked for")
    }
    #expect(audit.count == 8)
    #expect(audit.count { $0.contains("not-permitted") && $0.contains(Self.stranger) } == 5)
    #expect(audit.contains { $0.contains("DELETE /v1/library/com.example.a") && $0.contains(Self.named) })
    #expect(audit.allSatisfy { $0.contains("pid") })
  }

  @Test("the account's token comes from a file that its owner alone may read, or from the service manager")
  func accountToken() async throws {
    let directory = try TemporaryDirectory()
    let token = try AccountTokenFile("token", in: directory)
    let arguments = [
      "--state", directory.path("state"), "--server", "http://127.0.0.1:9", "--store", "http://127.0.0.1:9",
      "--socket", directory.path("agent.sock"),
    ]
    func refusal(_ more: [String], _ environment: [String: String] = [:]) async throws -> String {
      let outcome = try await Executables.run(
        Executables.path("pullbox-agent"), arguments + more,
        environment: Executables.environment.merging(environment) { $1 }, in: directory)
      #expect(!outcome.succeeded)
      return outcome.errors
    }
    #expect(try await refusal([]).contains("accountTokenFile"))
    #expect(try await refusal(["--account-token", "secret"]).contains("--account-token"))
    #expect(try await refusal(["--account-token-file", directory.path("none")]).contains("there is no"))
    #expect(
      try await refusal([], ["CREDENTIALS_DIRECTORY": directory.path("none")]).contains("the credential"))
    #expect(unsafe chmod(token.path, 0o640) == 0)
    #expect(try await refusal(["--account-token-file", token.path]).contains("others than its owner"))
    // The service manager starts it so; the bits are its business.
    let daemon = try await Daemon.start(
      "pullbox-agent", arguments, name: "agent", in: directory,
      environment: Executables.environment.merging(["CREDENTIALS_DIRECTORY": directory.path]) { $1 })
    await daemon.process.killAndWait()
  }
}
