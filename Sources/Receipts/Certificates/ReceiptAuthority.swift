/// The certificates and the key of a store that signs its own receipts: root → intermediate → leaf, shaped like the
/// ones of the store whose receipts they imitate. For the sandbox store and for tests.
public struct ReceiptAuthority: Sendable {
  public let root: Certificate
  public let intermediate: Certificate
  public let leaf: Certificate
  private let leafKey: RSAKey

  /// Makes three keys and three certificates. The root's and the intermediate's keys are not kept: nothing more will
  /// ever be issued. Takes a good part of a second, so not on the cooperative pool.
  ///
  /// Throws ``ReceiptError`` `signingFailed`.
  public static func generate(_ options: Options) throws -> ReceiptAuthority {
    let rootKey = try RSAKey.generate()
    let intermediateKey = try RSAKey.generate()
    let leafKey = try RSAKey.generate()
    let root = try CertificateTemplate.root(options).issue(for: rootKey, by: nil, signedWith: rootKey)
    let intermediate = try CertificateTemplate.intermediate(options)
      .issue(for: intermediateKey, by: root, signedWith: rootKey)
    let leaf = try CertificateTemplate.leaf(options)
      .issue(for: leafKey, by: intermediate, signedWith: intermediateKey)
    return ReceiptAuthority(root: root, intermediate: intermediate, leaf: leaf, leafKey: leafKey)
  }

  private init(root: Certificate, intermediate: Certificate, leaf: Certificate, leafKey: RSAKey) {
    self.root = root
    self.intermediate = intermediate
    self.leaf = leaf
    self.leafKey = leafKey
  }

  /// - Parameters:
  ///   - chainPEM: leaf, intermediate and root, in this order.
  ///   - keyPEM: the leaf's private key.
  ///
  /// Throws ``ReceiptError`` `malformed`.
  public init(chainPEM: String, keyPEM: String) throws {
    let chain = try Certificate.certificates(inPEM: chainPEM)
    guard chain.count == 3 else { throw ReceiptError.malformed("the chain is not of three certificates") }
    self.init(root: chain[2], intermediate: chain[1], leaf: chain[0], leafKey: try RSAKey(pem: keyPEM))
  }

  public var chainPEM: String { leaf.pem + intermediate.pem + root.pem }

  /// Secret: for a file that only its owner may read.
  public func keyPEM() throws -> String { try leafKey.pem() }

  public var signer: AppReceiptSigner { AppReceiptSigner(key: leafKey, chain: [leaf, intermediate, root]) }
}

extension ReceiptAuthority: CustomStringConvertible {
  public var description: String { "receipt authority" }
}
