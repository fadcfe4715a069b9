import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryRecords

/// The statement about one transaction, by the way that it came.
private enum Word: Sendable {
  case receipt(VerifiedTransaction)
  case notification(VerifiedTransaction)
  case revokedByOperator

  var asOf: Timestamp {
    switch self {
    case .receipt(let said), .notification(let said): said.asOf
    case .revokedByOperator: Timestamp(millisecondsSinceEpoch: .max)
    }
  }
}

/// A database in which each word is taken in as the server does.
private struct Recipient: Sendable {
  /// How a transaction stands once all of it was said.
  struct Outcome: Equatable, Sendable {
    var revokedDate: Timestamp?
    var asOf: Timestamp?
    var account: ApplicationAccount?
    var isRevoked: Bool
  }

  let grants: GrantStore

  static func purchase(
    _ id: String, account: ApplicationAccount?, revoked: Timestamp?, asOf: Timestamp
  ) throws -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: .apple, in: .production, id: try #require(TransactionIdentifier(id)),
      originalID: try #require(TransactionIdentifier(id)),
      product: try #require(ProductIdentifier("com.example.a")),
      purchaseDate: Timestamp(millisecondsSinceEpoch: 0), revokedDate: revoked, account: account, asOf: asOf)
  }

  /// How far apart two statements are.
  private static let distances: [Duration] = [.milliseconds(1), .seconds(2), .seconds(600), .seconds(7200)]

  /// A few statements, some within a second, and some hours apart.
  static func words(about id: String, _ random: inout SplitMix) throws -> [Word] {
    var words: [Word] = []
    var asOf = Timestamp(millisecondsSinceEpoch: 7_200_000)
    for _ in 1...Int.random(in: 2...6, using: &random) {
      asOf = asOf + (distances.randomElement(using: &random) ?? .zero)
      let revoked = Bool.random(using: &random) ? asOf - .milliseconds(1) : nil
      let account = Bool.random(using: &random) ? ApplicationAccount("reader-\(id)") : nil
      let said = try purchase(id, account: account, revoked: revoked, asOf: asOf)
      words.append(Bool.random(using: &random) ? .receipt(said) : .notification(said))
    }
    // A receipt from before a refund is shown again and again.
    if let old = words.first { words += [old, old] }
    if Int.random(in: 0..<4, using: &random) == 0 { words.append(.revokedByOperator) }
    return words
  }

  /// The same of another transaction.
  static func renamed(_ word: Word, _ id: String) throws -> Word {
    func renamed(_ said: VerifiedTransaction) throws -> VerifiedTransaction {
      try purchase(id, account: said.account, revoked: said.revokedDate, asOf: said.asOf)
    }
    return switch word {
    case .receipt(let said): .receipt(try renamed(said))
    case .notification(let said): .notification(try renamed(said))
    case .revokedByOperator: .revokedByOperator
    }
  }

  /// Takes the words in that order, one behind the other; answers the grant that they are about.
  func receive(_ words: [Word], about id: String) async throws -> GrantIdentifier {
    let key = try Self.key(id)
    let record = GrantRecord(
      id: try #require(GrantIdentifier(RandomBytes.make(16))),
      handle: .make(at: Timestamp(millisecondsSinceEpoch: 0)), store: .apple,
      environment: .production, transaction: key.id,
      product: try #require(ProductIdentifier("com.example.a")),
      version: try #require(ContentVersion("1.0")), device: try #require(DeviceIdentifier("d")),
      publicKey: nil, renewalDigest: nil, digest: .of([1]), length: ByteCount(1), manifestDigest: .of([2]),
      machine: GrantMachine(), created: grants.clock.now())
    try await grants.database.write(locking: [.everything]) { try GrantTable.insert(record, in: $0) }
    for word in words {
      switch word {
      case .receipt(let said): _ = try await grants.record([said], by: .answer()) { _ in }
      case .notification(let said):
        _ = try await grants.record([said], by: GrantStore.LedgerRule()) { _ in }
      case .revokedByOperator:
        _ = try await grants.setRevoked(true, of: record.handle.shortName, by: "ada", reason: nil) { _ in }
      }
    }
    return record.id
  }

  private static func key(_ id: String) throws -> TransactionKey {
    TransactionKey(store: .apple, environment: .production, id: try #require(TransactionIdentifier(id)))
  }

  /// How transaction and grant stand. Dates that are written down later have to be by then.
  func outcome(about id: String, _ identifier: GrantIdentifier) async throws -> Outcome {
    let key = try Self.key(id)
    return try await grants.database.read { connection in
      let known = try LedgerTable.find(key, in: connection)?.transaction
      let grant = try #require(try GrantTable.find(identifier, in: connection))
      return Outcome(
        revokedDate: known?.revokedDate, asOf: known?.asOf, account: known?.account,
        isRevoked: grant.machine.name == .revoked)
    }
  }
}

@Suite("Statements in any order", .timeLimit(.minutes(5)))
struct StatementOrderTests {
  @Test(
    "a thousand orders of fresh and old receipts, notifications and operators leave what the order of their dates leaves"
  )
  func orders() async throws {
    let file = try StateFile()
    let recipient = Recipient(grants: GrantStore(database: try file.open(), clock: ManualWallClock()))
    var random = SplitMix(seed: 2026)
    for round in 0..<20 {
      let cases = try (0..<50).map { number -> (id: String, words: [Word]) in
        let id = "\(round * 50 + number + 1)"
        return (id, try Recipient.words(about: id, &random).shuffled(using: &random))
      }
      let grants = try await withThrowingTaskGroup(
        of: (number: Int, found: GrantIdentifier, expected: GrantIdentifier).self
      ) { group in
        for (number, (id, words)) in cases.enumerated() {
          group.addTask {
            let found = try await recipient.receive(words, about: id)
            let name = "sorted-\(id)"
            let sorted = try words.sorted { $0.asOf < $1.asOf }.map { try Recipient.renamed($0, name) }
            return (number, found, try await recipient.receive(sorted, about: name))
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      // No one else writes dates now: what was taken to be written is.
      try await recipient.grants.writeLaterDates()
      for (number, found, expected) in grants {
        let (id, words) = cases[number]
        let outcome = try await recipient.outcome(about: id, found)
        let sorted = try await recipient.outcome(about: "sorted-\(id)", expected)
        #expect(outcome == sorted, "\(id): \(words)")
      }
    }
  }
}
