import Commerce
import Glibc
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@Suite("Examples", .timeLimit(.minutes(5)))
struct ExampleTests {
  /// Runs `body` with an example on a terminal, whose text is shown for a test that fails.
  private func run(
    _ name: String, _ arguments: [String], in stack: Stack,
    _ body: (PseudoTerminal) async throws -> Void
  ) async throws -> ChildProcess.Ending {
    let terminal = try PseudoTerminal()
    var environment = Executables.environment
    environment["PULLBOX_AGENT_SOCKET"] = stack.agentSocket
    environment["TERM"] = "xterm"
    environment["TZ"] = "UTC"
    let process = try ChildProcess(
      Executables.path(name), arguments, environment: environment, on: terminal)
    let watching = Task {
      _ = await process.ending()
      terminal.close()
    }
    defer { watching.cancel() }
    // A test whose time is over ends with its program, whose end closes the terminal.
    let ending = try await withTaskCancellationHandler {
      do {
        try await body(terminal)
      } catch {
        await process.killAndWait()
        throw error
      }
      return await process.ending()
    } onCancel: {
      process.send(signal: SIGKILL)
    }
    #expect(ending == .exited(0), "\(terminal.text.suffix(3000))")
    return ending
  }

  @Test(
    "the reader's app shows prices, buys, shows progress, opens also what comes, and restores what is chosen; a correction comes by itself"
  )
  func reader() async throws {
    try await Stack.with { stack in
      let folder = try await Material.folder(
        "folder", product: "com.example.file", length: 12 * pieceLength, images: 24, in: stack.directory)
      let other = try await Material.file("other.cbz", length: 300_000, seed: 2, in: stack.directory)
      let price = try #require(Price(amount: "2.99", currency: "USD"))
      try await stack.describe(
        "com.example.file",
        ProductDescription(
          localizations: ["en-US": Product.Localization(title: "Kestrel", description: "")],
          prices: ["USA": price]))
      try await stack.publishByCommand(folder, as: "com.example.file")
      try await stack.publish(other, as: "com.example.other")
      stack.serverProxy.hold(at: 6 * pieceLength + 100)
      _ = try await run("Reader", ["--with", "true"], in: stack) { terminal in
        #expect(await terminal.wait(for: "$2.99"))
        let number = try Self.number(of: "Kestrel", in: terminal.text)
        try terminal.type("buy \(number)")
        #expect(await terminal.wait(for: "for $2.99, in the store for tests? y/n"))
        try terminal.type("n")
        #expect(await terminal.wait(for: "nothing was bought"))
        try terminal.type("buy \(number)")
        #expect(await terminal.wait(for: "y/n", after: terminal.text.count))
        try terminal.type("y")
        #expect(await terminal.wait(for: "you may leave, it comes all the same"))
        #expect(await terminal.wait(for: "[######"))
        // It is read while it comes: a page that is here at once, another one when its bytes are.
        try terminal.type("open 1")
        #expect(await terminal.wait(for: "page 1 of 24 of"))
        try terminal.type("open 1 25")
        #expect(await terminal.wait(for: "there is no page 25"))
        try terminal.type("open 1 24")
        #expect(await terminal.wait(for: "page 24 of"))
        stack.serverProxy.release()
        #expect(await terminal.wait(for: "page 24 of 24 of"))
        #expect(await terminal.wait(for: "  new"))
        let placed = terminal.text.count
        try terminal.type("open 1")
        #expect(await terminal.wait(for: "is open", after: placed))
        let corrected = try await Material.folder(
          "new", product: "com.example.file", length: 12 * pieceLength, images: 24, seed: 3,
          in: stack.directory)
        stack.serverProxy.hold(at: 2 * pieceLength)
        try await stack.publishByCommand(corrected, as: "com.example.file", version: "1.1")
        #expect(await terminal.wait(for: "correction: "))
        let before = terminal.text.count
        stack.serverProxy.release()
        #expect(await terminal.wait(for: "  new", after: before))
        // What came by itself is known by now: what is removed stays away until it is asked for.
        try terminal.type("remove 1")
        #expect(await terminal.wait(for: "from this device? y/n"))
        try terminal.type("y")
        #expect(await terminal.wait(for: "1 more that you own: restore"))
        try terminal.type("restore")
        #expect(await terminal.wait(for: "OWNED, AND NOT HERE"))
        let chosen = terminal.text.count
        try terminal.type("1")
        #expect(await terminal.wait(for: "1 of 1 are being fetched"))
        #expect(await terminal.wait(for: "  new", after: chosen))
        try terminal.type("quit")
      }
    }
  }

  /// The number before a product's line in the shop.
  private static func number(of title: String, in text: String) throws -> Int {
    let line = text.split(separator: "\r\n").last { $0.contains(title) && $0.contains("$") }
    return try #require(line.flatMap { $0.split(separator: " ").first }.flatMap { Int($0) })
  }

  @Test("an app of one screen takes forty lines, and lists, asks, buys, shows progress and reads")
  func oneScreen() async throws {
    #expect(try Self.lines(of: "OneScreen/OneScreen.swift") <= 40)
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: 3_000_001, in: stack.directory)
      try await stack.publish(file, as: "com.example.file")
      _ = try await run("OneScreen", [], in: stack) { terminal in
        #expect(await terminal.wait(for: "Which one?"))
        try terminal.type("1")
        #expect(await terminal.wait(for: "for free? y/n"))
        try terminal.type("y")
        #expect(await terminal.wait(for: "Read it at /"))
      }
      let download = try await stack.agent.finishedDownload(of: "com.example.file")
      #expect(download.contentPath != nil)
      #expect(try await stack.unfinishedTransactions().isEmpty)
    }
  }

  @Test("the reader's app says why it cannot work, and is less than 600 lines")
  func refusals() async throws {
    let directory = try TemporaryDirectory()
    let app = Executables.path("Reader")
    let alone = try await Executables.run(app, ["--socket", directory.path("agent.sock")], in: directory)
    #expect(alone.ending == .exited(1))
    #expect(alone.errors.hasPrefix("Reader: "))
    let wrong = try await Executables.run(app, ["--with"], in: directory)
    #expect(wrong.ending == .exited(2))
    #expect(wrong.errors == "Reader: usage: Reader [--socket PATH] [--with PROGRAM]\n")
    let lines = try ["Reader", "Screen", "Session"].map { try Self.lines(of: "Reader/\($0).swift") }
    #expect(lines.reduce(0, +) < 600)
  }

  @Test("the reader in C takes 150 lines at most, and the shelf in Python less than 300")
  func otherLanguages() throws {
    #expect(try Self.lines(of: "c/reader.c") <= 150)
    #expect(try Self.lines(of: "Shelf/shelf.py") < 300)
  }

  /// Lines that are not empty.
  private static func lines(of example: String) throws -> Int {
    try Executables.text("\(Executables.root)/Examples/\(example)").split(separator: "\n").count {
      !$0.allSatisfy(\.isWhitespace)
    }
  }
}
