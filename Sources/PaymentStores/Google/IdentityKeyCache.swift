package import CoreTypes
import PullboxAPI
package import Receipts
import ServiceRuntime
import Synchronization

/// The keys by which callers are known, fetched when a token names one that is not known, and again after an
/// hour. Questions at one time share one answer.
package final class IdentityKeyCache: Sendable {
  /// How long a set is believed.
  static let lifetime: Duration = .seconds(3600)
  /// A token that names an unknown key leads to no more than one question in this time, answered or not.
  static let pause: Duration = .seconds(60)

  /// The keys with the time at which they were fetched, and the last failure.
  private struct State {
    var keys: IdentityKeys?
    var fetched: MonotonicInstant?
    var failed: (at: MonotonicInstant, refusal: StoreRefusal)?
  }

  private let interface: GoogleInterfaceClient
  private let address: String
  private let timer: any MonotonicClock
  private let state = Mutex(State())
  private let questions = SharedQuestions<String, IdentityKeys>()

  /// Creates a cache without keys; the first token fetches them.
  package init(interface: GoogleInterfaceClient, address: String, timer: any MonotonicClock) {
    self.interface = interface
    self.address = address
    self.timer = timer
  }

  /// Throws the refusal: not authentic, or undetermined while the keys cannot be had.
  package func check(
    _ token: String, _ expected: IdentityToken.Expectation, at now: Timestamp
  ) async throws(StoreRefusal) {
    guard let name = IdentityToken.keyIdentifier(of: token) else {
      throw .final(.receiptNotAuthentic, "the sender's token is none of RS256", onStoresWord: false)
    }
    let keys = try await keys(naming: name)
    do {
      _ = try IdentityToken(text: token, keys: keys, expected: expected, at: now)
    } catch {
      throw .final(.receiptNotAuthentic, "\(error)", onStoresWord: false)
    }
  }

  /// Returns the keys that are known, unless they are old or lack that name and may be fetched again.
  private func keys(naming name: String) async throws(StoreRefusal) -> IdentityKeys {
    let now = timer.now()
    let state = state.locked { $0 }
    if let keys = state.keys, let fetched = state.fetched {
      let age = now - fetched
      if age < Self.pause || age < Self.lifetime && keys[name] != nil { return keys }
    }
    if let failed = state.failed, now - failed.at < Self.pause { throw failed.refusal }
    do {
      let (keys, _) = try await questions.answer(to: address) { [self] in
        try await interface.identityKeys(address)
      }
      self.state.locked { state in
        state.keys = keys
        state.fetched = now
        state.failed = nil
      }
      return keys
    } catch let failure as GoogleInterfaceClient.Failure {
      let refusal = StoreRefusal.undetermined(
        retryAfter: .seconds(30), cause: failure.detail, outcome: .abandoned)
      // A question that the caller gave up says nothing of the address.
      if failure.kind != .abandoned { self.state.locked { $0.failed = (now, refusal) } }
      throw refusal
    } catch {
      throw .abandoned
    }
  }
}
