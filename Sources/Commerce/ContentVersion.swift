/// One immutable release of a product's content: 1 to 8 dotted integers (`1.10`), ordered component by component as
/// numbers; missing components count as zero, so `1` and `1.0` are the same version.
public struct ContentVersion: Sendable {
  /// The numbers between the dots, the most significant first; at least one.
  public let components: [UInt32]

  /// Nil unless `text` is 1 to 8 integers below 2^32, separated by single dots, without signs or leading zeros.
  public init?(_ text: String) {
    var components: [UInt32] = []
    /// The number that is being read; nil before its first digit.
    var number: UInt32?
    for byte in text.utf8 {
      switch (byte, number) {
      case (0x2E, let whole?) where components.count < 7:
        components.append(whole)
        number = nil
      case (0x30...0x39, nil): number = UInt32(byte - 0x30)
      case (0x30...0x39, let start?) where start > 0:
        let (tens, isTooLarge) = start.multipliedReportingOverflow(by: 10)
        let (sum, isTooLargeByOne) = tens.addingReportingOverflow(UInt32(byte - 0x30))
        guard !isTooLarge, !isTooLargeByOne else { return nil }
        number = sum
      default: return nil
      }
    }
    guard let number else { return nil }
    self.components = components + [number]
  }

  /// The numbers separated by dots, without leading zeros.
  public var description: String { components.map(String.init).joined(separator: ".") }

  /// The components without trailing zeros: what equality and order look at.
  private var significant: ArraySlice<UInt32> {
    components[..<((components.lastIndex { $0 != 0 } ?? -1) + 1)]
  }
}

extension ContentVersion: Hashable {
  /// Versions are equal when their numbers are.
  public static func == (left: ContentVersion, right: ContentVersion) -> Bool {
    left.significant == right.significant
  }

  /// Hashes the numbers.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(significant)
  }
}

extension ContentVersion: Comparable {
  /// Orders versions number by number: 1.10 is newer than 1.9.
  public static func < (left: ContentVersion, right: ContentVersion) -> Bool {
    left.significant.lexicographicallyPrecedes(right.significant)
  }
}

extension ContentVersion: LosslessStringCodable {}
