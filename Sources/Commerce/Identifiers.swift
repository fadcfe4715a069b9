/// Names a product (`com.example.heroes.issue42`): 1 to 255 characters of `A-Z a-z 0-9 . _ -`, not starting with a dot,
/// so that it is also safe as a path segment and in a URL.
public struct ProductIdentifier: Hashable, Comparable, Sendable {
  /// The text as stores, files and requests write it.
  public let description: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard IdentifierSyntax.isValid(text, maximumLength: 255) else { return nil }
    self.description = text
  }

  /// Orders identifiers by their characters.
  public static func < (left: ProductIdentifier, right: ProductIdentifier) -> Bool {
    left.description < right.description
  }
}

extension ProductIdentifier: LosslessStringCodable {}

/// Names a transaction within its store: 1 to 64 characters of `A-Z a-z 0-9 . _ -` (digits at Apple and in the sandbox,
/// dotted at Google).
public struct TransactionIdentifier: Hashable, Sendable {
  /// The text as stores, files and requests write it.
  public let description: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard IdentifierSyntax.isValid(text, maximumLength: 64) else { return nil }
    self.description = text
  }
}

extension TransactionIdentifier: LosslessStringCodable {}

/// Names a device to the store and to the delivery server, usually a UUID: 1 to 128 characters of `A-Z a-z 0-9 . _ -`.
/// It says nothing about the person who holds the device.
public struct DeviceIdentifier: Hashable, Sendable {
  /// The text as stores, files and requests write it.
  public let description: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard IdentifierSyntax.isValid(text, maximumLength: 128) else { return nil }
    self.description = text
  }
}

extension DeviceIdentifier: LosslessStringCodable {}

/// Names a payment store (`sandbox`, `apple`, `google`): 1 to 64 characters of `A-Z a-z 0-9 . _ -`.
public struct StoreIdentifier: Hashable, Sendable {
  /// The text as stores, files and requests write it.
  public let description: String

  /// The sandbox store that comes with Pullbox.
  public static let sandbox = StoreIdentifier(known: "sandbox")
  /// Apple's App Store.
  public static let apple = StoreIdentifier(known: "apple")
  /// Google Play.
  public static let google = StoreIdentifier(known: "google")

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard IdentifierSyntax.isValid(text, maximumLength: 64) else { return nil }
    self.description = text
  }

  private init(known text: String) {
    self.description = text
  }
}

extension StoreIdentifier: LosslessStringCodable {}

/// Names an application to the payment stores, which call it a bundle or a package: 1 to 255 characters of
/// `A-Z a-z 0-9 . _ -`.
public struct ApplicationIdentifier: Hashable, Sendable {
  /// The text as stores, files and requests write it.
  public let description: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard IdentifierSyntax.isValid(text, maximumLength: 255) else { return nil }
    self.description = text
  }
}

extension ApplicationIdentifier: LosslessStringCodable {}

/// Names a customer to the application that sold to them: 1 to 255 bytes without control characters, which mean something
/// to that application alone.
public struct ApplicationAccount: Hashable, Sendable {
  /// The text as the application chose it.
  public let description: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      return nil
    }
    self.description = text
  }

  /// The spelling in which two of them are compared: stores write a UUID in lower case, whatever they were given.
  public var canonical: ApplicationAccount {
    let bytes = Array(description.utf8)
    let isUUID =
      bytes.count == 36
      && bytes.indices.allSatisfy { index in
        [8, 13, 18, 23].contains(index)
          ? bytes[index] == 0x2D : Character(Unicode.Scalar(bytes[index])).isHexDigit
      }
    return isUUID ? ApplicationAccount(description.lowercased()) ?? self : self
  }
}

extension ApplicationAccount: LosslessStringCodable {}

/// Names a publisher's signing key: the SHA-256 of the raw Ed25519 public key, 64 lower-case hexadecimal digits.
public struct PublisherKeyIdentifier: Hashable, Sendable {
  /// The text as stores, files and requests write it.
  public let description: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    let isDigit: (UInt8) -> Bool = { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    guard text.utf8.count == 64, text.utf8.allSatisfy(isDigit) else { return nil }
    self.description = text
  }
}

extension PublisherKeyIdentifier: Comparable {
  /// Orders identifiers by their characters.
  public static func < (left: PublisherKeyIdentifier, right: PublisherKeyIdentifier) -> Bool {
    left.description < right.description
  }
}

extension PublisherKeyIdentifier: LosslessStringCodable {}

/// The rule that the project's identifiers share.
enum IdentifierSyntax {
  /// 1 to `maximumLength` characters of `A-Z a-z 0-9 . _ -`, the first no dot.
  static func isValid(_ text: String, maximumLength: Int) -> Bool {
    let bytes = text.utf8.span
    guard (1...maximumLength).contains(bytes.count), bytes[0] != 0x2E else { return false }
    for index in bytes.indices {
      switch bytes[index] {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: continue
      default: return false
      }
    }
    return true
  }
}
