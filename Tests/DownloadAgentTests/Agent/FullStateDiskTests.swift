import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Database
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary
@testable import DownloadAgent

/// The whole agent where nothing can be written to its records.
@Suite("A full state disk", .serialized, .timeLimit(.minutes(10))) struct FullStateDiskTests {
  private static let transaction = "2000000000000001"

  /// A job that no download waits for any more.
  private func staleJob(_ package: FixturePackage, _ digest: SHA256Digest) throws -> ContentJobRecord {
    var terms = package.terms
    terms.digest = digest
    return ContentJobRecord(
      identifier: .random(),
      grant: try #require(GrantIdentifier("0123456789abcdef0123456789abcdef")), terms: terms)
  }

  @Test("an agent starts, and shows its library, though none of what a start writes can be written")
  func starts() async throws {
    let harness = try AgentHarness()
    let packages = try (1...2).map {
      try FixturePackage.file(length: 1 << 20, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    try await server.open { url in
      try server.queuePurchase("com.example", transaction: Self.transaction)
      try await harness.run(server: url) { agent in try await agent.finished([Self.transaction]) }
      // A start has to note that this one is gone, to forget the transaction, and to remove both jobs.
      try FileSystem.removeRecursively("\(harness.library)/com.example.p2/1.0")
      let records = try AgentDatabase(path: harness.directory.path("state/agent.sqlite"))
      let jobs = [try staleJob(packages[0], .of([1])), try staleJob(packages[0], .of([2]))]
      for job in jobs { try records.save(job) }
      try records.database.writeBlocking(locking: [.everything]) { connection in
        try connection.execute("UPDATE transactions SET ended_at = 1")
        try connection.execute(
          "UPDATE content_jobs SET state = 'none' WHERE id = ?", [.text(jobs[1].identifier.description)])
        for table in ["content_jobs", "transactions", "downloads", "library", "library_volume"] {
          for change in ["INSERT", "UPDATE", "DELETE"] {
            try connection.execute(
              """
              CREATE TRIGGER \(table)_\(change) BEFORE \(change) ON \(table)
              BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END
              """)
          }
        }
      }
      records.close()
      try await harness.run(server: url) { _ in
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.state) == [.present, .damaged])
        let status = try await harness.get("/v1/status", as: AgentStatus.self)
        #expect(status.libraryState == .damaged)
      }
    }
  }

  @Test(
    "an agent starts on a state disk that is full or nearly so", .enabled(if: SmallDisk.isAvailable),
    arguments: [0, 8, 16, 32, 64, 96, 128, 256])
  func startsOnFullDisk(kibibytes: Int) async throws {
    let disk = try SmallDisk(.mebibytes(24))
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 1 << 20)
    let server = FakeServer([package])
    let library = harness.directory.path("library")
    let configure: @Sendable (inout AgentConfiguration) -> Void = {
      $0.state = disk.path("state")
      $0.library = library
    }
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url, configure: configure) { agent in
        try await agent.finished([Self.transaction])
      }
      try disk.fill()
      do {
        let ballast = try FileDescriptor.open(disk.path("ballast"), .writeOnly)
        try ballast.truncate(to: try ballast.status().length - .kibibytes(Int64(kibibytes)))
      }
      try await harness.run(server: url, configure: configure) { _ in
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.state) == [.present])
      }
    }
  }

  @Test("what leaves the store's queue while nothing can be saved is finished elsewhere once it can be")
  func disappearance() async throws {
    let harness = try AgentHarness()
    let server = FakeServer()
    let lines = LogLines()
    try await server.open { url in
      try server.queuePurchase(transaction: Self.transaction)
      server.change { $0.transactions[0].state = .purchasing }
      try await harness.run(server: url, log: lines.log()) { agent in
        _ = try await agent.transaction("observed", "awaiting-payment")
        let database = await agent.transactions.database.database
        for change in ["INSERT", "UPDATE"] {
          try await database.write(locking: [.everything]) {
            try $0.execute(
              """
              CREATE TRIGGER full_\(change) BEFORE \(change) ON transactions
              BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END
              """)
          }
        }
        server.change { $0.transactions = [] }
        _ = await lines.first(with: "a transaction's state cannot be saved")
        for change in ["INSERT", "UPDATE"] {
          try await database.write(locking: [.everything]) { try $0.execute("DROP TRIGGER full_\(change)") }
        }
        try await agent.finished([Self.transaction])
        #expect(try await agent.transactions.statuses(.over).map(\.reason) == ["finished-elsewhere"])
      }
    }
  }
}
