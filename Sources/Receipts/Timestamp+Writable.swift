import CoreTypes

extension Timestamp {
  /// The last millisecond of the year 9999: RFC 3339 cannot write what follows.
  static let latestWritable: Int64 = 253_402_300_799_999

  /// A date that a store tells, in milliseconds after 1970. One outside of the years 1970 to 9999 counts as the nearest of these.
  init(clampingMilliseconds milliseconds: Int64) {
    self.init(millisecondsSinceEpoch: min(max(milliseconds, 0), Self.latestWritable))
  }

  /// A date that a store tells in RFC 3339, which has the years before 1970 as well, brought to the same years. Nil for what is no date,
  /// and for one whose offset leads beyond 9999.
  init?(clampingRFC3339 text: String) {
    guard let date = Timestamp(rfc3339: text) else { return nil }
    self.init(clampingMilliseconds: date.millisecondsSinceEpoch)
  }

  /// This moment, or the last one that RFC 3339 can write where it is later. For what is computed from a store's dates.
  var writable: Timestamp { min(self, Timestamp(millisecondsSinceEpoch: Self.latestWritable)) }
}
