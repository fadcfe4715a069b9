package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel
import DeliveryRecords
import PaymentStores
import PullboxAPI

extension GrantStore {
  /// The changes of the ledger by statements of stores on transactions.
  struct LedgerUpdate: Sendable {
    /// A transaction as it stands by all that was ever said of it; the customer is nil where it is not in the ledger.
    struct Entry: Sendable {
      var transaction: VerifiedTransaction
      var customer: CustomerIdentifier?
    }

    /// In the order of what was said.
    var entries: [Entry] = []
    /// Grants that stand differently now.
    var changed: [Standing] = []
    /// Whether the date of a refund changed.
    var isRevocationNews = false
    /// Whether something ends earlier than was known.
    var endsEarlier = false
    /// The rows that were written, with their dates.
    var written: [TransactionKey: Timestamp] = [:]
    /// The statements that repeat what is known, as of a later date that was not written.
    var later: [LaterDates.Dated] = []

    /// The customers of the transactions that the ledger has.
    var customers: Set<CustomerIdentifier> { Set(entries.compactMap(\.customer)) }
  }

  /// The rule that says which statements are taken into the ledger.
  package struct LedgerRule: Sendable {
    /// Transactions that hold, and that were never heard of; without it they are left to the write that makes the first
    /// grant.
    var takesNew = true
    /// Refunds, with their effect on grants.
    var takesRevocations = true
    /// How much later a statement that tells nothing else must be to be written down at once; the date of others is kept
    /// (``LaterDates``).
    var freshness = Duration.zero
    /// Whether purchases that name one application account are one customer's: ``ClaimRule/joinsAccounts``.
    var joinsAccounts = false
    /// Whether a statement without a refund may go unwritten where the database refuses it: clients come again with the same
    /// proof, and a notification does not.
    var mayBeLost = false

    /// Returns the rule for the answer to a question: clients come again with the same proof every few minutes.
    static func answer(
      takesNew: Bool = true, takesRevocations: Bool = true, joinsAccounts: Bool = false
    ) -> LedgerRule {
      LedgerRule(
        takesNew: takesNew, takesRevocations: takesRevocations, freshness: .seconds(3600),
        joinsAccounts: joinsAccounts, mayBeLost: true)
    }

    /// The database has what the statement says, or it is left to another write.
    func leaves(_ revision: LedgerRevision, _ known: LedgerTable.Known) -> Bool {
      if !revision.isNews { return true }
      if revision.isRevocationNews { return !takesRevocations }
      return !takesNew && known.word == nil
    }
  }

  /// The statements of stores, with what the ledger has of their transactions.
  private struct LedgerSurvey: Sendable {
    var revisions: [LedgerRevision]
    var known: [LedgerTable.Known]
    var groups: [CustomerGroup]
    /// The dates that the rows have.
    private var written: [Timestamp?]

    /// `heard` is known beside what the database has.
    init(
      of said: [VerifiedTransaction], by rule: LedgerRule, heard: [TransactionKey: LaterDates.Heard],
      in connection: borrowing Connection
    ) throws {
      known = []
      written = []
      connection.prefetch { connection in try Self.look(at: said, by: rule, in: connection) }
      for transaction in said {
        var entry = try LedgerTable.known(
          of: transaction, joiningAccounts: rule.joinsAccounts, in: connection)
        written.append(entry.word?.asOf)
        if let dates = heard[transaction.key], dates.written == entry.word?.asOf {
          entry.word?.asOf = dates.asOf
          entry.transaction = entry.transaction?.heard(asOf: dates.asOf, licenseAsOf: dates.licenseAsOf)
        }
        known.append(entry)
      }
      revisions = zip(said, known).map {
        LedgerRevision(of: $0, word: $1.word, recorded: $1.transaction, freshness: rule.freshness)
      }
      // By all that is known: a receipt names no accounts, and does not take their purchases from them.
      groups = CustomerGroup.all(of: revisions.map(\.transaction), known: known.map(\.customers))
    }

    /// Makes the reads that a survey rests on, for a connection that prefetches.
    static func look(
      at said: [VerifiedTransaction], by rule: LedgerRule, in connection: borrowing Connection
    ) throws {
      for transaction in said {
        _ = try LedgerTable.known(of: transaction, joiningAccounts: rule.joinsAccounts, in: connection)
      }
    }

    /// The customers of the transactions and of their relatives.
    var customers: Set<CustomerIdentifier> { Set(groups.flatMap(\.customers)) }

    /// The transactions by all that is known, in the order of what was said.
    var transactions: [VerifiedTransaction] { revisions.map(\.transaction) }

    /// The dates of what is left unwritten although it is later than what is known.
    func later(_ rule: LedgerRule) -> [LaterDates.Dated] {
      revisions.indices.compactMap { index in
        let (revision, known) = (revisions[index], known[index])
        guard rule.leaves(revision, known), !revision.isRevocationNews, let date = written[index],
          let recorded = known.transaction, let word = known.word
        else { return nil }
        let license = revision.transaction.licenseAsOf.flatMap { moment in
          recorded.licenseAsOf.map { moment > $0 } == false ? nil : moment
        }
        guard revision.transaction.asOf > word.asOf || license != nil else { return nil }
        return LaterDates.Dated(
          key: revision.transaction.key,
          heard: .init(written: date, asOf: revision.transaction.asOf, licenseAsOf: license))
      }
    }

    /// The products of what is to be written, by name.
    func products(_ rule: LedgerRule) -> [ProductIdentifier] {
      Set(zip(revisions, known).filter { !rule.leaves($0, $1) }.map(\.0.transaction.product)).sorted()
    }

    /// Nothing is to be written: what was said, and whose it is, is known.
    func isKnown(_ rule: LedgerRule) -> Bool {
      zip(revisions, known).allSatisfy { rule.leaves($0, $1) }
        && (!rule.takesNew || groups.allSatisfy { $0.customers.count <= 1 })
    }
  }

  /// Takes what stores said of these transactions into the ledger: what is later than what it has, or more, and whose they
  /// are. Nothing is written where it tells no more than is known, but for a later date as the rule says. A second run writes the
  /// same. Throws ``DatabaseError``.
  ///
  /// Runs in a write with the locks of ``DatabaseLock/statements(on:joiningAccounts:)``. It locks the customers on the way, before
  /// it writes.
  ///
  /// - Parameters:
  ///   - said: the statements of stores.
  ///   - heard: the dates that are known beside what the database has.
  ///   - others: transactions whose customers, with those of their relatives, are to be locked as well, for what the caller does next.
  ///   - keys: transactions whose own customers are to be locked as well.
  static func record(
    _ said: [VerifiedTransaction], by rule: LedgerRule, heard: [TransactionKey: LaterDates.Heard] = [:],
    besides others: [VerifiedTransaction] = [], and keys: Set<TransactionKey> = [],
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> LedgerUpdate {
    let survey = try lockedSurvey(
      of: said, by: rule, heard: heard, besides: others, and: keys, in: connection)
    var update = LedgerUpdate(
      entries: zip(survey.transactions, survey.known).map { .init(transaction: $0, customer: $1.customer) })
    update.later = survey.later(rule)
    if survey.isKnown(rule) { return update }
    try ProductTable.noteBought(survey.products(rule), in: connection)
    for group in survey.groups {
      let isLeft = group.members.allSatisfy { rule.leaves(survey.revisions[$0], survey.known[$0]) }
      if isLeft && group.customers.count <= 1 { continue }
      let customer = try CustomerTable.resolve(group, in: connection) ?? .make(at: now)
      for member in group.members {
        let (revision, known) = (survey.revisions[member], survey.known[member])
        if known.customer != nil || !rule.leaves(revision, known) {
          update.entries[member].customer = customer
        }
        guard !rule.leaves(revision, known) else { continue }
        try LedgerTable.write(revision.transaction, of: customer, in: connection)
        update.written[revision.transaction.key] = revision.transaction.asOf
        if known.transaction == nil {
          try EntitlementRecordTable.noteLength(of: revision.transaction, in: connection)
        }
        if revision.endsEarlier { update.endsEarlier = true }
        guard revision.isRevocationNews else { continue }
        update.isRevocationNews = true
        let word = TransactionStanding.StoreWord(
          asOf: revision.transaction.asOf, revoked: revision.transaction.revokedDate)
        update.changed += try setWord(word, on: revision.transaction.key, at: now, in: connection)
      }
    }
    return update
  }

  /// Makes the reads of ``record(_:by:heard:besides:and:at:in:)`` that need no other's answer, for a connection that prefetches.
  static func prefetchRecord(
    _ said: [VerifiedTransaction], by rule: LedgerRule, besides others: [VerifiedTransaction],
    in connection: borrowing Connection
  ) throws {
    try LedgerSurvey.look(at: said + others, by: rule, in: connection)
    for transaction in said { try EntitlementRecordTable.noteLength(of: transaction, in: connection) }
  }

  /// Returns the survey of what was said once all the customers that are concerned are locked.
  private static func lockedSurvey(
    of said: [VerifiedTransaction], by rule: LedgerRule, heard: [TransactionKey: LaterDates.Heard],
    besides others: [VerifiedTransaction], and keys: Set<TransactionKey>,
    in connection: borrowing Connection
  ) throws -> LedgerSurvey {
    var known = Set(said.map(\.key))
    let others = others.filter { known.insert($0.key).inserted }
    let keys = keys.subtracting(known)
    while true {
      let survey = try LedgerSurvey(of: said, by: rule, heard: heard, in: connection)
      var customers = survey.customers
      for transaction in others {
        customers.formUnion(
          try LedgerTable.known(of: transaction, joiningAccounts: rule.joinsAccounts, in: connection)
            .customers)
      }
      customers.formUnion(try CustomerTable.customers(of: Array(keys), in: connection))
      if try CustomerTable.lock(customers, in: connection) { return survey }
    }
  }

  /// Takes what stores said of these transactions into the ledger, with the device that showed them, and brings all grants
  /// in line with it: a cancelled transaction revokes its grants, on every device; one that holds again gives back what the
  /// store revoked, and leaves an operator's revocations alone. Answers the transactions as they stand then: a refund that
  /// is known shows also on a receipt from before it; and whether the date of a refund changed. `effect` gets the grants that
  /// changed, where it did or where something ends earlier than was known, in the order of the commits.
  ///
  /// Most answers repeat what is known and cost one read. Throws ``DatabaseError``, unless the rule says that
  /// the statement may be lost and it tells of no refund.
  @discardableResult
  func record(
    _ said: [VerifiedTransaction], by rule: LedgerRule, shownBy device: DeviceIdentifier? = nil,
    then effect: @escaping @Sendable ([Standing]) -> Void
  ) async throws -> (transactions: [VerifiedTransaction], isRevocationNews: Bool) {
    let (now, keys, dates) = (clock.now(), said.map(\.key), laterDates)
    let heard = dates.heard(of: keys)
    let (survey, isDeviceNews) = try await database.read { connection in
      let survey = try LedgerSurvey(of: said, by: rule, heard: heard, in: connection)
      let customers = Set(survey.known.compactMap(\.customer))
      let isDeviceNews = try device.map { device in
        try customers.contains { try CustomerTable.isNews(device, of: $0, at: now, in: connection) }
      }
      return (survey, isDeviceNews ?? false)
    }
    var rule = rule
    if !isDeviceNews, survey.isKnown(rule) {
      if dates.note(survey.later(rule)) != .outdated { return (survey.transactions, false) }
      rule.freshness = .zero
    }
    do {
      let update = try await write(said, by: rule, shownBy: device, at: now, then: effect)
      return (update.entries.map(\.transaction), update.isRevocationNews)
    } catch let failure as DatabaseError {
      // The next question brings it again.
      guard rule.mayBeLost, !survey.revisions.contains(where: \.isRevocationNews) else { throw failure }
      return (survey.transactions, false)
    }
  }

  /// One write; another one where a row was written meanwhile by others, beside which a date was to be kept.
  private func write(
    _ said: [VerifiedTransaction], by rule: LedgerRule, shownBy device: DeviceIdentifier?, at now: Timestamp,
    then effect: @escaping @Sendable ([Standing]) -> Void
  ) async throws -> LedgerUpdate {
    let (keys, dates) = (Set(said.map(\.key)), laterDates)
    dates.begin(keys)
    defer { dates.end(keys) }
    var rule = rule
    while true {
      let (heard, current) = (dates.heard(of: Array(keys)), rule)
      let locks = DatabaseLock.statements(on: said, joiningAccounts: rule.joinsAccounts)
      let update = try await database.write(locking: locks) { connection in
        let update = try Self.record(said, by: current, heard: heard, at: now, in: connection)
        if update.isRevocationNews {
          for refund in update.entries.map(\.transaction) where refund.revokedDate != nil {
            try StopLog.noteRefund(of: refund.key, at: now, in: connection)
          }
        }
        if let device { try Self.note(device, of: update.customers, at: now, in: connection) }
        return update
      } then: { update in
        dates.wrote(update.written)
        if update.isRevocationNews || update.endsEarlier { effect(update.changed) }
      }
      if dates.note(update.later, isWriter: true) != .outdated { return update }
      rule.freshness = .zero
    }
  }

  /// Makes those one customer who bought these at several stores. Customers who have purchases at the same store stay apart:
  /// a customer has one account of a store, and a proof that went from hand to hand would join strangers for ever. So do
  /// those whose purchases name different application accounts. Throws ``DatabaseError`` where the database
  /// cannot be read.
  func join(_ transactions: [TransactionKey]) async throws {
    let isNews = try await database.read { connection in
      try Self.groups(of: transactions, in: connection).contains {
        try Self.isOneCustomer($0.customers, in: connection)
      }
    }
    guard isNews else { return }
    do {
      // The decision rests on all that the customers ever bought, which is theirs.
      try await database.write(locking: []) { connection in
        var groups: [CustomerGroup]
        repeat {
          groups = try Self.groups(of: transactions, in: connection)
        } while try !CustomerTable.lock(Set(groups.flatMap(\.customers)), in: connection)
        for var group in groups {
          // An earlier group may have given one another name.
          var names: Set<CustomerIdentifier> = []
          group.customers = try group.customers.map { try CustomerTable.current($0, in: connection) }
            .filter { names.insert($0).inserted }
          guard try Self.isOneCustomer(group.customers, in: connection) else { continue }
          _ = try CustomerTable.resolve(group, in: connection)
        }
      }
    } catch is DatabaseError {
      // On a disk that cannot be written they stay apart: the next request brings them again.
    }
  }

  /// Those of the transactions that the ledger has.
  private static func groups(
    of transactions: [TransactionKey], in connection: borrowing Connection
  ) throws -> [CustomerGroup] {
    let found = try transactions.compactMap { try LedgerTable.find($0, in: connection) }
    return CustomerGroup.all(of: found.map(\.transaction), known: found.map { [$0.customer] })
  }

  /// Whether several customers are to become one.
  private static func isOneCustomer(
    _ customers: [CustomerIdentifier], in connection: borrowing Connection
  ) throws -> Bool {
    try customers.count > 1 && !CustomerTable.shareStore(customers, in: connection)
  }

  /// Notes that a device was seen with these customers, in a write that has locked them.
  ///
  /// - Parameters:
  ///   - customers: the customers of the transactions that the device showed.
  ///   - granted: those among them with which the device takes a place.
  package static func note(
    _ device: DeviceIdentifier, of customers: Set<CustomerIdentifier>, granted: Set<CustomerIdentifier> = [],
    at now: Timestamp, in connection: borrowing Connection
  ) throws {
    for customer in customers {
      try CustomerTable.note(
        device, of: customer, isGranted: granted.contains(customer), at: now, in: connection)
    }
  }
}
