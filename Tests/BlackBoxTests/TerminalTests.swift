import Commerce
import CoreTypes
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

@Suite("The command line on a terminal and without one", .timeLimit(.minutes(5)))
struct TerminalTests {
  private static let clearsLine = "\u{1B}[K"
  private static let green = "\u{1B}[32m"

  /// A product of that name.
  /// The title of the made packages, by their ComicInfo: the same for all.
  private static let title = "Test package 1.0"

  private func publish(_ product: String, pieces: Int64 = 2, in stack: Stack) async throws {
    let file = try await Material.file("\(product).cbz", length: pieces * pieceLength, in: stack.directory)
    try await stack.publish(file, as: product)
  }

  @Test("bars and colors are for terminals: files and pipes get lines, and --quiet neither")
  func progress() async throws {
    try await Stack.with { stack in
      for name in ["bars", "plain", "monochrome", "dumb", "colored", "quiet", "silent"] {
        try await publish(name, in: stack)
      }
      let bars = try await stack.pullbox(onTerminal: "buy bars --yes --wait")
      #expect(bars.succeeded, "\(bars.output)")
      #expect(bars.output.contains(Self.clearsLine) && bars.output.contains(Self.green))
      #expect(bars.output.contains("[####") && bars.output.contains("100 %"))
      #expect(bars.output.contains("\u{1B}[Jtransaction "))

      let plain = try await stack.pullbox("buy", "plain", "--yes", "--wait")
      #expect(plain.succeeded, "\(plain.errors)")
      #expect(plain.output.hasPrefix("transaction ") && !plain.output.contains("\u{1B}"))
      #expect(plain.errors.contains("\n\(Self.title) 1.0: 100 %, ") && !plain.errors.contains("\u{1B}"))

      let monochrome = try await stack.pullbox(
        onTerminal: "buy monochrome --yes --wait", environment: ["NO_COLOR": "1"])
      #expect(monochrome.output.contains(Self.clearsLine) && !monochrome.output.contains(Self.green))

      let dumb = try await stack.pullbox(onTerminal: "buy dumb --yes --wait", environment: ["TERM": "dumb"])
      #expect(dumb.output.contains("\(Self.title) 1.0: 100 %, ") && !dumb.output.contains("\u{1B}"))

      let colored = try await stack.pullbox("buy", "colored", "--yes", "--wait", "--color", "always")
      #expect(colored.errors.contains(Self.green) && !colored.errors.contains(Self.clearsLine))

      let quiet = try await stack.pullbox(onTerminal: "buy quiet --yes --wait --quiet")
      #expect(quiet.succeeded)
      #expect(quiet.output.hasPrefix("transaction ") && !quiet.output.contains("\u{1B}"))
      let silent = try await stack.pullbox("buy", "silent", "--yes", "--wait", "-q")
      #expect(silent.output.hasPrefix("transaction ") && silent.errors.isEmpty)
    }
  }

  @Test("--wait ends with its time or with the work, and the filters show what they name")
  func waitAndFilters() async throws {
    try await Stack.with { stack in
      try await publish("done", in: stack)
      // Long enough to be fetched by ranges, which the proxy can hold.
      try await publish("held", pieces: 24, in: stack)
      let done = try await stack.pullbox("buy", "done", "--yes", "--wait", "--timeout", "60s")
      #expect(done.succeeded, "\(done.errors)")
      stack.serverProxy.hold(at: 10 * pieceLength + 4321)
      let held = try await stack.pullbox("buy", "held", "--yes", "--wait", "--timeout", "1s")
      #expect(held.ending == .exited(4))
      #expect(held.errors.contains("is not finished yet"))
      await stack.serverProxy.waitUntilHeld()

      let downloads = { (words: [String]) in
        try await stack.pullbox(["downloads", "--json"] + words).output.split(separator: "\n").map {
          try APIJSON.decode(DownloadStatus.self, from: Array($0.utf8)).product.description
        }
      }
      #expect(try await downloads([]) == ["held", "done"])
      #expect(try await downloads(["--limit", "1"]) == ["held"])
      #expect(try await downloads(["--state", "live"]) == ["held"])
      #expect(try await downloads(["--state", "active"]) == ["held"])
      #expect(try await downloads(["--state", "over"]) == ["done"])
      #expect(try await downloads(["--state", "finished"]) == ["done"])
      #expect(try await downloads(["--state", "paused"]).isEmpty)
      #expect(try await downloads(["--product", "done"]) == ["done"])
      #expect(try await downloads(["--product", "done", "--state", "live"]).isEmpty)
      let transactions = { (words: [String]) in
        try await stack.pullbox(["transactions", "--json"] + words).output.split(separator: "\n").map {
          try APIJSON.decode(AgentTransaction.self, from: Array($0.utf8)).product.description
        }
      }
      #expect(try await transactions([]) == ["held"])
      #expect(try await transactions(["--state", "delivering"]) == ["held"])
      #expect(try await transactions(["--state", "finished"]) == ["done"])
      #expect(try await transactions(["--state", "failed"]).isEmpty)
      #expect(Set(try await transactions(["--all"])) == ["held", "done"])

      stack.serverProxy.release()
      let watch = try await stack.pullbox("downloads", "--watch")
      #expect(watch.succeeded, "\(watch.errors)")
      let nothing = try await stack.pullbox("downloads", "--state", "live")
      #expect(nothing.output.isEmpty && nothing.errors == "no downloads\n")

      #expect(try await stack.pullbox("remove", "done").succeeded)
      let restore = try await stack.pullbox("restore", "done", "--wait", "--timeout", "60s")
      #expect(restore.succeeded, "\(restore.errors)")
      #expect(restore.output.hasPrefix("\(Self.title) 1.0  "))
      #expect(try await stack.pullbox("path", "done").succeeded)
    }
  }
}
