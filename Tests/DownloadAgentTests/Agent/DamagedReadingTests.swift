import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import DownloadAgent

/// Content that is read over the socket while everything happens to it that may.
@Suite(.serialized, .timeLimit(.minutes(10))) struct DamagedReadingTests {
  private static let required = ["001.jpg", "002.jpg"]
  private static let others = (1...3).map { "com.example.p\($0)" }

  /// A course of readers beside a course of accidents.
  private struct Course: Sendable {
    let harness: AgentHarness
    let package: FixturePackage
    let server: FakeServer
    let generator: Locked<SplitMix>
    /// How often an answer had bytes, and how often it had none.
    let whole = Locked(0)
    let refused = Locked(0)

    var product: String { "/v1/library/\(package.manifest.product)" }
    /// Where the content is at its place.
    var root: String { "\(harness.library)/\(package.manifest.product)/\(package.manifest.version)" }
    var paths: [String] { package.files.keys.sorted() }

    func draw<Value: Sendable>(_ body: (inout SplitMix) -> Value) -> Value {
      generator.withLock { body(&$0) }
    }

    /// Reads a file, or a part of one, and compares what is sent. Answers that have none of its bytes say why by their status.
    func read() async throws {
      let (path, start, count, wait) = draw { generator in
        let path = paths.randomElement(using: &generator) ?? ""
        let length = package.files[path]?.count ?? 1
        let start = Int.random(in: 0..<length, using: &generator)
        return (
          path, start, Int.random(in: 1...(length - start), using: &generator),
          Int.random(in: 0...1, using: &generator)
        )
      }
      let isWhole = draw { Int.random(in: 0..<4, using: &$0) == 0 }
      let fields = isWhole ? [] : [("Range", "bytes=\(start)-\(start + count - 1)")]
      let answer: ClientResponse
      do {
        answer = try await harness.ask("GET", "\(product)/files/\(path)?wait=\(wait)", headers: fields)
      } catch is HTTPClientError {
        // An answer that has begun ends short where its bytes go.
        refused.withLock { $0 += 1 }
        return
      }
      guard answer.status == 200 || answer.status == 206 else {
        #expect(answer.status == 202 || answer.status >= 400)
        refused.withLock { $0 += 1 }
        return
      }
      let first = answer.status == 206 ? start : 0
      let expected = package.files[path]?[first..<(first + answer.body.count)] ?? []
      #expect(
        answer.body.hasSameBytes(as: Array(expected)), "\(path) from \(first): other bytes than published")
      whole.withLock { $0 += 1 }
    }

    /// A path of the content where something may lie: in the library, and for what is to be lost also among what is staged, which is the
    /// agent's alone to write. Nil where nothing is staged.
    private func place(isLost: Bool) throws -> String? {
      let path = draw { paths.randomElement(using: &$0) ?? "" }
      guard isLost, draw({ Bool.random(using: &$0) }) else { return "\(root)/\(path)" }
      let staging = "\(harness.library)/.staging"
      let job = try FileSystem.list(staging).first { $0.kind == .directory }
      return job.map { "\(staging)/\($0.name)/tree/\(path)" }
    }

    /// Puts another file in the place of one of the content, as a medium and other programs do; or takes it away.
    func harm(isLost: Bool) throws {
      do throws(SystemError) {
        guard let place = try? place(isLost: isLost), try FileSystem.status(of: place) != nil else { return }
        if isLost {
          _ = try FileSystem.removeFile(place)
          return
        }
        var bytes = try FileSystem.read(place, upTo: .mebibytes(4))
        guard !bytes.isEmpty else { return }
        bytes[draw { Int.random(in: 0..<bytes.count, using: &$0) }] ^= 0x20
        let other = harness.directory.path("other")
        try DurableFile.write(bytes.span, to: other)
        try FileSystem.rename(other, to: place)
      } catch {
        // The agent has moved or removed it meanwhile.
        guard error.isFileMissing else { throw error }
      }
    }

    /// One of the things that happen to content.
    func act(_ number: Int) async throws {
      switch draw({ Int.random(in: 0..<9, using: &$0) }) {
      case 0, 1:
        // What is replaced while it is being placed counts as written by the agent.
        let downloads = try await harness.downloads()
        if downloads.allSatisfy(\.state.isFinal) { try harm(isLost: false) }
      case 2: try harm(isLost: true)
      case 3: _ = try await harness.ask("POST", "\(product)/repair")
      case 4: _ = try await harness.ask("POST", "\(product)/verify")
      case 5: _ = try await harness.ask("PUT", "\(product)/sections/hires", "{}")
      case 6: _ = try await harness.ask("DELETE", "\(product)/sections/hires")
      case 7: _ = try await harness.ask("DELETE", product)
      default: try await restore(package.manifest.product.description)
      }
      // Others come, and push out what was not opened for longest.
      if number % 10 == 5 {
        let other = DamagedReadingTests.others[number / 10 % DamagedReadingTests.others.count]
        _ = try await harness.ask("DELETE", "/v1/library/\(other)")
        try await restore(other)
      }
    }

    func restore(_ name: String) async throws {
      let answer = try await harness.ask("POST", "/v1/restore", "{\"products\":[\"\(name)\"]}")
      #expect(answer.status == 202, "\(name): \(String(decoding: answer.body, as: UTF8.self))")
    }
  }

  private static func faults(_ generator: inout SplitMix, length: Int) -> [FakeServer.ContentFault] {
    (0..<60).map { _ in
      let byte = Int.random(in: 0..<length, using: &generator)
      return switch Int.random(in: 0..<4, using: &generator) {
      case 0: .faultless
      case 1: .cut(after: byte / 2)
      case 2: .flip(at: byte)
      default: .damagedCut(after: byte / 2, flip: byte)
      }
    }
  }

  @Test(
    "whatever is damaged, lost, repaired and evicted meanwhile, a reader gets the manifest's bytes or a reason",
    arguments: [UInt64(1), 2, 3])
  func accidents(seed: UInt64) async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections(pageLength: 700_000)
    let others = try Self.others.enumerated().map {
      try FixturePackage.file(length: 3 << 20, product: $1, seed: UInt64($0) + 5)
    }
    let server = FakeServer([package] + others)
    var generator = SplitMix(seed: seed)
    let faults = Self.faults(&generator, length: package.bytes.count)
    server.change { $0.contentFaults = faults }
    let course = Course(
      harness: harness, package: package, server: server, generator: Locked(generator))
    // For the content twice, as a repair needs it, or once with two of the others.
    let quota = ConfigurationSize(.mebibytes(12))
    try await server.open { url in
      try await harness.run(server: url, configure: { $0.quota = quota }) { agent in
        try server.queuePurchase()
        for (number, other) in Self.others.enumerated() {
          try server.queuePurchase(other, transaction: "200000000000001\(number)")
        }
        let isOver = Locked(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<3 {
            group.addTask { while !isOver.current { try await course.read() } }
          }
          group.addTask {
            defer { isOver.withLock { $0 = true } }
            for number in 0..<60 {
              try await course.act(number)
              try await course.read()
            }
          }
          try await group.waitForAll()
        }
        server.change { $0.contentFaults = [] }
        // Nothing of it was lost for good, once the others are gone.
        for download in try await harness.downloads()
        where !download.state.isFinal && download.product != package.manifest.product {
          let cancelled = try await harness.ask("POST", "/v1/downloads/\(download.id)/cancel")
          guard cancelled.status == 409 else { continue }
          _ = try await agent.firstDownload { $0.id == download.id && $0.state.isFinal }
        }
        for other in Self.others { _ = try await harness.ask("DELETE", "/v1/library/\(other)") }
        let repaired = try await harness.ask("POST", "\(course.product)/repair")
        if repaired.status == 404 { try await course.restore(package.manifest.product.description) }
        let downloads = try await harness.downloads()
        for download in downloads where download.product == package.manifest.product {
          guard !download.state.isFinal else { continue }
          _ = try await agent.firstDownload { $0.id == download.id && $0.state.isFinal }
        }
      }
    }
    #expect(try harness.placed(package, Self.required))
    let (whole, refused) = (course.whole.current, course.refused.current)
    #expect(whole >= 20 && refused >= 1, "\(whole) with bytes, \(refused) without")
  }
}
