public import Commerce
import CoreTypes
import Crypto

/// A receipt of one transaction in the style of before unified receipts: property lists in text, one in the other, which
/// `verifyReceipt` still takes. How such a signature is made was never documented; this one is a CMS message over the inner
/// list, as ``AppReceiptSigner`` makes it.
public struct TransactionReceipt: Hashable, Sendable {
  /// `bid`: the application.
  public var bundleIdentifier: String
  /// `bvrs`: its version.
  public var applicationVersion: String
  /// `environment` of the outer list.
  public var environment: StoreEnvironment
  /// The purchase that the receipt is of.
  public var purchase: InAppPurchase

  /// Creates the receipt from its members.
  public init(
    bundleIdentifier: String, applicationVersion: String, environment: StoreEnvironment,
    purchase: InAppPurchase
  ) {
    self.bundleIdentifier = bundleIdentifier
    self.applicationVersion = applicationVersion
    self.environment = environment
    self.purchase = purchase
  }

  /// The receipt in base 64. Throws ``ReceiptError`` `signingFailed`.
  public func signed(by signer: AppReceiptSigner) throws -> String {
    let info = Self.list(purchaseInfo)
    let outer = Self.list([
      ("signature", Base64.encode(try signer.sign(payload: Array(info.utf8)))),
      ("purchase-info", Base64.encode(Array(info.utf8))), ("environment", environment.rawValue),
      ("pod", "100"), ("signing-status", "0"),
    ])
    return Base64.encode(Array(outer.utf8))
  }

  private var purchaseInfo: [(String, String)] {
    func dates(_ name: String, _ date: Timestamp) -> [(String, String)] {
      [
        (name, date.wallText(zone: "Etc/GMT")), ("\(name)-ms", String(date.millisecondsSinceEpoch)),
        ("\(name)-pst", date.californiaText),
      ]
    }
    var members = [
      ("bid", bundleIdentifier), ("bvrs", applicationVersion), ("item-id", "0"),
      ("product-id", purchase.productIdentifier), ("quantity", String(purchase.quantity)),
      ("transaction-id", purchase.transactionIdentifier),
      ("original-transaction-id", purchase.originalTransactionIdentifier),
    ]
    members += dates("purchase-date", purchase.purchaseDate)
    members += dates("original-purchase-date", purchase.originalPurchaseDate)
    if let end = purchase.expiresDate {
      members.append(("expires-date", String(end.millisecondsSinceEpoch)))
      members.append(("expires-date-formatted", end.wallText(zone: "Etc/GMT")))
      members.append(("expires-date-formatted-pst", end.californiaText))
    }
    if let item = purchase.webOrderLineItemIdentifier {
      members.append(("web-order-line-item-id", String(item)))
    }
    return members
  }

  private static func list(_ members: [(String, String)]) -> String {
    "{\n" + members.map { "\t\"\($0.0)\" = \"\($0.1)\";\n" }.joined() + "}"
  }
}

/// A ``TransactionReceipt`` as a customer hands it in, whose signature was not checked.
public struct UnverifiedTransactionReceipt: Hashable, Sendable {
  /// The claims of the receipt. They serve for refusing early, and for nothing else.
  public let claims: TransactionReceipt
  private let info: [UInt8]
  private let signature: [UInt8]

  /// Bytes of a receipt before its base 64, at most.
  public static let maximumLength = 65_536

  /// Nil for what is not in this style at all: then it may be a unified receipt. Throws ``ReceiptError`` `malformed` for one
  /// that is, and cannot be read.
  public init?(base64: String) throws {
    guard base64.utf8.count <= Self.maximumLength / 3 * 4, let bytes = Base64.decodeLines(base64),
      bytes.first == UInt8(ascii: "{")
    else { return nil }
    let outer = try Self.members(of: bytes)
    guard let signature = outer["signature"].flatMap({ Base64.decodeLines($0) }),
      let info = outer["purchase-info"].flatMap({ Base64.decodeLines($0) })
    else { throw ReceiptError.malformed("the receipt has no signature or no purchase-info") }
    self.signature = signature
    self.info = info
    let members = try Self.members(of: info)
    guard let bundle = members["bid"], let version = members["bvrs"], let product = members["product-id"],
      let transaction = members["transaction-id"],
      let purchased = members["purchase-date-ms"].flatMap({ Int64($0) }),
      let originallyPurchased = members["original-purchase-date-ms"].flatMap({ Int64($0) })
    else { throw ReceiptError.malformed("the receipt's purchase-info lacks a member") }
    var purchase = InAppPurchase(
      quantity: members["quantity"].flatMap { Int64($0) } ?? 1, productIdentifier: product,
      transactionIdentifier: transaction,
      originalTransactionIdentifier: members["original-transaction-id"] ?? transaction,
      purchaseDate: Timestamp(millisecondsSinceEpoch: purchased),
      originalPurchaseDate: Timestamp(millisecondsSinceEpoch: originallyPurchased))
    purchase.expiresDate = members["expires-date"].flatMap { Int64($0) }
      .map { Timestamp(millisecondsSinceEpoch: $0) }
    purchase.webOrderLineItemIdentifier = members["web-order-line-item-id"].flatMap { Int64($0) }
    claims = TransactionReceipt(
      bundleIdentifier: bundle, applicationVersion: version,
      environment: outer["environment"].flatMap(StoreEnvironment.init(rawValue:)) ?? .production,
      purchase: purchase)
  }

  /// Checks the signature and, at the date of the purchase, the chain to one of `roots`. Throws ``ReceiptError``.
  public func verified(
    trusting roots: [Certificate], policy: ReceiptPolicy = ReceiptPolicy()
  ) throws -> TransactionReceipt {
    guard try SignedDataValidator.content(of: signature) == info else {
      throw ReceiptError(.signatureInvalid, "the signature is of another receipt")
    }
    let message = try CMSMessage.parse(signature)
    try message.checkSignature()
    try message.checkSigner(trusting: roots, at: claims.purchase.purchaseDate, policy: policy)
    return claims
  }

  /// Members of a list, at most.
  private static let maximumMembers = 64

  /// Lines of the form `"name" = "value";` between braces.
  private static func members(of list: [UInt8]) throws -> [String: String] {
    let lines = String(decoding: list, as: UTF8.self).split(separator: "\n")
    guard lines.count <= maximumMembers, lines.first == "{", lines.last == "}" else {
      throw ReceiptError.malformed("the receipt is no property list")
    }
    var members: [String: String] = [:]
    for line in lines.dropFirst().dropLast() {
      let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
      guard parts.count == 5, parts[2] == " = ", parts[4] == ";",
        members.updateValue(String(parts[3]), forKey: String(parts[1])) == nil
      else { throw ReceiptError.malformed("the receipt's property list cannot be read") }
    }
    return members
  }
}

extension UnverifiedTransactionReceipt: CustomStringConvertible {
  /// Without the receipt itself, which works like a key.
  public var description: String { "unverified receipt of one transaction for \(claims.bundleIdentifier)" }
}
