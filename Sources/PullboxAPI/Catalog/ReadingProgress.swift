public import Commerce
public import CoreTypes

/// How far an application has read a product, as it tells and as others are told: a locator of Readium's, a page, and when and where it was
/// read. Of two words about a product the later counts, and of two of one time that of the device whose name comes behind.
public struct ReadingProgress: Codable, Hashable, Sendable {
  /// The application's device, by a name that no other has and by one for people.
  public struct Device: Codable, Hashable, Sendable {
    /// The name that no other device has.
    public var id: String
    /// The name for people; absent for none.
    public var name: String?

    /// Creates the document from its members.
    public init(id: String, name: String? = nil) {
      self.id = id
      self.name = name
    }
  }

  /// A place in a publication, as Readium's applications name it. Members that are not here are not kept.
  public struct Locator: Codable, Hashable, Sendable {
    /// The place within the resource and the publication.
    public struct Locations: Codable, Hashable, Sendable {
      /// Parts of addresses that lead to the place; absent for none.
      public var fragments: [String]?
      /// The part of the resource that was read, from 0 to 1; absent where it is not known.
      public var progression: Double?
      /// The page, counted from one; absent where there are none.
      public var position: Int?
      /// The part of the publication that was read, from 0 to 1; absent where it is not known.
      public var totalProgression: Double?

      /// Creates the document from its members.
      public init(
        fragments: [String]? = nil, progression: Double? = nil, position: Int? = nil,
        totalProgression: Double? = nil
      ) {
        self.fragments = fragments
        self.progression = progression
        self.position = position
        self.totalProgression = totalProgression
      }
    }

    /// The text at the place and around it.
    public struct Text: Codable, Hashable, Sendable {
      /// The text before the place; absent for none.
      public var before: String?
      /// The text at the place; absent for none.
      public var highlight: String?
      /// The text behind the place; absent for none.
      public var after: String?

      /// Creates the document from its members.
      public init(before: String? = nil, highlight: String? = nil, after: String? = nil) {
        self.before = before
        self.highlight = highlight
        self.after = after
      }
    }

    /// The address of the resource.
    public var href: String
    /// The resource's media type.
    public var type: String
    /// The title of the part; absent for none.
    public var title: String?
    /// The place within the resource; absent where it is not told.
    public var locations: Locations?
    /// The text there; absent where it is not told.
    public var text: Text?

    /// Creates the document from its members.
    public init(
      href: String, type: String, title: String? = nil, locations: Locations? = nil, text: Text? = nil
    ) {
      self.href = href
      self.type = type
      self.title = title
      self.locations = locations
      self.text = text
    }
  }

  /// When it was read. A time to come is taken for now.
  public var modified: Timestamp
  /// Where it was read.
  public var device: Device
  /// The page, counted from zero; absent where there are no pages.
  public var page: Int?
  /// The place as Readium's applications name it; absent where it is not told.
  public var locator: Locator?
  /// The place as KOReader names it; absent for what another application told.
  public var position: String?
  /// How much was read, from 0 to 1; absent where it is not known.
  public var progression: Double?
  /// The version that was read, which ``page`` counts in; absent where it is not told.
  public var version: ContentVersion?
  /// The name of the page's file, by which it is found in another version; absent where it is not told.
  public var pageName: String?

  /// Creates the document from its members.
  public init(
    modified: Timestamp, device: Device, page: Int? = nil, locator: Locator? = nil, position: String? = nil,
    progression: Double? = nil, version: ContentVersion? = nil, pageName: String? = nil
  ) {
    self.modified = modified
    self.device = device
    self.page = page
    self.locator = locator
    self.position = position
    self.progression = progression
    self.version = version
    self.pageName = pageName
  }

  /// The media type of the document.
  public static let mediaType = "application/vnd.readium.progression+json"
  /// Bytes that a document may have.
  public static let maximumLength = ByteCount.kibibytes(16)
  /// All of a product, in the unit of ``millionths``.
  package static let whole = 1_000_000
  /// Characters of a device's names, and bytes of other texts.
  static let maximumName = 255
  static let maximumText = 4096
  static let maximumFragments = 16
  private static let pages = 0..<1_000_000

  /// The same as it is kept: a time to come is now, and the page and the part that was read follow from the locator where they are not
  /// told. Throws `request-malformed` for texts that are too long and numbers that cannot be.
  ///
  /// - Parameters:
  ///   - now: the time on the server, or on the device.
  ///   - count: pages of the product; nil where they are not known.
  package func kept(at now: Timestamp, of count: Int?) throws(Problem) -> ReadingProgress {
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
        locator?.href, locator?.title, position, pageName, locator?.text?.before, locator?.text?.highlight,
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
    kept.progression =
      places?.totalProgression ?? progression ?? kept.page.flatMap { Self.progression(at: $0, of: count) }
    return kept
  }

  /// How much is read with that page, counted from zero, of so many; nil where they are not known.
  package static func progression(at page: Int, of count: Int?) -> Double? {
    count.map { count in min(1, Double(page + 1) / Double(max(1, count))) }
  }

  /// ``progression`` in millionths.
  package var millionths: Int? {
    progression.flatMap { Int(exactly: ($0 * Double(Self.whole)).rounded()) }
  }
}
