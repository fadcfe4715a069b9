public import PullboxAPI

/// `POST /v1/readers`: a ``ProofList``'s members, the device that shows them, and what the key is for.
public struct ReaderKeyRequest: Codable, Sendable {
  /// Characters of a title, at most.
  public static let maximumTitle = 100

  /// The proofs of the purchases.
  public var proofs: ProofList
  /// The device that asks.
  public var device: Device
  /// The customer's name for the application or its device: `Tablet`. Absent for a list.
  public var title: String?
  /// The territory whose prices the application is shown.
  public var territory: String?
  /// In whose words, a BCP 47 tag.
  public var locale: String?

  /// Creates the document from its members.
  public init(
    proofs: ProofList, device: Device, title: String? = nil, territory: String? = nil, locale: String? = nil
  ) {
    self.proofs = proofs
    self.device = device
    self.title = title
    self.territory = territory
    self.locale = locale
  }

  private enum CodingKeys: CodingKey {
    case device, title, territory, locale
  }

  /// Reads the proof's members from the same object as the others. Throws `DecodingError`.
  public init(from decoder: any Decoder) throws {
    proofs = try ProofList(from: decoder)
    let container = try decoder.container(keyedBy: CodingKeys.self)
    device = try container.decode(Device.self, forKey: .device)
    title = try container.decodeIfPresent(String.self, forKey: .title)
    territory = try container.decodeIfPresent(String.self, forKey: .territory)
    locale = try container.decodeIfPresent(String.self, forKey: .locale)
  }

  /// Writes the proof's members into the same object as the others.
  public func encode(to encoder: any Encoder) throws {
    try proofs.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(device, forKey: .device)
    try container.encodeIfPresent(title, forKey: .title)
    try container.encodeIfPresent(territory, forKey: .territory)
    try container.encodeIfPresent(locale, forKey: .locale)
  }
}
