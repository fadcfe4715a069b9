import Commerce
package import ContentDelivery
package import CoreTypes
package import HTTPServer
package import PullboxAPI
import PullboxAPIServer
package import RouteAccess
package import ServiceAPI

/// Entitlements, grants, tickets and completions over HTTP, for devices. docs/delivery.md describes the
/// requests and docs/openapi.yaml has their documents.
package struct GrantRoutes: Sendable {
  /// Bytes of a proof with the members around it, which is 2.25 MiB of a receipt before its base 64.
  package static let maximumProofLength = ByteCount.mebibytes(3)
  /// Bytes of a completion or of a report of a failure.
  static let maximumCompletionLength = ByteCount.kibibytes(16)

  /// Decides on every request for a grant or a ticket.
  package let grants: GrantService
  /// Has the trusted proxies, which tell the client's address and the server's own.
  package let settings: LiveSettings
  /// Counts the questions to stores that a request may lead to.
  package let admission: AdmissionControl

  package init(grants: GrantService, settings: LiveSettings, admission: AdmissionControl) {
    self.grants = grants
    self.settings = settings
    self.admission = admission
  }

  /// Adds `POST /v1/entitlements`, `POST /v1/grants`, and the grant's status, tickets, completion, failure and progress of reading.
  /// None needs an operator key: a proof of purchase or a ``GrantCredential`` stands in its place. A new grant
  /// is answered with 201, and a completion whose store has not accepted the end of the transaction yet with
  /// 202.
  package func add(to routes: inout ScopedRoutes) {
    routes.public(.post, "/v1/entitlements") { request, _ in
      let asked = try await request.decode(EntitlementsRequest.self, upTo: Self.maximumProofLength)
      try charge(asked.device, showing: asked.proofs, for: request)
      return try .json(
        try await grants.entitlements(of: asked, base: base(of: request), asked: request.id))
    }
    routes.public(.post, "/v1/grants") { request, _ in
      let asked = try await request.decode(GrantsRequest.self, upTo: Self.maximumProofLength)
      try charge(asked.device, showing: asked.proofs, for: request)
      switch asked {
      case .one(let asked):
        let (response, isNew) = try await grants.grant(asked, base: base(of: request), asked: request.id)
        return try .json(
          response, status: isNew ? .created : .ok, headers: ["Location": "/v1/grants/\(response.grant)"])
      case .many(let asked):
        let (response, isNew) = try await grants.grants(asked, base: base(of: request), asked: request.id)
        return try .json(response, status: isNew ? .created : .ok)
      }
    }
    routes.public(.get, "/v1/grants/{grant}") { request, parameters in
      let id = try Self.grant(parameters)
      return try .json(
        try await grants.status(of: id, credential: GrantCredential(request, path: "/v1/grants/\(id)")))
    }
    routes.public(.post, "/v1/grants/{grant}/tickets") { request, parameters in
      let id = try Self.grant(parameters)
      let credential = GrantCredential(request, path: "/v1/grants/\(id)/tickets")
      return try .json(try await grants.ticket(for: id, credential: credential), status: .created)
    }
    routes.public(.post, "/v1/grants/{grant}/completion") { request, parameters in
      let id = try Self.grant(parameters)
      let completion = try ReceivedCompletion(try await request.bytes(upTo: Self.maximumCompletionLength))
      let credential = GrantCredential(request, path: "/v1/grants/\(id)/completion")
      let response = try await grants.complete(id, with: completion, credential: credential)
      return try .json(response, status: response.state == .finished ? .ok : .accepted)
    }
    routes.public(.post, "/v1/grants/{grant}/failure") { request, parameters in
      let id = try Self.grant(parameters)
      let failure = try await request.decode(VerificationFailure.self, upTo: Self.maximumCompletionLength)
      let credential = GrantCredential(request, path: "/v1/grants/\(id)/failure")
      return try .json(try await grants.report(failure, of: id, credential: credential))
    }
    addReading(to: &routes)
  }

  private func addReading(to routes: inout ScopedRoutes) {
    routes.public(.get, "/v1/grants/{grant}/progress") { request, parameters in
      let id = try Self.grant(parameters)
      let credential = GrantCredential(request, path: "/v1/grants/\(id)/progress")
      let progress = try await grants.progress(of: id, credential: credential)
      return try .json(GrantProgress(progress: progress), headers: ["Cache-Control": "no-store"])
    }
    routes.public(.put, "/v1/grants/{grant}/progress") { request, parameters in
      let id = try Self.grant(parameters)
      let told = try await request.decodeOnce(ReadingProgress.self, upTo: ReadingProgress.maximumLength)
      let credential = GrantCredential(request, path: "/v1/grants/\(id)/progress")
      let standing = try await grants.put(told, of: id, credential: credential)
      return try .json(GrantProgress(progress: standing), headers: ["Cache-Control": "no-store"])
    }
  }

  /// Where the client found this server, as a trusted proxy tells it; empty where that is not known.
  @inline(never)
  private func base(of request: HTTPRequest) -> String {
    settings.value.proxies.origin(of: request.peer, ForwardingFields(request)).base ?? ""
  }

  /// A device counts together with its address: its name is no secret, and another that sends it must not use up what
  /// the device may ask. Each proof counts, for the address as well, which has paid for one already.
  @inline(never)
  package func charge(
    _ device: Device, showing proofs: ProofList, for request: HTTPRequest
  ) throws(Problem) {
    let address = settings.client(of: request)
    let network = PeerNetwork(limiting: address)
    let client = ClientKey(.store, DeviceAddress(device: device.id, network: network))
    for _ in proofs.all.dropFirst() { try admission.charge(.store, address: address) }
    for _ in proofs.all { try admission.charge(.store, client: client) }
  }

  private struct DeviceAddress: Hashable {
    var device: DeviceIdentifier
    var network: PeerNetwork
  }

  /// Returns the grant in the address. Throws `grant-unknown` for a text that names none.
  private static func grant(_ parameters: PathParameters) throws(Problem) -> GrantIdentifier {
    guard let id = GrantIdentifier(parameters["grant"]) else { throw Problem(.grantUnknown) }
    return id
  }
}
