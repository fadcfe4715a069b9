import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import ServiceAPI
import Testing

@testable import DeliveryRecords

/// Ten thousand products must be no slower than a hundred: every statement finds its rows by an index.
@Suite("How the database finds what operators and readers ask for")
struct QueryPlanTests {
  private let file: StateFile
  private let database: Database
  private let product: ProductIdentifier
  private let version: ContentVersion
  private let device: DeviceIdentifier

  init() throws {
    file = try StateFile()
    database = try file.open()
    product = try #require(ProductIdentifier("com.example.a"))
    version = try #require(ContentVersion("1.0"))
    device = try #require(DeviceIdentifier("device-1"))
  }

  /// Runs `body` and answers the statements of it that read a whole table, or sort what they found.
  private func scans(
    _ body: @escaping @Sendable (borrowing Connection) throws -> Void
  ) async throws -> [String] {
    try await database.read { connection in
      let before = Set(try connection.recentPlans().map(\.sql))
      try body(connection)
      return try connection.recentPlans().filter { plan in
        // The subquery named newest has a limit of its own, and a device has few grants: few rows are sorted.
        let isLimited =
          plan.steps.contains("SCAN newest") || plan.sql.contains("INDEXED BY grants_by_device")
        return !before.contains(plan.sql)
          && plan.steps.contains {
            $0.hasPrefix("SCAN") && $0 != "SCAN CONSTANT ROW" && $0 != "SCAN newest"
              || $0.contains("TEMP B-TREE") && !isLimited
          }
      }.map { "\($0.sql): \($0.steps)" }
    }
  }

  @Test(
    "a statement that reads a whole table is told from one that does not",
    .enabled(if: !TestDatabase.isOnServer)) func detection()
    async throws
  {
    let found = try await scans { connection in
      _ = try connection.query("SELECT id FROM grants WHERE length = ?", [1])
      _ = try connection.query("SELECT id FROM grants WHERE id = ?", ["a"])
      _ = try connection.query("SELECT id FROM grants WHERE device = ? ORDER BY created", ["a"])
    }
    #expect(found.count == 2)
  }

  @Test("versions") func versions() async throws {
    let (product, version, device) = (product, version, device)
    let found = try await scans { connection in
      _ = try VersionTable.find(product, version, in: connection)
      _ = try VersionTable.page(of: product, after: version, limit: 2, in: connection)
      _ = try VersionTable.released(of: product, in: connection)
      _ = try VersionTable.releasedToAll(of: product, in: connection)
      _ = try VersionTable.releasedToPart(of: product, in: connection)
      _ = try VersionTable.offered(product, to: device, in: connection)
      _ = try VersionTable.available(product, version, to: device, in: connection)
      _ = try VersionTable.isWithdrawn(product, nil, in: connection)
      _ = try VersionTable.manifest(of: .of([1]), in: connection)
      _ = try VersionTable.isStopped(.of([1]), in: connection)
      _ = try VersionTable.count(of: product, in: connection)
      _ = try VersionTable.due(at: Timestamp(millisecondsSinceEpoch: 0), limit: 2, in: connection)
    }
    #expect(found == [])
  }

  @Test("products") func products() async throws {
    let product = product
    let found = try await scans { connection in
      _ = try ProductTable.find(product, in: connection)
      _ = try ProductTable.page(after: "", matching: ProductTable.Filter(), limit: 2, in: connection)
      _ = try ProductTable.page(
        after: "", matching: ProductTable.Filter(publication: product), limit: 2, in: connection)
      _ = try ProductTable.page(
        after: "", matching: ProductTable.Filter(type: .consumable), limit: 2, in: connection)
      _ = try ProductTable.page(
        after: "", matching: ProductTable.Filter(state: .submitted), limit: 2, in: connection)
    }
    #expect(found == [])
  }

  @Test(
    "products by their latest change are found by indexes alone, also those with a version in a state",
    .enabled(if: !TestDatabase.isOnServer))
  func changedProducts() async throws {
    func plan(of state: VersionState?) async throws -> [String] {
      try await database.read { connection in
        let before = Set(try connection.recentPlans().map(\.sql))
        _ = try ProductTable.page(
          changedBefore: nil, matching: ProductTable.Filter(state: state), limit: 2, in: connection)
        return try connection.recentPlans().filter { !before.contains($0.sql) }.flatMap(\.steps)
      }
    }
    for state in [nil, VersionState.submitted] {
      let steps = try await plan(of: state)
      #expect(
        steps.contains {
          $0.hasPrefix("SEARCH products USING COVERING INDEX products_by_revision")
        }, "\(steps)")
      #expect(!steps.contains { $0.hasPrefix("SCAN") }, "\(steps)")
      // Each product is asked about by itself: no list is made of all that have such a version.
      let asked = steps.filter { $0.contains("versions") }
      #expect(
        asked.count == (state == nil ? 0 : 1) && asked.allSatisfy { $0.contains("product=?") }, "\(steps)")
    }
  }

  @Test("deliveries") func deliveries() async throws {
    let (product, version, device) = (product, version, device)
    let grant = GrantShortName(7)
    let found = try await scans { connection in
      _ = try GrantTable.page(before: 7, matching: GrantFilter(product: product), limit: 2, in: connection)
      _ = try GrantTable.page(before: 7, matching: GrantFilter(device: device), limit: 2, in: connection)
      _ = try GrantTable.page(
        before: 7, matching: GrantFilter(product: product, version: version), limit: 2, in: connection)
      _ = try GrantTable.page(before: 7, matching: GrantFilter(state: .granted), limit: 2, in: connection)
      _ = try IrregularityTable.page(before: .max, kind: nil, limit: 2, in: connection)
      _ = try IrregularityTable.page(before: .max, kind: .manyDevices, limit: 2, in: connection)
      _ = try GrantTable.holders(of: product, after: "", limit: 2, in: connection)
      _ = try GrantTable.all(named: grant, in: connection)
      _ = try GrantTable.find(DeliveryHandle(high: 7, low: 7), in: connection)
    }
    #expect(found == [])
  }

  @Test("uploads and answers to repeated requests") func uploadsAndAnswers() async throws {
    let key = IdempotencyKey(actor: "ada", text: "a")
    let now = Timestamp(millisecondsSinceEpoch: 0)
    let found = try await scans { connection in
      _ = try UploadTable.page(after: nil, limit: 2, in: connection)
      _ = try IdempotentAnswerTable.find(key, since: now, in: connection)
      _ = try IdempotentAnswerTable.count(of: "ada", since: now, limit: 10, in: connection)
    }
    #expect(found == [])
  }

  @Test("debts") func debts() async throws {
    let (product, device) = (product, device)
    let debt = ObligationTable.Debt(
      transaction: TransactionKey(
        store: .sandbox, environment: .sandbox, id: try #require(TransactionIdentifier("2000000001"))),
      device: device)
    let found = try await scans { connection in
      _ = try ObligationTable.remaining(of: debt, in: connection)
      _ = try ObligationTable.debts(owing: product, limit: 2, in: connection)
      _ = try ObligationTable.completed(after: nil, limit: 2, in: connection)
    }
    #expect(found == [])
  }

  @Test("calls to stores") func outbox() async throws {
    let place = OutboxTable.Place(nextAttempt: OutboxEntry.atOnce, id: 1)
    let lease = OutboxLease(
      holder: "a", now: OutboxEntry.atOnce, until: OutboxEntry.atOnce + .seconds(120), stores: [.sandbox])
    try await database.write(locking: [.everything]) {
      _ = try OutboxTable.add(.finish, of: TransactionKey.numbered(1), at: OutboxEntry.atOnce, in: $0)
    }
    let found = try await scans { connection in
      _ = try OutboxTable.due(to: .sandbox, for: lease, limit: 2, in: connection)
      _ = try OutboxTable.waiting(for: .sandbox, after: place, for: lease, limit: 2, in: connection)
      _ = try OutboxTable.nextLeaseEnd(of: .sandbox, for: lease, in: connection)
      _ = try OutboxTable.nextAttempt(to: .sandbox, after: OutboxEntry.atOnce, in: connection)
      _ = try OutboxTable.hasHeld(to: .sandbox, at: OutboxEntry.atOnce, in: connection)
      let call = OutboxCall(
        id: 1, store: "sandbox", kind: "acknowledge", transaction: "t1", state: .waiting, attempts: 0,
        refusals: 0, created: OutboxEntry.atOnce)
      _ = try OutboxTable.withHolders(call, at: OutboxEntry.atOnce, in: connection)
      for state in OutboxCall.State.allCases.map(Optional.some) + [nil] {
        for store in ["sandbox", nil] {
          for kind in ["finish", nil] {
            _ = try OutboxTable.page(
              before: .max, matching: .init(state: state, store: store, kind: kind), limit: 2, in: connection)
          }
        }
      }
      for state in OutboxCall.State.allCases { _ = try OutboxTable.oldest(state, in: connection) }
    }
    #expect(found == [])
  }

  @Test("the audit log") func audit() async throws {
    let (product, version) = (product, version)
    let found = try await scans { connection in
      let noon = Timestamp(millisecondsSinceEpoch: 0)
      for times in [TimeRange(), TimeRange(since: noon), TimeRange(until: noon)] {
        for actor in ["ada", nil] {
          for action in ["a", nil] {
            for product in [product, nil] {
              let filter = AuditTable.Filter(product: product, actor: actor, action: action, times: times)
              _ = try AuditTable.page(matching: filter, limit: 2, in: connection)
            }
          }
        }
      }
      let ofVersion = AuditTable.Filter(product: product, version: version)
      _ = try AuditTable.page(matching: ofVersion, limit: 2, in: connection)
      _ = try AuditTable.place(of: 1, in: connection)
      _ = try AuditTable.history(of: "com.example.a 1.0", limit: 2, in: connection)
    }
    #expect(found == [])
  }
}
