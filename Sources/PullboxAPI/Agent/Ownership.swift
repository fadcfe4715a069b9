public import Commerce
public import CoreTypes

/// `GET /v1/library/{product}/ownership` of the agent: because of what a product is owned, until when, and when that was heard. It asks
/// no service.
public struct ProductOwnership: Codable, Hashable, Sendable {
  /// Whether the answer rests on a license.
  public enum Verification: String, ListedWords, Sendable {
    /// The license that the delivery server has signed for this device says so, and is good now.
    case verified
    /// The device has heard so, and no license says it now: ``ProductOwnership/reason`` says why.
    case unverified

    /// Nothing says that a license does.
    public static var fallback: Verification? { .unverified }
  }

  /// Why no license says so.
  public enum UnverifiedReason: String, ListedWords, Sendable {
    /// There is none: the server was not heard yet, or gives none.
    case noLicense = "no-license"
    /// The server was not heard for as long as the license was good.
    case licenseExpired = "license-expired"
    /// The license says that it is owned, and the server has told of its end since.
    case newerThanLicense = "newer-than-license"
    /// The license does not list it: the server has told of it since, or the license has no room for all products.
    case notInLicense = "not-in-license"
    /// It is a consumable, which no license lists: it is delivered once, where it was bought.
    case consumable
  }

  /// Where the product's content is.
  public enum Content: String, ListedWords, Sendable {
    /// In the library, to be read.
    case present
    /// Out of the tree that readers see, since it is not owned. It comes back when it is owned again.
    case withdrawn
  }

  /// The product.
  public var product: ProductIdentifier
  /// Whether the account owns it, as far as this device has heard, and by the time that counts: also where that is not verified.
  public var owned: Bool
  /// Why, or why not: a rule of docs/entitlements.md; absent where that is not known.
  public var because: String?
  /// When it is owned no more unless something is paid for again, or when that was; absent for what has no end.
  public var until: Timestamp?
  /// When the server was heard last, by its clock; absent where it never was.
  public var heard: Timestamp?
  /// Since when the agent has known that it stands so; absent for a product that the server never told of.
  public var asOf: Timestamp?
  /// Whether the answer rests on a license.
  public var verification: Verification
  /// With ``Verification/unverified``, why.
  public var reason: UnverifiedReason?
  /// The license that is here; absent for none.
  public var license: LicenseSummary?
  /// Where its content is; absent where the library holds none.
  public var content: Content?

  /// Creates the document from its members.
  public init(
    product: ProductIdentifier, owned: Bool, because: String? = nil, until: Timestamp? = nil,
    heard: Timestamp? = nil, asOf: Timestamp? = nil, verification: Verification,
    reason: UnverifiedReason? = nil, license: LicenseSummary? = nil, content: Content? = nil
  ) {
    self.product = product
    self.owned = owned
    self.because = because
    self.until = until
    self.heard = heard
    self.asOf = asOf
    self.verification = verification
    self.reason = reason
    self.license = license
    self.content = content
  }
}

/// `GET /v1/ownership` of the agent: all that the delivery server has told of, without asking a service.
public struct OwnershipResponse: Codable, Sendable {
  /// By product: what is owned, and what was.
  public var products: [ProductOwnership]
  /// The license that is here; absent for none.
  public var license: LicenseSummary?

  /// Creates the document from its members.
  public init(products: [ProductOwnership], license: LicenseSummary? = nil) {
    self.products = products
    self.license = license
  }
}

/// The license that an agent holds, without what it lists.
public struct LicenseSummary: Codable, Hashable, Sendable {
  /// Says which one it is.
  public var serial: String
  /// When it was signed, by the server's clock.
  public var issued: Timestamp
  /// It answers before that time.
  public var expires: Timestamp

  /// Creates the document from its members.
  public init(serial: String, issued: Timestamp, expires: Timestamp) {
    self.serial = serial
    self.issued = issued
    self.expires = expires
  }
}
