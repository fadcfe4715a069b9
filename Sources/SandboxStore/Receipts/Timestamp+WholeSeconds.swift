import CoreTypes

extension Timestamp {
  /// Receipts know whole seconds only, so the store's dates of purchases are whole too.
  var wholeSeconds: Timestamp { Timestamp(millisecondsSinceEpoch: secondsSinceEpoch * 1000) }
}
