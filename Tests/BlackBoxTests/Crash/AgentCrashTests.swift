import CoreTypes
import Crypto
import Files
import Foundation
import Glibc
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

/// One delivery after another, each by a new device, with a fault at the first file call of the agent, at the second, and so
/// on, until a delivery needs fewer: the agent is killed before the call, or the call fails. The agent, started again where
/// it died, comes to the right files, fetches no piece of a single file that lay right on the disk when it was killed, and
/// leaves nothing beside them.
///
/// A thorough run (`ExhaustiveShare`) counts the calls that read a file as well, and tries each call with every fault; others try
/// each of their calls with one fault.
@Suite("A fault at every file call of a delivery", .serialized, .timeLimit(.minutes(60)))
struct AgentCrashTests {
  /// The kind of the delivered package.
  enum Content: String, CaseIterable, Sendable {
    case file
    case stored
    case deflated
  }

  private struct Violation: Error, CustomStringConvertible {
    var description: String
  }

  private static let fileName = "issue.cbz"
  private static let share = ExhaustiveShare.environment
  /// nil is SIGKILL.
  private static let faults: [Int32?] = [nil, ENOSPC, EIO, EROFS, EDQUOT, EPERM]

  @Test(
    "the right files, nothing beside them, whatever call fails or is the last (K1, D7, D8)",
    arguments: Content.allCases)
  func sweep(content: Content) async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let product = "com.example.\(content)"
      let expected = try await Self.publish(content, as: product, in: stack)
      let killPoint = try await KillPoint(in: stack.directory)
      let calls = try await Self.share.sweep { call in
        for fault in Self.share.variants(Self.faults, at: call) {
          do {
            let found = try await Self.deliver(
              product, step: call + 1, fault: fault, expected, stack, killPoint)
            if let found { return found }
          } catch {
            let what = fault.map { "errno \($0)" } ?? "killed"
            let log = try await stack.logged(by: .agent).suffix(3000)
            throw Violation(description: "\(content), call \(call + 1), \(what): \(error)\n\(log)")
          }
        }
        return nil
      }
      #expect(calls > 32, "\(content) needs \(calls) calls")
    }
  }

  /// Puts the content on sale; answers the digests of the files as they must be placed.
  private static func publish(
    _ content: Content, as product: String, in stack: Stack
  ) async throws -> [String: SHA256Digest] {
    let length: Int64 = 2_600_000
    switch content {
    case .file:
      let file = try await Material.file(fileName, length: length, in: stack.directory)
      try await stack.publish(file, as: product)
      return try Material.digests(of: file)
    case .stored:
      let folder = try await Material.folder(
        "stored", product: product, length: length, images: 7, in: stack.directory)
      try await stack.publishByCommand(folder, as: product)
      var expected = try Material.digests(of: folder)
      expected["product.json5"] = nil
      return expected
    case .deflated:
      let folder = stack.directory.path("deflated")
      try FileSystem.createDirectories(folder + "/text")
      var generator = SplitMix(seed: 7)
      for (name, count) in [("notes", 5000), ("story", 3_400_000)] {
        // Six bits of eight: what a compressor makes of it is a quarter shorter.
        let bytes = (0..<count).map { _ in 0x20 + UInt8(truncatingIfNeeded: generator.next() & 0x3F) }
        try DurableFile.write(bytes.span, to: "\(folder)/text/\(name).txt")
      }
      try DurableFile.write([UInt8]().span, to: folder + "/empty.txt")
      try await stack.publishByCommand(folder, as: product)
      return try Material.digests(of: folder)
    }
  }

  /// One delivery to a new device. Nil when it came to that call, else the number of calls that it needed.
  private static func deliver(
    _ product: String, step: Int, fault: Int32?, _ expected: [String: SHA256Digest], _ stack: Stack,
    _ killPoint: KillPoint
  ) async throws -> Int? {
    let state = "agent-\(step)-\(fault ?? 0)"
    try await stack.start(
      .agent,
      environment: killPoint.environment(step: step, share.isThorough ? .calls : .changes, error: fault),
      state: state)
    try killPoint.arm()
    var needed: Int?
    do {
      let answer = try await stack.agent.buy(product)
      // A purchase whose answer was a failure is in the store's queue, or is made again.
      if !(200..<300).contains(answer.status) { _ = try await stack.agent.buy(product) }
      _ = try await stack.agent.finishedTransaction(of: product)
      let calls = try killPoint.disarm().count
      if calls < step { needed = calls }
    } catch {
      guard case .killed(signal: 9) = try await stack.ending(of: .agent) else { throw error }
      _ = try killPoint.disarm()
    }
    await stack.kill(.agent)
    let held = try fault == nil ? heldPieces(below: stack.directory.path(state), stack) : []
    let before = try await stack.serverProxy.forwardedInTheEnd()
    try await stack.start(.agent, state: state)
    if try await stack.agent.transactions().isEmpty, try await stack.unfinishedTransactions().isEmpty {
      _ = try await stack.agent.buy(product)
    }
    _ = try await stack.agent.finishedTransaction(of: product)
    let download = try await stack.agent.finishedDownload(of: product)
    await stack.kill(.agent)
    _ = try await stack.serverProxy.forwardedInTheEnd()
    let added = stack.serverProxy.forwarded(since: before)
    let again = held.filter { piece in added.contains { $0.overlaps(piece) } }
    guard again.isEmpty else { throw Violation(description: "fetched again: \(again)") }
    guard download.state == .finished, let path = download.contentPath else {
      throw Violation(description: "the download ended \(download.state), \(download.reason)")
    }
    let placed = try Material.digests(of: path)
    let isRight = expected.count == 1 ? Set(placed.values) == Set(expected.values) : placed == expected
    guard isRight else { throw Violation(description: "other files are placed: \(placed.keys.sorted())") }
    let left = try AgentLeftovers.names(below: stack.directory.path(state))
    guard left.isEmpty else { throw Violation(description: "left: \(left)") }
    try FileSystem.removeRecursively(stack.directory.path(state))
    return needed
  }

  /// The pieces of the single file that lie, right as they are, in a file below the agent's directory.
  private static func heldPieces(below state: String, _ stack: Stack) throws -> [Range<Int64>] {
    let source = stack.directory.path(fileName)
    guard let length = try FileSystem.status(of: source)?.length else { return [] }
    let bytes = try FileSystem.read(source, upTo: .mebibytes(16))
    let candidates = try Material.files(below: state).filter {
      try FileSystem.status(of: $0)?.length == length
    }
    .map { try FileSystem.read($0, upTo: .mebibytes(16)) }
    return stride(from: 0, to: bytes.count, by: Int(pieceLength)).compactMap { begin in
      let piece = begin..<min(begin + Int(pieceLength), bytes.count)
      let isHeld = candidates.contains { $0[piece].elementsEqual(bytes[piece]) }
      return isHeld ? Int64(piece.lowerBound)..<Int64(piece.upperBound) : nil
    }
  }
}
