package import CoreTypes
import PullboxAPI

/// How far an application has read a product, as it tells the server and as others are told: a locator of Readium's, a page, and when and
/// where it was read.
package struct ReadingProgress: Codable, Hashable, Sendable {
  /// The application's device, by a name that no other has and by one for people.
  package struct Device: Codable, Hashable, Sendable {
    package var id: String
    package var name: String?

    package init(id: String, name: String? = nil) {
      self.id = id
      self.name = name
    }
  }

  /// A place in a publication, as Readium's applications name it. Members that are not here are not kept.
  package struct Locator: Codable, Hashable, Sendable {
    /// The place within the resource and the publication.
    package struct Locations: Codable, Hashable, Sendable {
      package var fragments: [String]?
      /// From 0 to 1.
      package var progression: Double?
      /// Counted from one.
      package var position: Int?
      /// From 0 to 1.
      package var totalProgression: Double?
    }

    /// The text at the place and around it.
    package struct Text: Codable, Hashable, Sendable {
      package var before: String?
      package var highlight: String?
      package var after: String?
    }

    package var href: String
    package var type: String
    package var title: String?
    package var locations: Locations?
    package var text: Text?
  }

  package var modified: Timestamp
  package var device: Device
  /// Counted from zero; nil where there are no pages.
  package var page: Int?
  package var locator: Locator?
  /// The place as KOReader names it; nil for what another application told.
  package var position: String?
  /// How much was read, from 0 to 1; nil where it is not known.
  package var progression: Double?

  package init(
    modified: Timestamp, device: Device, page: Int? = nil, locator: Locator? = nil, position: String? = nil,
    progression: Double? = nil
  ) {
    self.modified = modified
    self.device = device
    self.page = page
    self.locator = locator
    self.position = position
    self.progression = progression
  }

  /// Bytes that a document may have.
  package static let maximumLength = ByteCount.kibibytes(16)
  /// Characters of a device's names, and of other texts.
  static let maximumName = 255
  static let maximumText = 4096
  static let maximumFragments = 16
  private static let pages = 0..<1_000_000

  /// The same as it is kept: a time to come is now, and the page and the part that was read follow from the locator where they are not
  /// told. Throws `request-malformed` for texts that are too long and numbers that cannot be.
  ///
  /// - Parameters:
  ///   - now: the time on the server.
  ///   - count: pages of the product; nil where they are not known.
  func kept(at now: Timestamp, of count: Int?) throws(Problem) -> ReadingProgress {
    var kept = self
    kept.modified = min(modified, now)
    kept.page = page ?? locator?.locations?.position.flatMap { $0 > 0 ? $0 - 1 : nil }
    let pages = count.map { 0..<max(1, $0) } ?? Self.pages
    if let page = kept.page, !pages.contains(page) {
      throw Problem(.requestMalformed, "page is a number from 0 to \(pages.upperBound - 1)")
    }
    let places = locator?.locations
    if let position = places?.position {
      guard position > 0, kept.page.map({ $0 == position - 1 }) ?? true else {
        throw Problem(.requestMalformed, "position is the page's number from 1")
      }
    }
    for part in [progression, places?.progression, places?.totalProgression] {
      guard part.map({ (0...1).contains($0) }) ?? true else {
        throw Problem(.requestMalformed, "a progression is a number from 0 to 1")
      }
    }
    let names = [device.id, device.name ?? "x", locator?.type ?? "x"]
    let texts =
      [
        locator?.href, locator?.title, position, locator?.text?.before, locator?.text?.highlight,
        locator?.text?.after,
      ]
      + (places?.fragments ?? []).map(Optional.some)
    guard names.allSatisfy({ (1...Self.maximumName).contains($0.unicodeScalars.count) }),
      texts.allSatisfy({ ($0?.utf8.count ?? 0) <= Self.maximumText }),
      (places?.fragments?.count ?? 0) <= Self.maximumFragments
    else {
      throw Problem(
        .requestMalformed,
        "names have 1 to \(Self.maximumName) characters, other texts \(Self.maximumText) bytes at most")
    }
    let byPage = kept.page.flatMap { page in
      count.map { count in min(1, Double(page + 1) / Double(max(1, count))) }
    }
    kept.progression = places?.totalProgression ?? progression ?? byPage
    return kept
  }

  /// ``progression`` in millionths.
  var millionths: Int? {
    progression.flatMap { Int(exactly: ($0 * Double(ReaderProgress.whole)).rounded()) }
  }
}
