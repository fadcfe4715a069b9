/// One immutable release of a product's content: 1 to 8 dotted integers (`1.10`), ordered component by component as
/// numbers; missing components count as zero, so `1` and `1.0` are the same version.
public struct ContentVersion: Sendable {
  /// The numbers between the dots, the most significant first; at least one.
  public let components: [UInt32]

  /// Nil unless `text` is 1 to 8 integers below 2^32, separated by single dots, without signs or leading zeros.
  public init?(_ text: String) {
    let parts = text.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
    guard (1...8).contains(parts.count) else { return nil }
    var components: [UInt32] = []
    for part in parts {
      guard (1...10).contains(part.count), part.allSatisfy({ (0x30...0x39).contains($0) }),
        part.count == 1 || part.first != 0x30,
        let component = UInt32(String(decoding: part, as: UTF8.self))
      else { return nil }
      components.append(component)
    }
    self.components = components
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
