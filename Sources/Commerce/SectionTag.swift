/// The name of a section of content (`chapter-2`, `lang-fr`, `hires`): 1 to 64 bytes of `a-z 0-9 -`, neither the first nor the last a
/// dash. Unique within one version of a product, and the same from version to version.
public struct SectionTag: Hashable, Sendable {
  /// The tag as manifests and requests write it.
  public let description: String

  /// The length of a tag in bytes, at most.
  public static let maximumLength = 64

  /// Nil when `description` is no such name.
  public init?(_ description: String) {
    let bytes = description.utf8
    guard (1...Self.maximumLength).contains(bytes.count), bytes.first != 0x2D, bytes.last != 0x2D,
      bytes.allSatisfy({ (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D })
    else { return nil }
    self.description = description
  }
}

extension SectionTag: LosslessStringCodable {}

extension SectionTag: Comparable {
  /// Orders tags by their bytes, as a manifest lists them.
  public static func < (left: SectionTag, right: SectionTag) -> Bool {
    left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
  }
}

/// When a device fetches the files of a section.
public enum SectionPolicy: String, Hashable, Sendable, ListedWords {
  /// With the content: the transaction ends only once they are placed. What belongs to no section is fetched so.
  case required
  /// Behind the required files, without being asked: the transaction ends before.
  case prefetch
  /// When the section is asked for.
  case onDemand = "on-demand"

  /// Nothing says that it comes by itself.
  public static var fallback: SectionPolicy? { .onDemand }
}
