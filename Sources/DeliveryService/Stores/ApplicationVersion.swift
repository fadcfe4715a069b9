/// The version of an application as its receipts have it: integers between dots, of any length and also with zeros in front
/// (`2024.01.05`), compared one by one as numbers. What is missing at the end counts as zero.
struct ApplicationVersion: Sendable, CustomStringConvertible {
  let description: String
  /// The digits of each number without zeros in front; none for zero. None of the last ones is zero.
  private let numbers: [[UInt8]]

  /// Nil for anything else, and for more than 64 characters.
  init?(_ text: String) {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard text.utf8.count <= 64, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(digits.contains) }) else {
      return nil
    }
    description = text
    var numbers = parts.map { Array($0.drop { $0 == UInt8(ascii: "0") }) }
    while numbers.last?.isEmpty == true { numbers.removeLast() }
    self.numbers = numbers
  }
}

extension ApplicationVersion: Comparable {
  static func == (a: ApplicationVersion, b: ApplicationVersion) -> Bool { a.numbers == b.numbers }

  static func < (a: ApplicationVersion, b: ApplicationVersion) -> Bool {
    a.numbers.lexicographicallyPrecedes(b.numbers) { left, right in
      left.count == right.count ? left.lexicographicallyPrecedes(right) : left.count < right.count
    }
  }
}
