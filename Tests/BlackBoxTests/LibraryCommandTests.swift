import Commerce
import CoreTypes
import Files
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

/// The commands for the library and the history of a device, by the built programs.
@Suite("The library and the history of a device by command", .serialized, .timeLimit(.minutes(10)))
struct LibraryCommandTests {
  private static let (issue, other) = ("com.example.issue", "com.example.other")

  /// Changes one byte of a file, as another program would.
  private func damage(_ path: String) throws {
    var bytes = try FileSystem.read(path, upTo: .mebibytes(64))
    bytes[2_000_000] ^= 1
    try DurableFile.write(bytes.span, to: path)
  }

  private func fetched(_ stack: Stack) -> Int64 {
    stack.serverProxy.forwarded.reduce(0) { $0 + Int64($1.count) }
  }

  @Test(
    "pin and unpin show in the library, and open starts a program, prints the path, or says why it cannot")
  func opening() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("\(Self.issue).cbz", length: 300_000, in: stack.directory)
      try await stack.publish(file, as: Self.issue)
      _ = try await stack.agent.buy(Self.issue)
      let path = try #require(try await stack.agent.finishedDownload(of: Self.issue).contentPath)
      func item() async throws -> LibraryItem? {
        try await stack.agent.web.get("/v1/library").decoded(LibraryResponse.self).items.first
      }
      #expect(try await stack.pullbox("pin", Self.issue).ending == .exited(0))
      #expect(try await stack.pullbox("library").output.contains("present, pinned"))
      #expect(try await stack.pullbox("unpin", Self.issue).ending == .exited(0))
      #expect(try await !stack.pullbox("library").output.contains("pinned"))
      let printed = try await stack.pullbox("open", Self.issue, "--print")
      #expect(printed.ending == .exited(0) && printed.output == path + "\n", "\(printed.output)")
      let first = try #require(try await item()?.lastOpened)
      #expect(try await stack.pullbox("open", Self.issue, "--with", "true").ending == .exited(0))
      #expect(try #require(try await item()?.lastOpened) > first)
      // The reader's program learns nothing of an operator's.
      let reader = stack.directory.path("reader")
      let script = Array("#!/bin/sh\nenv > '\(reader).variables'\n".utf8)
      try DurableFile.write(script.span, to: reader, permissions: 0o700)
      #expect(try await stack.pullbox("open", Self.issue, "--with", reader).ending == .exited(0))
      let variables = try Executables.text("\(reader).variables")
      #expect(variables.contains("PULLBOX_AGENT_SOCKET=") && !variables.contains("PULLBOX_OPERATOR_KEY"))
      let failed = try await stack.pullbox("open", Self.issue, "--with", "false")
      #expect(failed.ending == .exited(1) && failed.errors.contains("could not open"), "\(failed.errors)")
      let missing = try await stack.pullbox("open", Self.issue, "--with", "no-such-program")
      #expect(
        missing.ending == .exited(1) && missing.errors.contains("there is no no-such-program"),
        "\(missing.errors)")
      for command in ["pin", "unpin", "open", "path", "library", "update"] {
        #expect(try await stack.pullbox(command, "com.example.unknown").ending == .exited(1))
        let misspelled = try await stack.pullbox(command, "com.example.isue")
        #expect(misspelled.ending == .exited(1))
        #expect(misspelled.errors.contains("did you mean \(Self.issue)?"), "\(misspelled.errors)")
      }
    }
  }

  @Test(
    "sections are listed, fetched and dropped by command, a page is opened by its number, and rollback goes back and on"
  )
  func sections() async throws {
    try await Stack.with { stack in
      let folder = try await Material.folder(
        "folder", product: Self.issue, length: 3_000_000, images: 4, in: stack.directory)
      for part in ["text-fr", "wide"] {
        let path = "\(folder)/\(part)"
        try FileSystem.createDirectories(path, permissions: 0o700)
        let page = try FileSystem.read(try Self.pages(of: folder)[0], upTo: .mebibytes(2))
        try DurableFile.write((page + Array(part.utf8)).span, to: "\(path)/extra.jpg")
      }
      let options = [
        "--section", "fr=text-fr/**", "--section", "hires=wide/**", "--section-policy", "hires=on-demand",
      ]
      try await stack.publishByCommand(folder, as: Self.issue, options)
      #expect(try await stack.pullbox("buy", Self.issue, "--yes", "--wait").ending == .exited(0))
      let root = try #require(try await stack.agent.finishedDownload(of: Self.issue).contentPath)
      func isHere(_ path: String) throws -> Bool { try FileSystem.status(of: "\(root)/\(path)") != nil }

      // What has no policy is required: it came with the content.
      #expect(try isHere("text-fr/extra.jpg") && !isHere("wide/extra.jpg"))
      let listed = try await stack.pullbox("sections", Self.issue)
      let rows = listed.output.split(separator: "\n").map {
        $0.split(separator: " ").prefix(2).joined(separator: " ")
      }
      #expect(
        listed.ending == .exited(0) && rows == ["SECTION HERE", "fr yes", "hires no"], "\(listed.output)")
      let fetch = try await stack.pullbox("fetch", Self.issue, "hires")
      #expect(fetch.ending == .exited(0) && !fetch.output.isEmpty, "\(fetch.errors)")
      try await eventually { try isHere("wide/extra.jpg") }
      try await eventually {
        try await stack.pullbox("fetch", Self.issue, "hires").errors.contains(
          "hires of \(Self.issue) is here")
      }
      #expect(try await stack.pullbox("drop", Self.issue, "hires").ending == .exited(0))
      #expect(try !isHere("wide/extra.jpg") && isHere("text-fr/extra.jpg"))
      let required = try await stack.pullbox("drop", Self.issue, "fr")
      #expect(required.ending == .exited(1) && !required.errors.isEmpty)
      #expect(try await stack.pullbox("fetch", Self.issue, "sound").ending == .exited(1))

      let second = try Self.pages(of: root)[1]
      let page = try await stack.pullbox("open", Self.issue, "2", "--print")
      #expect(page.ending == .exited(0) && page.output == second + "\n", "\(page.output)")
      let none = try await stack.pullbox("open", Self.issue, "99", "--print")
      #expect(none.ending == .exited(1) && none.errors.contains("the pages 1 to"), "\(none.errors)")

      let alone = try await stack.pullbox("rollback", Self.issue)
      #expect(alone.ending != .exited(0) && !alone.errors.isEmpty)
      let corrected = try await Material.folder(
        "corrected", product: Self.issue, length: 2_000_000, images: 4, seed: 2, in: stack.directory)
      try await stack.publishByCommand(corrected, as: Self.issue, version: "1.1")
      #expect(try await stack.pullbox("update", Self.issue, "--wait").ending == .exited(0))
      func path() async throws -> String { try await stack.pullbox("path", Self.issue).output }
      #expect(try await path().hasSuffix("/1.1\n"))
      #expect(try await stack.pullbox("rollback", Self.issue).ending == .exited(0))
      #expect(try await path() == root + "\n")
      #expect(try await stack.pullbox("rollback", Self.issue, "1.1").ending == .exited(0))
      #expect(try await path().hasSuffix("/1.1\n"))
    }
  }

  /// The pictures of a folder itself, by name.
  private static func pages(of folder: String) throws -> [String] {
    try FileSystem.list(folder).map { "\(folder)/\($0.name)" }
      .filter { $0.hasSuffix(".jpg") || $0.hasSuffix(".png") }.sorted()
  }

  @Test("open tells at once what a page of coming content waits for, and prints its path when it has come")
  func openComing() async throws {
    try await Stack.with { stack in
      let folder = try await Material.folder(
        "folder", product: Self.issue, length: 4 * pieceLength, images: 8, in: stack.directory)
      try await stack.publishByCommand(folder, as: Self.issue)
      stack.serverProxy.hold(at: 100)
      _ = try await stack.agent.buy(Self.issue)
      await stack.serverProxy.waitUntilHeld()
      stack.serverProxy.setReachable(false)
      _ = try await stack.agent.download(of: Self.issue) { $0.state == .waiting }
      let opening = try stack.startPullbox("open", Self.issue, "8", "--print")
      func printed() throws -> String { try Executables.text(stack.directory.path("pullbox.log")) }
      try await eventually { try printed().contains("'pullbox resume --now") }
      // Opened twice, as by a double click, each has the page.
      async let twice = stack.pullbox("open", Self.issue, "8", "--print")
      stack.serverProxy.setReachable(true)
      stack.serverProxy.release()
      let second = try await twice
      #expect(second.ending == .exited(0), "\(second.errors)")
      let (ending, text) = (await opening.ending(), try printed())
      let name = try #require(try Self.pages(of: folder).last?.split(separator: "/").last)
      #expect(
        ending == .exited(0) && text.contains("\(Self.issue) ") && text.hasSuffix("/\(name)\n"), "\(text)")
    }
  }

  @Test("open that is ended while its page comes leaves no part of it behind")
  func interruptedOpen() async throws {
    try await Stack.with { stack in
      let folder = try await Material.folder(
        "folder", product: Self.issue, length: 4 * pieceLength, images: 8, in: stack.directory)
      try await stack.publishByCommand(folder, as: Self.issue)
      stack.serverProxy.hold(at: 100)
      _ = try await stack.agent.buy(Self.issue)
      await stack.serverProxy.waitUntilHeld()
      stack.serverProxy.setReachable(false)
      _ = try await stack.agent.download(of: Self.issue) { $0.state == .waiting }
      let opening = try stack.startPullbox("open", Self.issue, "8", "--print")
      let coming = stack.directory.path(".local/state/pullbox/coming")
      func parts() throws -> [String] {
        guard try FileSystem.status(of: coming) != nil else { return [] }
        return try FileSystem.list(coming).map(\.name).filter { $0.hasPrefix(".part-") }
      }
      try await eventually { try !parts().isEmpty }
      #expect(await opening.terminateAndWait() == .exited(143))
      #expect(try parts() == [])
    }
  }

  @Test(
    "library --verify tells whole from damaged by its exit code, repair fetches the damage, downloads --clear forgets"
  )
  func library() async throws {
    // What a feed tells is not fetched: it might be what was damaged, before it is repaired here.
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      try await stack.start(.agent, environment: ["PULLBOX_ARRIVALS": "none"])
      for (seed, product) in [Self.issue, Self.other].enumerated() {
        let file = try await Material.file(
          "\(product).cbz", length: 3_000_000, seed: seed, in: stack.directory)
        try await stack.publish(file, as: product)
        _ = try await stack.agent.buy(product)
        _ = try await stack.agent.finishedTransaction(of: product)
      }
      let download = try await stack.agent.finishedDownload(of: Self.issue)
      let path = try #require(download.contentPath)

      let whole = try await stack.pullbox("library", "--verify")
      #expect(whole.ending == .exited(0))
      #expect(whole.output.split(separator: "\n").count == 2, "\(whole.output)")
      #expect(whole.output.contains("\(Self.issue) 1.0  present\n"))

      try damage(path)
      for arguments in [["library", "--verify"], ["library", "--verify", Self.issue]] {
        let damaged = try await stack.pullbox(arguments)
        #expect(damaged.ending == .exited(6))
        #expect(damaged.output.contains("\(Self.issue) 1.0  damaged\n  "), "\(damaged.output)")
        #expect(damaged.errors.contains("'pullbox repair \(Self.issue)'"), "\(damaged.errors)")
      }
      #expect(try await stack.pullbox("library", "--verify", Self.other).ending == .exited(0))
      #expect(try await stack.pullbox("library", "--verify", "com.example.unknown").ending == .exited(1))

      let before = fetched(stack)
      let repair = try await stack.pullbox("repair", Self.issue)
      let known = try await stack.agent.downloads()
      try #require(
        repair.ending == .exited(0) && repair.output.contains("Test package 1.0"),
        "\(repair.output)\(repair.errors)\(known)")
      try await eventually {
        let downloads = try await stack.agent.downloads()
        return downloads.count == 3 && downloads.allSatisfy { $0.state == .finished }
      }
      #expect(try await stack.pullbox("library", "--verify").ending == .exited(0))
      // The proxy notes what it has sent, which may be after the agent has it.
      try await eventually { fetched(stack) > before }
      #expect((1...pieceLength).contains(fetched(stack) - before))

      let again = try await stack.pullbox("repair", Self.issue)
      #expect(again.ending == .exited(0) && again.output.isEmpty)
      #expect(again.errors.contains("nothing of \(Self.issue) is missing or damaged"))
      #expect(try await stack.pullbox("repair", "com.example.unknown").ending == .exited(1))

      let cleared = try await stack.pullbox("downloads", "--clear")
      #expect(cleared.ending == .exited(0) && cleared.output == "3 forgotten\n", "\(cleared.output)")
      #expect(try await stack.agent.downloads().isEmpty)
      #expect(try await stack.agent.transactions().isEmpty)
      #expect(try await stack.pullbox("downloads", "--clear").output == "0 forgotten\n")
      #expect(try await stack.pullbox("path", Self.issue).output.contains("/\(Self.issue)/1.0"))
    }
  }

  @Test(
    "two requests for a purchase with one Idempotency-Key are one purchase at the store, also after a restart"
  )
  func idempotencyKey() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("hint.cbz", length: 2000, in: stack.directory)
      var description = ProductDescription()
      // A product that can be bought again and again.
      description.type = .consumable
      try await stack.describe(Self.issue, description)
      try await stack.release(file, as: Self.issue)
      func buy(_ key: String) async throws -> AgentTransaction {
        let answer = try await stack.agent.web.send(
          "POST", "/v1/purchases",
          headers: [("Content-Type", "application/json"), ("Idempotency-Key", key)],
          body: Array(#"{"product":"\#(Self.issue)"}"#.utf8))
        #expect(answer.status == 201, "\(answer.text)")
        return try answer.decoded()
      }
      let first = try await buy("first")
      #expect(try await buy("first").id == first.id)
      try await stack.restart(.agent)
      #expect(try await buy("first").id == first.id)
      let second = try await buy("second")
      #expect(second.id != first.id)
      try await eventually { try await stack.unfinishedTransactions().isEmpty }
      let sold = try await stack.store().get("/store/v1/transactions").decoded(TransactionsResponse.self)
      #expect(Set(sold.transactions.map(\.id)) == [first.id, second.id] && sold.transactions.count == 2)
    }
  }
}
