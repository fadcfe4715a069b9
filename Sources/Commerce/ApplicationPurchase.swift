public import CoreTypes

/// The origin of a transaction that is the purchase of an application itself, not of a product sold in it.
public struct ApplicationOrigin: Hashable, Sendable {
  /// The version in which the application was first bought; nil for one whose name is not of numbers between dots.
  public let version: ApplicationVersion?

  /// Creates the origin.
  public init(version: ApplicationVersion?) {
    self.version = version
  }
}

extension VerifiedTransaction {
  /// The purchase of an application, for those who have checked the proof. Nil for a number or an application whose name cannot be
  /// that of a transaction.
  ///
  /// `number` is the store's name of the download, which no other customer has. `licenseEndDate` is when a withdrawn license of a volume
  /// purchase ends, as of `asOf`.
  public static func purchase(
    of application: ApplicationIdentifier, vouchedForBy store: StoreIdentifier,
    in environment: StoreEnvironment, number: String, version: String?, date: Timestamp,
    licenseEndDate: Timestamp? = nil, asOf: Timestamp
  ) -> VerifiedTransaction? {
    guard let id = TransactionIdentifier("application-\(number)"),
      let product = ProductIdentifier("application-\(application)")
    else { return nil }
    return VerifiedTransaction(
      vouchedForBy: store, in: environment, id: id, originalID: id, product: product, purchaseDate: date,
      licenseEndDate: licenseEndDate, licenseAsOf: asOf, application: application,
      origin: ApplicationOrigin(version: version.flatMap { ApplicationVersion($0) }), asOf: asOf)
  }
}

/// A condition that gives a product to customers who bought the application before it was sold otherwise.
public enum OwnershipCondition: Hashable, Sendable {
  /// The customer first bought the application in a version below this one.
  case originalVersionBelow(ApplicationVersion)
  /// The customer first bought the application before this moment.
  case originalPurchaseBefore(Timestamp)

  /// False for what is no purchase of an application, and for a version that cannot be compared.
  package func holds(for purchase: VerifiedTransaction) -> Bool {
    guard let origin = purchase.origin else { return false }
    return switch self {
    case .originalVersionBelow(let version): origin.version.map { $0 < version } ?? false
    case .originalPurchaseBefore(let date): purchase.purchaseDate < date
    }
  }
}

extension OwnershipCondition: Codable {
  private enum CodingKeys: CodingKey {
    case originalVersionBelow
    case originalPurchaseBefore
  }

  /// Reads an object with one of the two members. Throws `DecodingError`, also for both of them and for none.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let version = try container.decodeIfPresent(ApplicationVersion.self, forKey: .originalVersionBelow)
    let date = try container.decodeIfPresent(Timestamp.self, forKey: .originalPurchaseBefore)
    switch (version, date) {
    case (let version?, nil): self = .originalVersionBelow(version)
    case (nil, let date?): self = .originalPurchaseBefore(date)
    default:
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "one of originalVersionBelow and originalPurchaseBefore is needed"))
    }
  }

  /// Writes an object with one member.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .originalVersionBelow(let version): try container.encode(version, forKey: .originalVersionBelow)
    case .originalPurchaseBefore(let date): try container.encode(date, forKey: .originalPurchaseBefore)
    }
  }
}
