import Commerce
import ContentPackage
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import Receipts

/// The delivery server's interface for devices.
struct DeliveryClient: Sendable {
  let api: APIClient
  private let monitor: EndpointHealth
  private let device: Device
  private let key: SigningKey

  init(api: APIClient, monitor: EndpointHealth, identity: DeviceIdentity) {
    self.api = api
    self.monitor = monitor
    device = Device(id: identity.identifier, publicKey: identity.key.verificationKey)
    key = identity.key
  }

  /// Every product that `proof` entitles to.
  func entitlements(of proof: Proof) async throws(APICallError) -> [EntitledProduct] {
    let body = EntitlementsRequest(proof: proof, device: device)
    return try await monitor.observe { () async throws(APICallError) in
      try await api.call("POST", "/v1/entitlements", body: body, as: EntitlementsResponse.self).value
    }.products
  }

  func grant(
    _ product: ProductIdentifier, for transaction: TransactionIdentifier, proof: Proof
  ) async throws(APICallError) -> GrantResponse {
    let body = GrantRequest(proof: proof, product: product, device: device, transaction: transaction)
    return try await monitor.observe { () async throws(APICallError) in
      try await api.call("POST", "/v1/grants", body: body, as: GrantResponse.self).value
    }
  }

  func status(of grant: GrantIdentifier) async throws(APICallError) -> GrantStatus {
    try await monitor.observe { () async throws(APICallError) in
      try await api.get("/v1/grants/\(grant.description)", as: GrantStatus.self)
    }
  }

  func renewTicket(of grant: GrantIdentifier) async throws(APICallError) -> TicketResponse {
    try await monitor.observe { () async throws(APICallError) in
      try await api.call(
        "POST", "/v1/grants/\(grant.description)/tickets", body: EmptyBody?.none, as: TicketResponse.self
      ).value
    }
  }

  /// The manifest's bytes, which are not trusted before their digest was compared with the grant's.
  func manifest(_ terms: DownloadTerms) async throws(APICallError) -> UnverifiedManifest {
    let response = try await monitor.observe { () async throws(APICallError) in
      try await api.exchange(
        "GET", terms.manifestURL, headers: [("Authorization", "Bearer \(terms.ticket)")])
    }
    return UnverifiedManifest(response.body)
  }

  /// Reports "verified and placed", signed with the device's key.
  func complete(
    _ grant: GrantIdentifier, terms: DownloadTerms, placedAt: Timestamp
  ) async throws -> CompletionResponse {
    let report = CompletionReport(
      digest: terms.digest, version: terms.version, length: terms.length, placedAt: placedAt, grant: grant,
      device: device.id)
    let signed = try JSONWebSignature(
      signing: try APIJSON.encode(report), with: key, keyIdentifier: device.id.description)
    return try await monitor.observe { () async throws(APICallError) in
      try await api.call(
        "POST", "/v1/grants/\(grant.description)/completion", bytes: Array(signed.text.utf8),
        mediaType: "application/jose", as: CompletionResponse.self
      ).value
    }
  }
}
