package import CoreTypes
import PullboxAPI

/// A statement of how much of a purchase was delivered, for a store that decides on a refund. The customer has agreed that
/// the store learns of it.
package struct ConsumptionStatement: Codable, Hashable, Sendable {
  /// One product that the purchase pays for, on the device that got the most of it.
  package struct Delivery: Hashable, Sendable {
    /// The bytes that were sent; bytes that were sent twice count twice.
    package var sent: ByteCount
    /// Bytes of the package.
    package var length: ByteCount
    /// The device reported that it holds all of it.
    package var isCompleted: Bool

    package init(sent: ByteCount, length: ByteCount, isCompleted: Bool) {
      self.sent = sent
      self.length = length
      self.isCompleted = isCompleted
    }
  }

  /// 100 %.
  package static let whole = 100_000

  /// Whether all that was granted has arrived.
  package var isDelivered: Bool
  /// How much of the content was sent, in thousandths of a percent.
  package var share: Int
  /// Whether a part of it could be seen before the purchase.
  package var hadSample: Bool
  /// The store takes no answer after that; nil in rows of earlier versions.
  package var answerBy: Timestamp?

  /// Nothing is delivered of what was never granted.
  package init(of deliveries: [Delivery], hadSample: Bool, answerBy: Timestamp? = nil) {
    self.answerBy = answerBy
    isDelivered = !deliveries.isEmpty && deliveries.allSatisfy(\.isCompleted)
    self.hadSample = hadSample
    let length = deliveries.reduce(0) { $0 + Double($1.length.rawValue) }
    let sent = deliveries.reduce(0) { total, delivery in
      total
        + Double(
          delivery.isCompleted ? delivery.length.rawValue : min(delivery.sent, delivery.length).rawValue)
    }
    share =
      isDelivered
      ? Self.whole
      : length > 0 ? Int(exactly: (sent / length * Double(Self.whole)).rounded(.down)) ?? Self.whole : 0
  }
}
