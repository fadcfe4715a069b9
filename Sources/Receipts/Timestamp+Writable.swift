import CoreTypes

extension Timestamp {
  /// This moment, or the last that RFC 3339 can write where it is later: the end of the year 9999. For what is computed from a
  /// store's dates.
  var writable: Timestamp { min(self, Timestamp(millisecondsSinceEpoch: 253_402_300_799_999)) }
}
