import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Database
import Entitlements
import HTTPServer
import PullboxAPI
import Receipts
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import DeliveryModel
@testable import DeliveryRecords
@testable import DeliveryService
@testable import PaymentStores
@testable import RouteAccess

/// The calls of the tables' functions that no request of ``StatementCostTests`` leads to. Each group runs in one write that is undone,
/// about the grant with the number 51 and what belongs to it.
struct TableCalls {
  private let database: Database
  private let grants: Int
  private let look: () async throws -> Void

  private let product: ProductIdentifier
  private let publication: ProductIdentifier
  private let version: ContentVersion
  private let device: DeviceIdentifier
  private let account: ApplicationAccount
  private let key: TransactionKey
  private let period: TransactionKey
  private let now = ServerHarness.start

  /// - Parameter grants: how many the database was filled with.
  /// - Parameter look: takes down what was run since it was called last.
  init(_ database: Database, grants: Int, look: @escaping () async throws -> Void) throws {
    self.database = database
    self.grants = grants
    self.look = look
    product = try #require(ProductIdentifier("com.example.issue1"))
    publication = try #require(ProductIdentifier("com.example.p"))
    version = try #require(ContentVersion("1.0"))
    device = try #require(DeviceIdentifier("d-51"))
    account = try #require(ApplicationAccount("account-25"))
    key = TransactionKey(
      store: .sandbox, environment: .sandbox, id: try #require(TransactionIdentifier("t-51")))
    period = TransactionKey(
      store: .sandbox, environment: .sandbox, id: try #require(TransactionIdentifier("s-51")))
  }

  func run() async throws {
    try await grantsOfOne()
    try await grantsOfProduct()
    try await ledger()
    try await customers()
    try await claims()
    try await transfers()
    try await irregularities()
    try await entitlements()
    try await feeds()
    try await notifications()
    try await outbox()
    try await reports()
    try await products()
    try await reviews()
    try await tiersAndPublications()
    try await versions()
    try await previews()
    try await packages()
    try await readerKeys()
    try await uploads()
    try await idempotentAnswers()
    try await processes()
    try await consoleSessions()
    try await approvals()
    try await nodes()
    try await checks()
  }

  private struct Undone: Error {}

  /// Runs `body` in a write, which it undoes, and looks at what that cost.
  private func measure(
    _ body: @escaping @Sendable (borrowing Connection) throws -> Void
  ) async throws {
    do {
      try await database.write(locking: [.everything]) { connection in
        try body(connection)
        throw Undone()
      }
    } catch is Undone {}
    try await look()
  }

  /// The same with rows that `filling` adds, one for each of as many numbers as there are grants. What adding them costs does not count.
  private func measure(
    filling: [String], _ body: @escaping @Sendable (borrowing Connection) throws -> Void
  ) async throws {
    let grants = grants
    try await measure { connection in
      for statement in filling {
        try connection.execute(
          "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) "
            + statement, [.integer(grants)])
      }
      _ = connection.takeSteps()
      try body(connection)
    }
  }

  private static func customer(_ number: Int) throws -> CustomerIdentifier {
    let digits = String(number)
    return try #require(
      CustomerIdentifier(Array((String(repeating: "0", count: 16 - digits.count) + digits).utf8)))
  }

  private static let handle = DeliveryHandle(Array("0000000000000051".utf8))

  private static func grant(in connection: borrowing Connection) throws -> GrantRecord {
    let handle = try #require(handle)
    let found = try GrantTable.find(handle, in: connection)
    return try #require(found)
  }

  private func payment(
    _ key: TransactionKey, product: ProductIdentifier? = nil, expires: Timestamp? = nil
  ) -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: key.store, in: key.environment, id: key.id, originalID: key.id,
      product: product ?? self.product, purchaseDate: now, expiresDate: expires, account: account)
  }
}

// Grants and payments.
extension TableCalls {
  private func grantsOfOne() async throws {
    let (product, version, device, key, now) = (product, version, device, key, now)
    try await measure { connection in
      let grant = try Self.grant(in: connection)
      _ = try GrantTable.all(named: grant.handle.shortName, in: connection)
      _ = try GrantTable.find(product, version, paidBy: key, on: device, in: connection)
      _ = try GrantTable.isGranted(product, paidBy: key, elsewhereThanOn: device, in: connection)
      let newKey = try #require(VerificationKey([UInt8](repeating: 1, count: 32)))
      try GrantTable.setPublicKey(newKey, of: grant, at: now, in: connection)
      _ = try ObligationTable.products(
        owedBy: ObligationTable.Debt(transaction: key, device: device), in: connection)
      for consents in [true, false] {
        try ConsentTable.set(consents, for: grant.number, at: now, in: connection)
        _ = try ConsentTable.contains(grant.number, in: connection)
      }
    }
  }

  private func grantsOfProduct() async throws {
    let (product, publication, version, now) = (product, publication, version, now)
    try await measure { connection in
      for state in ["granted", "finished"] {
        _ = try GrantTable.mayBeClosed(
          of: product, in: publication, in: state, after: 40, limit: 5, at: now, in: connection)
      }
    }
    try await measure { connection in
      let times = TimeRange(
        since: Timestamp(millisecondsSinceEpoch: 40), until: Timestamp(millisecondsSinceEpoch: 60))
      _ = try GrantTable.page(
        before: .max, matching: GrantFilter(granted: times), limit: 5, in: connection)
    }
    try await measure { connection in
      _ = try GrantTable.revoked(in: connection)
    }
    try await measure { connection in
      _ = try VerificationFailureTable.failed(of: product, version, in: connection)
      _ = try DeliveryCourseTable.hours(of: product, version, limit: 20_000, in: connection)
      _ = try VerificationFailureTable.verified(of: product, version, limit: 5, in: connection)
    }
  }

  private func ledger() async throws {
    let (key, device, now) = (key, device, now)
    let payment = payment(key)
    try await measure { connection in
      _ = try LedgerTable.find(key, in: connection)
      _ = try LedgerTable.keys(ofPurchase: key, in: connection)
      _ = try LedgerTable.subscribers(to: payment.product, at: now, butNotAt: now, limit: 20, in: connection)
      let start = Timestamp(millisecondsSinceEpoch: 0)
      _ = try LedgerTable.payersWithoutEnd(
        to: payment.product, after: start, until: now, limit: 20, in: connection)
      _ = try LedgerTable.transactions(of: Self.customer(51), in: connection)
      _ = try LedgerTable.known(of: payment, joiningAccounts: true, in: connection)
      _ = try TransactionTable.word(on: key, in: connection)
      try TransactionTable.setWord(
        TransactionStanding.StoreWord(asOf: now, revoked: now), on: key, in: connection)
      let dates = LaterDates.Heard(written: now, asOf: now, licenseAsOf: now)
      try LedgerTable.setDates(LaterDates.Dated(key: key, heard: dates), in: connection)
      _ = try UnconfirmedTable.basis(of: Self.grant(in: connection), in: connection)
      // One of those that rest on a proof of their own.
      try UnconfirmedTable.confirm([48], in: connection)
      _ = try RememberedProofTable.lastGood(.of([1]), at: key.store, shownBy: device, in: connection)
      try AcknowledgementTable.noteTold(of: key, in: connection)
      _ = try AcknowledgementTable.waiting(at: .sandbox, since: now, in: connection)
      _ = try AcknowledgementTable.waiting(of: Self.customer(51), since: now, in: connection)
      _ = try GrantTable.completed(by: Self.customer(51), in: connection)
      _ = try GrantTable.completed(on: [device], in: connection)
    }
  }

  private func customers() async throws {
    let (device, account, key, now) = (device, account, key, now)
    try await measure { connection in
      let customers = try [Self.customer(51), Self.customer(50)]
      _ = try CustomerTable.shareStore(customers, in: connection)
      _ = try CustomerTable.isNews(device, of: customers[0], at: now, in: connection)
      _ = try CustomerTable.devices(of: customers[0], limit: 5, in: connection)
      #expect(try CustomerTable.customers(of: [key], in: connection).count == 1)
      _ = try CustomerTable.grants(on: device, of: customers[0], in: connection)
      _ = try CustomerTable.customers(of: account, at: [key.store], in: [key.environment], connection)
      _ = try GrantTable.page(
        before: .max, matching: GrantFilter(customer: customers[0], state: .granted), limit: 5, in: connection
      )
      var rules = StoreRules()
      rules.deviceLimit = 0
      _ = try CustomerTable.hasPlace(for: device, of: customers[0], under: rules, at: now, in: connection)
      try CustomerTable.leavePlace(device, grantedFor: key, in: connection)
      try CustomerTable.takePlaceAgain(device, grantedFor: key, in: connection)
      // Both bought for one account, so that they become one customer.
      _ = try CustomerTable.resolve(
        CustomerGroup(account: nil, members: [0, 1], customers: customers), in: connection)
      #expect(try CustomerTable.current(customers[1], in: connection) == customers[0])
    }
  }

  private func claims() async throws {
    let (account, key, now) = (account, key, now)
    try await measure { connection in
      try ClaimTable.set([account], of: key, at: now, in: connection)
      _ = try ClaimTable.holders(of: key, in: connection)
      _ = try ClaimTable.isNamedByMany(account, in: key.environment, at: now, in: connection)
      try FeedingTable.note(account, fedBy: key, at: now, in: connection)
      _ = try FeedingTable.isKnown(account, fedBy: Self.customer(51), in: connection)
      _ = try FeedingTable.isKnown([key], in: connection)
      _ = try FeedingTable.isIrregular(account, in: .sandbox, at: now, in: connection)
    }
  }

  private func transfers() async throws {
    let now = now
    try await measure { connection in
      let grant = try Self.grant(in: connection)
      _ = try TransferredGrantTable.hasExcuses(in: connection)
      _ = try TransferredGrantTable.excused(of: grant, in: connection)
      try TransferredGrantTable.insert(grant.number, decidedAt: now, excusing: now, in: connection)
      var revoked = grant
      revoked.operatorWord = TransactionStanding.OperatorWord(asOf: now, decision: .revoke)
      #expect(try TransferredGrantTable.isReason(of: revoked, in: connection))
      try TransferredGrantTable.remove(grant.number, in: connection)
    }
  }

  private func irregularities() async throws {
    let (device, key, now) = (device, key, now)
    try await measure { connection in
      for _ in 0..<2 {
        try IrregularityTable.note(
          .otherAccount(key, device: device, wasRefused: true), at: now, in: connection)
      }
      _ = try IrregularityTable.exists(51, in: connection)
      for kind in [Irregularity.Kind.manyDevices, nil] {
        _ = try IrregularityTable.page(before: 60, kind: kind, limit: 5, in: connection)
      }
      // There are more than were removed.
      #expect(try IrregularityTable.forget(before: now + .seconds(1), limit: 5, in: connection))
      let past = Timestamp(millisecondsSinceEpoch: 0)
      #expect(try !IrregularityTable.forget(before: past, limit: 5, in: connection))
    }
  }

  private func entitlements() async throws {
    let (product, key, now) = (product, key, now)
    let subscription = try #require(ProductIdentifier("com.example.subscription"))
    let described = Product(
      id: subscription, type: .nonRenewingSubscription, period: BillingPeriod("P1M"))
    let payments = [payment(key), payment(period, product: subscription)]
    try await measure { connection in
      _ = try EntitlementRecordTable.record(of: payments, in: connection)
      try EntitlementRecordTable.noteUnlocked([product: .unlockedAtStart], by: key, in: connection)
      _ = try ProductTable.names(beginningWith: "com", limit: 5, in: connection)
      try ProductTable.put(described, at: now, in: connection)
      try EntitlementRecordTable.noteLength(of: payments[1], in: connection)
    }
  }

  private func reports() async throws {
    try await measure { connection in
      for dimensions in [[], Set(SalesReport.Dimension.allCases)] {
        _ = try SalesTable.payments(
          refunded: false, from: Timestamp(millisecondsSinceEpoch: 50),
          to: Timestamp(millisecondsSinceEpoch: 60), matching: SalesTable.Filter(), in: connection)
        _ = try SalesTable.counts(
          from: Timestamp(millisecondsSinceEpoch: 50), to: Timestamp(millisecondsSinceEpoch: 60),
          asOf: Timestamp(millisecondsSinceEpoch: 1_000_000), by: dimensions,
          matching: SalesTable.Filter(), in: connection)
      }
    }
  }
}

// News for devices, and what stores tell and are told.
extension TableCalls {
  private func feeds() async throws {
    let (product, device, key, now) = (product, device, key, now)
    try await measure { connection in
      let found = try FeedTable.put(
        of: device, at: .sandbox, environment: .production, customer: Self.customer(51), epoch: 1, at: now,
        in: connection)
      let feed = try #require(found).feed
      _ = try FeedTable.all(of: device, in: connection)
      try FeedTable.noteUse(of: feed.number, at: now, in: connection)
      let item = FeedItem(product: product, kind: .withdrawn, transaction: key.id)
      var told = feed
      #expect(try FeedTable.tell([item], to: told, in: connection) != nil)
      told.sequence += 1
      #expect(try FeedTable.tell([], forgetting: [product], to: told, in: connection) != nil)
      _ = try FeedTable.feeds(of: Self.customer(51), in: connection)
      _ = try FeedTable.forget(unusedSince: now + .seconds(1), limit: 5, in: connection)
    }
    try await measure { connection in
      _ = try FeedTable.count(in: connection)
    }
  }

  private func notifications() async throws {
    let (key, now) = (key, now)
    let token = try #require(GooglePurchaseToken("token-51"))
    try await measure { connection in
      _ = try NotificationTable.contains("n-51", of: .sandbox, in: connection)
      _ = try NotificationTable.insert(
        NotificationTable.Record(
          store: .sandbox, uuid: "new", type: "TEST", signed: now, environment: .sandbox,
          transaction: key.id, effect: .none, received: now), in: connection)
      _ = try NotificationTable.latest(of: .sandbox, in: connection)
      _ = try NotificationTable.forget(before: now, limit: 5, in: connection)
      try NotificationHistoryTable.setPosition(.sandbox, .sandbox, until: now, recovered: 1, in: connection)
      _ = try NotificationHistoryTable.position(of: .sandbox, .sandbox, in: connection)
      let purchase = GooglePurchaseRecord(
        kind: .product, environment: .sandbox, original: key.id, replaced: nil)
      for _ in 0..<2 {
        try GooglePurchaseTable.put(purchase, of: token, at: .sandbox, in: connection)
      }
      _ = try GooglePurchaseTable.find(token, of: .sandbox, in: connection)
    }
  }

  private func outbox() async throws {
    let (key, now) = (key, now)
    try await measure { connection in
      _ = try OutboxTable.add(.consume, of: key, at: now, in: connection)
      let id = try OutboxTable.renew(.consume, of: key, payload: "a", at: now, in: connection)
      _ = try OutboxTable.call(id, in: connection)
      let lease = OutboxLease(holder: "a", now: now, until: now + .seconds(60), stores: [.sandbox])
      let claimed = try OutboxTable.claim(id, lease, in: connection)
      let entry = try #require(claimed)
      try OutboxTable.putBehind(id, lease, in: connection)
      _ = try OutboxTable.postpone(
        entry, until: now + .seconds(60), isRefused: true, because: "busy", in: connection)
      #expect(try OutboxTable.park(entry, at: now, isRefused: true, because: "no", in: connection))
      #expect(try OutboxTable.retry(id, in: connection))
      #expect(try OutboxTable.parkDamaged(id, at: now, because: "no", in: connection))
      #expect(try OutboxTable.drop(id, foundParked: true, at: now, in: connection))
      _ = try OutboxTable.expire(entry, at: now, because: "late", in: connection)
      _ = try OutboxTable.page(before: 60, matching: OutboxTable.Filter(), limit: 5, in: connection)
      _ = try OutboxTable.waiting(for: .sandbox, after: nil, for: lease, limit: 5, in: connection)
      _ = try AuditTable.place(of: 51, in: connection)
    }
  }
}

// Descriptions by operators.
extension TableCalls {
  private func products() async throws {
    let (product, publication, now) = (product, publication, now)
    let unused = try #require(ProductIdentifier("com.example.unused"))
    try await measure { connection in
      try ProductTable.put(Product(id: unused, type: .nonConsumable), at: now, in: connection)
      for product in [product, unused] {
        _ = try ProductTable.isReferred(product, in: connection)
        _ = try ProductTable.isBought(product, in: connection)
      }
      _ = try ProductTable.isGranted(publication, in: connection)
      _ = try ProductTable.hasReleasedIssue(of: publication, in: connection)
      try ProductTable.remove(unused, at: now, in: connection)
    }
  }

  private func reviews() async throws {
    let (product, now) = (product, now)
    try await measure(filling: [
      """
      INSERT INTO product_reviews (product, submitted, submitted_by) SELECT 'com.example.r' || n, 0, 'ada' FROM numbers
      """,
      """
      INSERT INTO product_screenshots (product, media_type, digest, content)
      SELECT 'com.example.r' || n, 'image/png', randomblob(32), randomblob(8) FROM numbers
      """,
    ]) { connection in
      let review = ProductReview(
        submitted: now, submittedBy: "ada", notes: nil, decided: nil, decidedBy: nil, isApproved: nil,
        reason: nil)
      try ProductReviewTable.put(review, of: product, in: connection)
      _ = try ProductReviewTable.find(product, in: connection)
      try ProductReviewTable.voidDecision(on: product, in: connection)
      let screenshot = ProductReviewTable.Screenshot(
        mediaType: "image/png", digest: .of([1]), content: [1])
      try ProductReviewTable.put(screenshot, of: product, in: connection)
      _ = try ProductReviewTable.hasScreenshot(of: product, in: connection)
      _ = try ProductReviewTable.screenshot(of: product, in: connection)
    }
  }

  private func tiersAndPublications() async throws {
    let (publication, now) = (publication, now)
    let name = try #require(PriceTierName("51"))
    let tier = try EncodedDocument(PriceTier(name: name, prices: [:]))
    let document = try EncodedDocument(
      OperatorPublication(
        id: publication, localizations: [:], cover: nil, order: nil, created: now, changed: now))
    try await measure { connection in
      try PriceTierTable.put(tier, at: now, in: connection)
      _ = try PriceTierTable.find(name, in: connection)
      _ = try PriceTierTable.exists(name, in: connection)
      _ = try PriceTierTable.isUsed(name, in: connection)
      _ = try PriceTierTable.all(in: connection)
      _ = try PriceTierTable.count(in: connection)
      _ = try PriceTierTable.haveChanged(since: 0, in: connection)
      try PriceTierTable.remove(name, at: now, in: connection)
      try PublicationTable.put(document, in: connection)
      _ = try PublicationTable.find(publication, in: connection)
      _ = try PublicationTable.page(after: "", limit: 5, in: connection)
      _ = try PublicationTable.names(beginningWith: "c", limit: 5, in: connection)
      _ = try PublicationTable.count(in: connection)
      try PublicationTable.remove(publication, at: now, in: connection)
    }
  }

  private func versions() async throws {
    let (product, version, device, now) = (product, version, device, now)
    try await measure { connection in
      let found = try VersionTable.find(product, version, in: connection)
      var record = try #require(found)
      _ = try VersionTable.page(of: product, after: nil, limit: 5, in: connection)
      _ = try VersionTable.releasedToPart(of: product, in: connection)
      _ = try VersionTable.releasedToAll(of: product, in: connection)
      _ = try VersionTable.available(product, version, to: device, in: connection)
      _ = try VersionTable.available(with: record.digest, in: connection)
      _ = try VersionTable.length(of: record.digest, in: connection)
      _ = try VersionTable.isWithdrawn(product, nil, in: connection)
      _ = try VersionTable.count(of: product, in: connection)
      _ = try VersionTable.nextDate(after: now, in: connection)
      let signature = PublisherSignature(
        signing: [1], with: try #require(SigningKey(seed: [UInt8](repeating: 1, count: 32))))
      try SignatureTable.insert([signature], of: product, version, in: connection)
      _ = try SignatureTable.all(of: product, version, by: nil, in: connection)
      // Withdrawn, so that nothing but its grants needs the package.
      record.state = .withdrawn
      record.percentage = nil
      try VersionTable.update(record, in: connection)
      #expect(try GarbageCollectionTable.isNeeded(record.digest, keepsWithdrawn: false, in: connection))
      _ = try PackageCheckTable.isExpected(record.digest, keepsWithdrawn: false, in: connection)
      _ = try VersionTable.isWithdrawn(product, nil, in: connection)
    }
  }

  private func previews() async throws {
    let (product, version, now) = (product, version, now)
    try await measure(filling: [
      """
      INSERT INTO preview_contents (digest, media_type, content)
      SELECT CAST(printf('%032d', n) AS BLOB), 'image/png', randomblob(8) FROM numbers
      """,
      """
      INSERT INTO previews (product, ordering, place, digest)
      SELECT 'com.example.r' || n, 'a', 0, CAST(printf('%032d', n) AS BLOB) FROM numbers
      """,
    ]) { connection in
      let previews = [PreviewTable.cover, PreviewTable.place(ofWidth: 400), 1].map { place in
        PreviewTable.Preview(
          place: place, mediaType: "image/png", digest: .of([UInt8(clamping: place)]), content: [1])
      }
      try PreviewTable.insert(previews, of: product, version, in: connection)
      for version in [version, nil] {
        _ = try PreviewTable.releasedCover(
          width: 300, of: product, version: version, at: now, in: connection)
      }
      _ = try PreviewTable.hasSample(of: product, version, in: connection)
    }
  }
}

// Stored packages, and the processes that run.
extension TableCalls {
  private func packages() async throws {
    let (product, now) = (product, now)
    let (digest, other) = (SHA256Digest.of([51]), SHA256Digest.of([52]))
    try await measure(filling: [
      "INSERT INTO unneeded_blobs (digest, since) SELECT randomblob(32), n FROM numbers",
      "INSERT INTO package_checks (digest, checked) SELECT randomblob(32), n FROM numbers",
      "INSERT INTO content_stops (digest, at) SELECT randomblob(32), n FROM numbers",
    ]) { connection in
      try GarbageCollectionTable.mark(digest, since: now, in: connection)
      try GarbageCollectionTable.condemn(digest, length: .zero, at: now, in: connection)
      #expect(try GarbageCollectionTable.forget(digest, in: connection))
      try GarbageCollectionTable.unmark(other, in: connection)
      try PackageCheckTable.record(.missing, of: digest, at: now, in: connection)
      _ = try PackageCheckTable.faulty(in: connection)
      _ = try PackageCheckTable.countFaults(in: connection)
      try PackageCheckTable.remove(digest, at: now, in: connection)
      try BlockedContentTable.add(digest, at: now, in: connection)
      try BlockedContentTable.remove(digest, at: now, in: connection)
      _ = try BlockedContentTable.all(in: connection)
      _ = try VersionTable.isWithdrawn(product, nil, in: connection)
    }
  }

  private func readerKeys() async throws {
    let (now, product) = (now, product)
    let customer = try #require(CustomerIdentifier([UInt8](repeating: 7, count: 16)))
    let device = try #require(DeviceIdentifier("reader-kabiz41701"))
    try await measure(filling: [
      """
      INSERT INTO reader_keys (name, customer, device, title, digest, created)
      SELECT 'k-' || n, randomblob(16), 'd-' || n, 'Tablet', randomblob(32), n FROM numbers
      """,
      """
      INSERT INTO reading_progress (customer, product, modified, device, document)
      SELECT randomblob(16), 'p-' || n, n, 'd', '{}' FROM numbers
      """,
      """
      INSERT INTO reader_codes (name, digest, challenge, request, expires)
      SELECT 'k-' || n, randomblob(32), randomblob(32), randomblob(32), n FROM numbers
      """,
      """
      INSERT INTO reader_tokens (digest, name, code, created)
      SELECT randomblob(32), 'k-' || n, randomblob(32), n FROM numbers
      """,
    ]) { connection in
      let key = ReaderKey(
        name: "kabiz41701", customer: customer, device: device, title: "Tablet", digest: .of([51]),
        territory: nil, locale: nil, created: now)
      try ReaderKeyTable.insert(key, in: connection)
      _ = try ReaderKeyTable.find("kabiz41701", in: connection)
      _ = try ReaderKeyTable.all(of: customer, limit: 5, in: connection)
      try ReaderKeyTable.note("kabiz41701", at: now, in: connection)
      let mark = ReadingMark(product: product, modified: now, page: 3, millionths: 500_000)
      try ReadingProgressTable.put(mark, of: customer, by: "d", document: "{}", in: connection)
      _ = try ReadingProgressTable.document(of: product, by: customer, in: connection)
      _ = try ReadingProgressTable.marks(of: customer, limit: 5, in: connection)
      _ = try ReadingProgressTable.marks(of: customer, among: [product], in: connection)
      let code = ReaderCode(
        name: key.name, digest: .of([52]), challenge: .of([53]), request: .of([54]), expires: now)
      try ReaderTokenTable.put(code, in: connection)
      #expect(try ReaderTokenTable.knows(code: code.digest, of: key.name, in: connection))
      #expect(try ReaderTokenTable.take(code.digest, of: key.name, in: connection) != nil)
      try ReaderTokenTable.insert(.of([55]), for: code, at: now, in: connection)
      #expect(try ReaderTokenTable.contains(.of([55]), of: key.name, in: connection))
      #expect(try ReaderTokenTable.remove(givenFor: code.digest, of: key.name, in: connection) == 1)
      _ = try ReaderDeliveryTable.all(
        of: product, to: customer, until: now, limit: 5, counting: { _ in .zero }, in: connection)
      _ = try GrantTable.contents(on: device, limit: 5, in: connection)
      #expect(try ReaderKeyTable.remove("kabiz41701", of: customer, in: connection))
    }
  }

  private func uploads() async throws {
    let now = now
    try await measure(filling: [
      """
      INSERT INTO uploads (id, owner, metadata, digest, created, touched)
      SELECT 'u-' || n, 'ada', '', randomblob(32), n, n FROM numbers
      """,
      """
      INSERT INTO upload_parts (upload, start, length, digest, name)
      SELECT 'u-' || n, 0, 5, randomblob(32), 'p' FROM numbers
      """,
    ]) { connection in
      let place = UploadCursor(created: Timestamp(millisecondsSinceEpoch: 51), id: "u-51")
      _ = try UploadTable.page(after: place, limit: 5, in: connection)
      _ = try UploadTable.find("u-51", in: connection)
      try UploadTable.setLength(.zero, of: "u-51", in: connection)
      try UploadTable.setEnd(.zero, of: "u-51", in: connection)
      try UploadTable.setDigest(.of([51]), of: "u-51", at: now, in: connection)
      try UploadTable.setAddressed("u-51", in: connection)
      try UploadTable.touch("u-51", at: now, in: connection)
      try UploadTable.setReserved(.zero, of: "u-51", in: connection)
      _ = try UploadTable.reserved(besides: "u-51", at: now, in: connection)
      let part = UploadPart(start: ByteCount(5), length: ByteCount(5), digest: .of([51]), name: "q")
      try UploadPartTable.set(part, of: "u-51", in: connection)
      _ = try UploadPartTable.all(of: "u-51", in: connection)
      _ = try UploadPartTable.length(of: "u-51", in: connection)
      _ = try UploadPartTable.removeAll(of: "u-51", in: connection)
      try UploadPartTable.abandon(in: connection)
      try UploadTable.remove("u-51", in: connection)
      try UploadTable.removeUnaddressed(createdBefore: now, in: connection)
      _ = try PackageNeed.all(in: connection)
    }
  }

  private func idempotentAnswers() async throws {
    let now = now
    let key = try #require(
      try IdempotencyKey(
        HTTPRequest(method: .post, rawTarget: "/", headers: [IdempotencyKey.field: "k-51"]), of: "ada"))
    try await measure(filling: [
      """
      INSERT INTO idempotent_answers (actor, key, fingerprint, status, body, created)
      SELECT 'ada', 'k-' || n, randomblob(32), 200, randomblob(8), n FROM numbers
      """
    ]) { connection in
      let start = Timestamp(millisecondsSinceEpoch: 0)
      let found = try IdempotentAnswerTable.find(key, since: start, in: connection)
      try IdempotentAnswerTable.put(#require(found), for: key, at: now, in: connection)
      _ = try IdempotentAnswerTable.count(of: "ada", since: start, limit: 50, in: connection)
      _ = try IdempotentAnswerTable.remove(before: now, limit: 5, in: connection)
    }
  }

  private func consoleSessions() async throws {
    let now = now
    try await measure(filling: [
      """
      INSERT INTO console_sessions (digest, key_digest, language, created, used)
      SELECT CAST('s-' || n AS BLOB), CAST('k' AS BLOB), 'en', n, n FROM numbers
      """
    ]) { connection in
      let session = ConsoleSessionTable.Session(
        digest: .of([1]), key: .of([2]), language: "en", created: now, used: now)
      try ConsoleSessionTable.add(session, in: connection)
      _ = try ConsoleSessionTable.find(session.digest, in: connection)
      try ConsoleSessionTable.touch(session.digest, at: now + .seconds(60), in: connection)
      try ConsoleSessionTable.speak("de", session.digest, in: connection)
      try ConsoleSessionTable.remove(session.digest, in: connection)
      _ = try ConsoleSessionTable.forget(createdBefore: now, usedBefore: now, limit: 5, in: connection)
    }
  }

  private func approvals() async throws {
    let now = now
    try await measure(filling: [
      """
      INSERT INTO approvals (id, state, action, subject, scope, asked, asked_by, asked_key, expires, method, pattern, target, body)
      SELECT n, CASE WHEN n % 2 = 0 THEN 'done' ELSE 'declined' END, 'version.withdraw', 'a 1.0', 'publish', n, 'ada', zeroblob(32), n + 1,
        'POST', 'p', 't', CAST('' AS BLOB) FROM numbers
      """
    ]) { connection in
      let approval = Approval(
        id: 0, state: .waiting, action: "version.withdraw", subject: "a 1.0", request: "", scope: .publish,
        asked: now, askedBy: "ada", expires: now + .seconds(60))
      let request = ApprovalTable.Request(method: "POST", pattern: "p", target: "t", tag: nil, body: [])
      let key = SHA256Digest.of(Array("key".utf8))
      let number = try ApprovalTable.add(
        .init(approval: approval, key: key, request: request), in: connection)
      _ = try ApprovalTable.find(number, at: now, in: connection)
      #expect(try ApprovalTable.waiting(askedBy: "ada", at: now, limit: 5, in: connection).count == 1)
      for state in [nil, Approval.State.waiting, .done, .expired] {
        _ = try ApprovalTable.page(before: .max, in: state, at: now, limit: 5, in: connection)
      }
      #expect(
        try ApprovalTable.decide(number, as: .approved, by: "bob", because: nil, at: now, in: connection))
      #expect(try ApprovalTable.finish(number, as: .done, outcome: nil, in: connection))
      _ = try ApprovalTable.add(
        .init(approval: approval, key: key, request: request), in: connection)
      try ApprovalTable.expire(at: now + .seconds(61), in: connection)
      _ = try ApprovalTable.forget(before: now, limit: 5, in: connection)
    }
  }

  private func processes() async throws {
    let now = now
    try await measure(filling: [
      "INSERT INTO leases (name, holder, until) SELECT 'l-' || n, 'a', n FROM numbers",
      "INSERT INTO runs (started, ended) SELECT n, n FROM numbers",
    ]) { connection in
      for _ in 0..<2 {
        _ = try LeaseTable.take("l-51", for: "b", until: now + .seconds(60), at: now, in: connection)
        _ = try LeaseTable.isHeld("l-51", takenFor: .seconds(60), at: now, in: connection)
      }
      try LeaseTable.seize("l-51", for: "b", until: now, in: connection)
      _ = try LeaseTable.extend("l-51", of: "b", until: now, in: connection)
      try LeaseTable.remove("l-51", of: "b", in: connection)
      _ = try InstallationTable.identifier(proposed: "a", in: connection)
      let run = try ServerRunTable.begin(at: now, in: connection)
      try ServerRunTable.end(run.id, at: now, in: connection)
      _ = try NodeTable.declareAllDead(at: now, in: connection)
      try LeaseTable.removeAll(of: "l", in: connection)
      try LeaseTable.removeAll(in: connection)
      try ServerRunTable.noteRestore(at: now, in: connection)
      try FeedTable.noteRestore(FeedTable.newLife(), in: connection)
      try SQLDialect.passOverNumbers(in: connection)
    }
  }

  private func nodes() async throws {
    let (now, digest) = (now, SHA256Digest.of([1]))
    try await measure(filling: [
      """
      INSERT INTO nodes (name, process, address, version, started, heartbeat, gone)
      SELECT 'n-' || n, 'p-' || n, '', '1', n, n, n FROM numbers WHERE n < 20
      """,
      "INSERT INTO stop_log (revision, kind, name, at) SELECT n, 'content', n, n FROM numbers",
      "INSERT INTO stop_revision (id, revision) SELECT 1, max(n) FROM numbers",
    ]) { connection in
      let number = try NodeTable.take(
        "a", for: "a 1", at: "", running: "1", after: nil, at: now, in: connection)
      _ = try ServerRunTable.begin(of: number, at: now, in: connection)
      try NodeTable.setAddress("b", of: "a 1", in: connection)
      #expect(try NodeTable.beat("a", of: "a 1", at: now, in: connection))
      _ = try NodeTable.find("a", in: connection)
      _ = try NodeTable.anyOwesAnswer(besides: 1, sentUntil: now, in: connection)
      try NodeTable.answer("a", of: "a 1", sentUntil: now, at: now, in: connection)
      _ = try NodeTable.declareDead(at: now + .seconds(60), in: connection)
      #expect(try NodeTable.revive("a", of: "a 1", at: now, in: connection))
      try NodeTable.leave("a", of: "a 1", at: now, in: connection)
      try StopLog.add(.content(digest), at: now, in: connection)
      let last = try StopLog.revision(in: connection)
      _ = try StopLog.page(after: last - 1, limit: 5, in: connection)
      _ = try StopLog.forget(before: Timestamp(millisecondsSinceEpoch: 5), limit: 5, in: connection)
      _ = try BlockedContentTable.contains(digest, in: connection)
      let key = TicketKeyTable.Key(id: 1, secret: [1], seals: now)
      try TicketKeyTable.add(key, in: connection)
      _ = try TicketKeyTable.all(in: connection)
      try TicketKeyTable.retire(at: now, in: connection)
      try TicketKeyTable.forget(retiredBefore: now, in: connection)
      try TicketKeyTable.removeAll(in: connection)
      try LicenseKeyTable.add(
        LicenseKeyTable.Key(number: 1, key: SigningKey(), seals: now), in: connection)
      _ = try LicenseKeyTable.all(in: connection)
      try LicenseKeyTable.forgetSecrets(before: 2, in: connection)
    }
  }

  /// Does what a check of the state does on a connection of its own, by the text of its statements.
  private func checks() async throws {
    let texts = try SourceStatements.all().filter { $0.count == 1 }.map { $0[0] }
    let beginnings: [(beginning: String, values: [SQLValue])] = [
      ("SELECT product, version FROM versions WHERE digest = ? ORDER", [.digest(.of([1]))]),
      ("SELECT product, version FROM versions WHERE manifest_digest NOT IN", []),
    ]
    for (beginning, values) in beginnings {
      let text = try #require(texts.first { $0.hasPrefix(beginning) })
      try await measure { connection in
        _ = try connection.query(text, values)
      }
    }
  }
}
