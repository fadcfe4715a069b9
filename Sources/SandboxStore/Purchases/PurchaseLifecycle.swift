import Commerce
import CoreTypes

/// The state machine of one transaction: purchasing → purchased → purchased and finished, or purchasing →
/// failed. A pure value whose only action is to be persisted, which its ``Outcome`` asks for.
struct PurchaseLifecycle: Hashable, Sendable {
  /// What was sold, once it is.
  struct Sale: Hashable, Sendable {
    var type: ProductType
    /// The first transaction of this purchase, which may be this one.
    var originalID: Int64
    var date: Timestamp
    var expires: Timestamp?
  }

  enum State: Hashable, Sendable {
    case purchasing
    /// It stays in the queue until it is finished.
    case purchased(Sale, finished: Timestamp?)
    /// Nothing is owed: it has left the queue.
    case failed(PurchaseFailure)
  }

  enum Event: Hashable, Sendable {
    case sold(Sale)
    case refused(PurchaseFailure)
    /// The delivery server has seen everything delivered that this transaction pays for.
    case finish(at: Timestamp)
  }

  enum Outcome: Hashable, Sendable {
    case changed
    /// The event had happened before: there is nothing to persist, and the answer is the same.
    case unchanged
    /// The event does not fit the state, which stays.
    case refused
  }

  private(set) var state: State

  init(_ state: State = .purchasing) {
    self.state = state
  }

  mutating func handle(_ event: Event) -> Outcome {
    switch (state, event) {
    case (.purchasing, .sold(let sale)):
      state = .purchased(sale, finished: nil)
      return .changed
    case (.purchasing, .refused(let failure)):
      state = .failed(failure)
      return .changed
    case (.purchased(let sale, finished: nil), .finish(let date)):
      state = .purchased(sale, finished: date)
      return .changed
    case (.purchased(_, finished: .some), .finish):
      return .unchanged
    case (.purchasing, .finish), (.failed, _), (.purchased, .sold), (.purchased, .refused):
      return .refused
    }
  }
}

/// Why a transaction failed. The text is what clients see in a transaction's `error`.
struct PurchaseFailure: RawRepresentable, Hashable, Sendable {
  let rawValue: String

  /// The catalog does not sell it.
  static let productUnknown = PurchaseFailure(rawValue: "product-unknown")
  static let catalogUnavailable = PurchaseFailure(rawValue: "catalogue-unavailable")
  /// A test asked for it.
  static let paymentDeclined = PurchaseFailure(rawValue: "payment-declined")
  /// The store ended in the middle of the purchase and reported no sale: there was none.
  static let interrupted = PurchaseFailure(rawValue: "interrupted")
}
