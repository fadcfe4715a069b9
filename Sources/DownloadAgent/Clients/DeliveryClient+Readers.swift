import PullboxAPI
import PullboxAPIClient
import ServiceAPI

/// The keys of applications for reading, which the server makes for who shows the proofs of what was bought.
extension DeliveryClient {
  /// Lets an application in. Its name and its password are told once.
  func addReader(
    _ title: String, territory: String?, locale: String?, proof: Proof
  ) async throws(APICallError) -> NewReaderKey {
    var body = request(proof)
    (body.title, body.territory, body.locale) = (title, territory, locale)
    let asked = body
    var key = try await monitor.observe("POST /v1/readers") { () async throws(APICallError) in
      try await api.call("POST", "/v1/readers", body: asked, as: NewReaderKey.self).value
    }
    // A server that does not know its own address is where this device finds it.
    if key.address.hasPrefix("/") { key.address = api.url(key.address) }
    return key
  }

  /// The keys of the account's customer.
  func readers(proof: Proof) async throws(APICallError) -> ReaderKeyList {
    let body = request(proof)
    return try await monitor.observe("POST /v1/readers/list") { () async throws(APICallError) in
      try await api.call("POST", "/v1/readers/list", body: body, as: ReaderKeyList.self).value
    }
  }

  /// Ends a key. Throws `not-found` where the customer has none of that name.
  func removeReader(_ name: ReaderName, proof: Proof) async throws(APICallError) {
    let bytes: [UInt8]
    do {
      bytes = try APIJSON.encode(request(proof))
    } catch {
      throw .unexpectedResponse(status: 0, detail: "the request cannot be encoded")
    }
    _ = try await monitor.observe("POST /v1/readers/{name}/remove") { () async throws(APICallError) in
      try await api.exchange("POST", "/v1/readers/\(name)/remove", bytes: bytes)
    }
  }

  /// The proofs and the device, which all three requests show.
  private func request(_ proof: Proof) -> ReaderKeyRequest {
    ReaderKeyRequest(proofs: ProofList(proof), device: device)
  }
}
