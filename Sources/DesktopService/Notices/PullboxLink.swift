/// A link of the scheme `pullbox`: a question to a person, and never a purchase by itself.
public enum PullboxLink: Hashable, Sendable {
  /// `pullbox:buy/PRODUCT`.
  case buy(product: String)
  /// `pullbox:read/PRODUCT`.
  case read(product: String)
  /// `pullbox:restore`.
  case restore

  /// The scheme's name.
  public static let scheme = "pullbox"
  /// The longest link that is read, in bytes.
  public static let maximumLength = 512

  /// Nil for another link, and for one that says more than these.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.maximumLength else { return nil }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].lowercased() == Self.scheme else { return nil }
    var rest = parts[1]
    // Programs write links with an authority, too.
    if rest.hasPrefix("//") { rest = rest.dropFirst(2) }
    let words = rest.split(separator: "/", omittingEmptySubsequences: false)
    switch (words.first, words.count) {
    case ("restore"?, 1): self = .restore
    case ("restore"?, 2) where words[1].isEmpty: self = .restore
    case ("buy"?, 2):
      guard let product = Self.product(words[1]) else { return nil }
      self = .buy(product: product)
    case ("read"?, 2):
      guard let product = Self.product(words[1]) else { return nil }
      self = .read(product: product)
    default: return nil
    }
  }

  /// The characters of products' identifiers; nothing of a link is decoded.
  private static func product(_ word: Substring) -> String? {
    guard (1...255).contains(word.utf8.count) else { return nil }
    let isPlain = word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    return isPlain ? String(word) : nil
  }
}
