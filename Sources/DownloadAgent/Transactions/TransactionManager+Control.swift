import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import ServiceRuntime

extension TransactionManager {
  /// Transactions of one page of a list, at most.
  static let maximumPage = 1000

  /// One page of the transactions the agent knows, by identifier, from the first after `after`: all of them, or those
  /// that are over or not. A page shorter than `limit` is the last one. Throws what the database throws.
  func statuses(
    _ filter: TransactionFilter? = nil, of session: SessionName? = nil, after: TransactionIdentifier? = nil,
    limit: Int = maximumPage
  ) throws -> [AgentTransaction] {
    try database.transactions(filter, of: session, after: after, limit: limit).map { record, downloads in
      record.status(downloads: downloads, title: titles[record.product])
    }
  }

  /// Nil for a transaction that the agent does not know, or has forgotten.
  func status(_ identifier: TransactionIdentifier) throws -> AgentTransaction? {
    try database.transaction(identifier).map { record in
      record.status(
        downloads: try database.downloadIdentifiers(of: identifier), title: titles[record.product])
    }
  }

  /// Forgets the transactions that are over; returns how many there were. It forgets them in the database;
  /// none of them is in memory.
  func clearHistory() throws -> Int { try database.removeEndedTransactions() }

  /// Notes which transactions were taken back, or count again (nil). Observers are told. Throws what cannot be saved.
  func noteRevoked(_ told: [TransactionIdentifier: Timestamp?]) async throws {
    for record in try database.noteRevoked(told) {
      // One that is not over ends by what the services answer about it.
      if runner[record.identifier] == nil { await publish(record) }
    }
  }

  /// Transactions that are not over. One that is over and about to be forgotten is told as finished already.
  var unfinishedCount: Int { runner.entries.values.count { !$0.record.machine.isOver } }

  /// Everything the account owns. Throws the ``Problem`` that stands in the way. Asks the server now.
  func owned() async throws(Problem) -> [EntitledProduct] { try await holdings().products }

  /// The same, with what the server says beside it. Throws the service's problem, or `unavailable` where none
  /// could be asked.
  func holdings() async throws(Problem) -> EntitlementsResponse {
    do {
      return try await entitlements()
    } catch {
      throw error.answer
    }
  }

  /// Returns the content that may be removed to make room for the job: owned products that no unfinished transaction or
  /// download delivers. It is empty while a service cannot be asked. Content that was placed after the job
  /// was first asked for is kept as well (`placedBefore`).
  func removable(for job: ContentJobIdentifier) async -> Library.Removable {
    guard let owned = try? await owned() else { return Library.Removable() }
    var needed = await downloads.unfinishedProducts()
    do {
      for entry in runner.entries.values where !entry.record.machine.isOver {
        needed.insert(entry.record.product)
        // What a subscription opens has other names than it.
        needed.formUnion(try database.downloads(of: entry.record.identifier).map(\.product))
      }
    } catch {
      log.warning("what unfinished transactions need cannot be read", ["error": LogValue(error)])
      return Library.Removable()
    }
    return Library.Removable(
      products: Set(owned.map(\.product)).subtracting(needed),
      placedBefore: await downloads.firstRequest(for: job))
  }

  /// Starts a download of a product that is owned, whatever the library holds of it, unless one is under way. Throws the
  /// ``Problem`` that stands in the way. It is `purchase-required` for what is not owned any more.
  ///
  /// - Parameters:
  ///   - section: the part of the content that is wanted; nil for the content itself.
  ///   - version: that of the content which the section is wanted for: another one that is offered now is `state-conflict`.
  func refetch(
    _ product: ProductIdentifier, section: SectionTag? = nil, of version: ContentVersion? = nil
  ) async throws -> DownloadIdentifier? {
    guard let item = try await owned().first(where: { $0.product == product }) else {
      throw Problem(.purchaseRequired, "\(product) is not owned any more")
    }
    if let version, version != item.version {
      throw Problem(
        .stateConflict, "version \(version) is read here, and the server has version \(item.version) now")
    }
    return try await downloads.addMissing(product, section: section, for: item.transaction)
  }

  /// A product that the account did not own a moment ago, by the grant that the server has for it now: it was bought or released
  /// between the two questions. Throws why it cannot be had, as the server says it: a period that ended, a refund, no place for
  /// this device; `purchase-required` for what it does not know.
  private func boughtMeanwhile(_ product: ProductIdentifier) async throws(Problem) -> EntitledProduct {
    do {
      let granted = try await store.withReceipt { [server] proof async throws(APICallError) in
        try await server.grant(product, for: nil, proof: proof)
      }
      return EntitledProduct(
        product: product, version: granted.download.version, length: granted.download.length,
        because: "granted", transaction: granted.transaction, state: GrantState.granted.rawValue)
    } catch {
      guard error.problem?.code != .productUnknown else {
        throw Problem(.purchaseRequired, "\(product) is not owned")
      }
      throw error.answer
    }
  }

  /// Starts a download for everything that is owned, wanted and not in the library, and returns those products in the order
  /// that is wanted. Throws the ``Problem`` that stands in the way, and starts nothing then; `purchase-required`, or what the server says
  /// more exactly, for a wanted product that is not owned. `noteTitles` is called before that with those of which no title is known.
  ///
  /// - Parameter user: the number of the user who asks, who answers for the conditions that are to be passed.
  func restorePurchases(
    _ wanted: AgentRestoreRequest = AgentRestoreRequest(), by user: UInt32? = nil,
    noteTitles: @Sendable ([ProductIdentifier]) async -> Void = { _ in }
  ) async throws -> [ProductIdentifier] {
    var owned = try await owned()
    for product in wanted.products ?? [] where !owned.contains(where: { $0.product == product }) {
      owned.append(try await boughtMeanwhile(product))
    }
    var started: [ProductIdentifier] = []
    let held = try await downloads.steps.library.items()
    let missing = owned.ordered(by: wanted.order).filter { item in
      (wanted.products?.contains(item.product) ?? true)
        && !held.contains {
          $0.product == item.product && $0.version == item.version && $0.state != .damaged
        }
    }
    await noteTitles(
      missing.map(\.product).filter { titles[$0] == nil }.prefix(wanted.limit ?? .max).map { $0 })
    let ignored = (wanted.ignore ?? []).map { IgnoredCondition(name: $0, by: user) }
    // One that is under way and is to pass conditions counts as well: no more than so many pass.
    var left = wanted.limit ?? .max
    for item in missing where !started.contains(item.product) {
      guard left > 0 else { break }
      let begun = try await downloads.addMissing(
        item.product, for: item.transaction, session: wanted.session, ignored: ignored)
      if begun != nil || !ignored.isEmpty { left -= 1 }
      if begun != nil {
        started.append(item.product)
      }
    }
    return started
  }
}

extension StepFailure {
  /// The agent's answer to its own client: the service's problem, or `unavailable` if no service could be asked.
  var answer: Problem {
    problem ?? Problem(.unavailable, "a service could not be asked: \(reason)", retryAfterSeconds: 5)
  }
}

extension APICallError {
  /// The problem that the agent returns to its own client when a call to `peer` failed.
  func problem(of peer: StepFailure.Peer) -> Problem {
    if case .problem(let problem) = self { return problem }
    return Problem(peer == .store ? .storeUnavailable : .unavailable, description, retryAfterSeconds: 5)
  }
}
