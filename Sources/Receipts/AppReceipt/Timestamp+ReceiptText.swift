import CoreTypes

extension Timestamp {
  /// RFC 3339 in UTC with whole seconds, as receipts write dates.
  var receiptText: String {
    String(rfc3339.dropLast(5)) + "Z"
  }
}
