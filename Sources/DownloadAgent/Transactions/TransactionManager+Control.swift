import Commerce
import PullboxAPI
import PullboxAPIClient

extension TransactionManager {
  /// Every transaction the agent knows, by identifier.
  func statuses() async -> [AgentTransaction] {
    var statuses: [AgentTransaction] = []
    for identifier in runner.entries.keys.sorted(by: { $0.description < $1.description }) {
      let identifiers = await downloads.downloads(of: identifier)
      if let record = runner[identifier]?.record { statuses.append(record.status(downloads: identifiers)) }
    }
    return statuses
  }

  var unfinishedCount: Int { runner.entries.values.count { !$0.record.machine.isOver } }

  /// Everything the account owns. Throws the ``Problem`` that stands in the way.
  func owned() async throws -> [EntitledProduct] {
    do {
      return try await entitlements()
    } catch {
      throw error.problem
        ?? Problem(.unavailable, "a service could not be asked: \(error.reason)", retryAfterSeconds: 5)
    }
  }

  /// Starts a download for everything that is owned and not in the library, and returns those products.
  /// Throws the ``Problem`` that stands in the way.
  func restorePurchases() async throws -> [ProductIdentifier] {
    let owned = try await owned()
    let held = try database.libraryItems()
    var started: [ProductIdentifier] = []
    for item in owned where !started.contains(item.product) {
      if held.contains(where: { $0.product == item.product && $0.version == item.version }) { continue }
      if try await downloads.addMissing(item.product, for: item.transaction) { started.append(item.product) }
    }
    return started
  }
}

extension APICallError {
  /// The problem that the agent returns to its own client when a call to `peer` failed.
  func problem(of peer: StepFailure.Peer) -> Problem {
    if case .problem(let problem) = self { return problem }
    return Problem(peer == .store ? .storeUnavailable : .unavailable, description, retryAfterSeconds: 5)
  }
}
