/// What a client offers as proof of purchase; exactly one of the three kinds is present. Nothing in it is trusted
/// before the store was asked.
public struct Proof: Codable, Sendable {
  /// The name the server's configuration gives the store; may be left out where the server knows one store only.
  public var store: String?
  /// A CMS app receipt in base 64.
  public var receipt: String?
  /// A compact JWS.
  public var signedTransaction: String?
  public var purchaseToken: String?

  public init(
    store: String? = nil, receipt: String? = nil, signedTransaction: String? = nil,
    purchaseToken: String? = nil
  ) {
    self.store = store
    self.receipt = receipt
    self.signedTransaction = signedTransaction
    self.purchaseToken = purchaseToken
  }
}
