import Crypto

/// The four words by which an application for reading signs in. They are made by a rule, and not taken from a list: each is one of
/// 102,400, so that four have 66 bits, and can be said and typed.
package enum ReaderPassword {
  static let words = 4
  /// Letters that are told apart when they are said and when they are written.
  private static let consonants = Array("bdfghjklmnprstvz")
  private static let vowels = Array("aeiou")

  /// A new one: `kabiz-motur-felan-sipod`.
  package static func make() -> String {
    (0..<words).map { _ in word() }.joined(separator: "-")
  }

  /// The same without what people change when they type it: case, and what stands between the words.
  package static func canonical(_ text: String) -> String {
    text.lowercased().split { $0 == "-" || $0.isWhitespace }.joined(separator: "-")
  }

  /// A name that tells nothing: a word and five digits.
  package static func makeName() -> String {
    word() + RandomBytes.make(5).map { String($0 % 10) }.joined()
  }

  private static func word() -> String {
    String((0..<5).map { place in pick(place.isMultiple(of: 2) ? consonants : vowels) })
  }

  /// One of the letters, each as likely as the others.
  private static func pick(_ letters: [Character]) -> Character {
    let bound = 256 / letters.count * letters.count
    while true {
      if let byte = RandomBytes.make(1).first, Int(byte) < bound { return letters[Int(byte) % letters.count] }
    }
  }
}
