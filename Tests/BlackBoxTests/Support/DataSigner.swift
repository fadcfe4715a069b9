import Commerce
import CoreTypes
import Crypto
import Files
import Foundation
import HTTPClient
import PullboxAPI
import PullboxTesting
import Receipts
import ServiceAPI
import SystemCalls

/// Signs data as a store does, and as one would that is none: payload, header, certificates and key are chosen apart.
struct DataSigner: Sendable {
  /// Leaf, intermediate and root, in DER.
  let certificates: [[UInt8]]
  private let key: ES256Key

  /// - Parameter pem: certificates and keys, the leaf's first, as the store keeps them.
  init(pem: String) throws {
    let chain = PEMDocument.documents(labeled: "CERTIFICATE", in: pem) ?? []
    let keys = PEMDocument.documents(labeled: "PRIVATE KEY", in: pem) ?? []
    guard chain.count == 3, let leaf = keys.first, let key = ES256Key(pem: leaf.text) else {
      throw Stack.Failure(description: "no certificates with their keys")
    }
    certificates = chain.map(\.bytes)
    self.key = key
  }

  /// One of its own root, whose certificates have the names of the sandbox store's.
  static func stranger(
    _ change: (inout SignedDataAuthority.Options) -> Void = { _ in }
  ) throws -> (signer: DataSigner, root: String) {
    var options = SignedDataAuthority.Options(
      responder: "http://127.0.0.1:1/ocsp", now: SystemWallClock().now())
    change(&options)
    let authority = try SignedDataAuthority.generate(options)
    return (try DataSigner(pem: try authority.pem()), authority.root.pem)
  }

  /// The members of a payload, of which a test changes what it likes.
  static func members(of signed: String) throws -> [String: Any] {
    let parts = signed.split(separator: ".")
    guard parts.count == 3, let bytes = Base64.decode(parts[1], .url),
      let members = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    else { throw Stack.Failure(description: "no signed data") }
    return members
  }

  func sign(_ payload: [String: Any], algorithm: String = "ES256") throws -> String {
    try sign(payload, algorithm: algorithm, certificates: certificates)
  }

  /// - Parameter certificates: in the header; nil for none.
  func sign(
    _ payload: [String: Any], algorithm: String = "ES256", certificates: [[UInt8]]?
  ) throws -> String {
    var header: [String: Any] = ["alg": algorithm]
    header["x5c"] = certificates?.map { Base64.encode($0) }
    let segments = try [header, payload].map {
      Base64.encode(Array(try JSONSerialization.data(withJSONObject: $0)), .url)
    }
    let input = segments.joined(separator: ".")
    return input + "." + Base64.encode(key.sign(Array(input.utf8)), .url)
  }
}

extension Stack {
  /// The store's own certificates and key.
  nonisolated func storeSigner() throws -> DataSigner {
    let path = directory.path("store/pki/signed-data.pem")
    return try DataSigner(
      pem: String(decoding: try FileSystem.read(path, upTo: .kibibytes(64)), as: UTF8.self))
  }

  /// Asks for a grant with what claims to be a store's word.
  nonisolated func askForGrant(
    of product: String, signedTransaction: String, device: String
  ) async throws -> Answer {
    guard let identifier = ProductIdentifier(product), let device = DeviceIdentifier(device) else {
      throw Failure(description: "not identifiers: \(product), \(device)")
    }
    return try await server.post(
      "/v1/grants",
      GrantRequest(
        proof: Proof(store: "apple", signedTransaction: signedTransaction), product: identifier,
        device: Device(id: device)))
  }
}
