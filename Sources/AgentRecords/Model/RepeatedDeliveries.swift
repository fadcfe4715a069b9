package import Commerce
package import CoreTypes

/// Products that a server owes by what it says, and that have been delivered here: its record of their reports is lost, as where the state
/// of an earlier day was put back. Each is delivered once more, and not again within ``pause``, whatever the server goes on to say. Pure: it is
/// told the time.
package struct RepeatedDeliveries: Hashable, Sendable {
  /// Content that is here is read once for a delivery: a server that never takes a report costs no more than that.
  static let pause: Duration = .seconds(3600)
  /// Products that are remembered at most; the others wait.
  static let bound = 1024

  private var latest: [ProductIdentifier: MonotonicInstant] = [:]

  package init() {}

  /// Whether the product is to be delivered once more now.
  package mutating func take(_ product: ProductIdentifier, at now: MonotonicInstant) -> Bool {
    latest = latest.filter { now - $0.value < Self.pause }
    guard latest[product] == nil, latest.count < Self.bound else { return false }
    latest[product] = now
    return true
  }
}
