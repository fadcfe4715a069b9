import CoreTypes
import Files
import Foundation
import HTTPServer
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

/// A server without products, which notes how it is asked for them.
private final class NoProducts: AsyncHandler {
  let asked = Locked<[String]>([])

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    asked.withLock { $0.append(request.rawTarget) }
    return HTTPResponse(
      status: .ok, headers: ["Content-Type": "application/json"], body: .bytes(Array(#"{"items":[]}"#.utf8)))
  }
}

@Suite("Products that a command lists", .timeLimit(.minutes(2)))
struct ProductFilterTests {
  private static let executable =
    URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path + "/pullbox"

  /// The ending of the command, what it printed, and how it asked the server.
  private func run(
    _ words: [String]
  ) async throws -> (ending: ChildProcess.Ending, text: String, asked: [String]) {
    let directory = try TemporaryDirectory()
    let server = NoProducts()
    let output = directory.path("output")
    let ending = try await withServer(server) { address in
      let process = try ChildProcess(
        Self.executable, words,
        environment: ChildProcess.inheritedEnvironment.merging([
          "PULLBOX_SERVER": "http://\(address)", "PULLBOX_OPERATOR_KEY": "key", "PULLBOX_PATIENCE": "0",
        ]) { $1 }, output: output)
      return await process.ending()
    }
    let text = String(decoding: try FileSystem.read(output, upTo: .mebibytes(1)), as: UTF8.self)
    return (ending, text, server.asked.current)
  }

  @Test("each filter of the command is one of the route")
  func filters() async throws {
    let (ending, text, asked) = try await run([
      "products", "--publication", "com.example.p", "--type", "non-consumable", "--state", "released",
      "--sale", "cleared", "--order", "changed",
    ])
    #expect(ending == .exited(0), "\(text)")
    let query = try #require(asked.first).split(separator: "?").dropFirst().joined()
    #expect(
      Set(query.split(separator: "&").map(String.init)).isSuperset(of: [
        "publication=com.example.p", "type=non-consumable", "state=released", "sale=cleared", "order=changed",
      ]), "\(asked)")
  }

  @Test(
    "a filter with a word that does not exist is wrong usage, which names those that do, and asks nothing",
    arguments: [
      ("--type", "free-subscription"), ("--state", "superseded"), ("--sale", "withdrawn"),
      ("--order", "changed"),
    ])
  func unknownWord(option: String, word: String) async throws {
    let (ending, text, asked) = try await run(["products", option, "lost"])
    #expect(ending == .exited(2), "\(text)")
    #expect(text.contains("\(option) takes one of ") && text.contains(word), "\(text)")
    #expect(asked == [])
  }
}
