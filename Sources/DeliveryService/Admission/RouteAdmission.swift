import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// Puts ``AdmissionControl`` before the responders of all routes that have a class: finds out the address and the
/// client, and gives the body its part of the budget.
struct RouteAdmission: Sendable {
  let control: AdmissionControl
  let settings: LiveSettings

  /// What goes before the responder of a route; nil for one that is not admitted here.
  func middleware(for declaration: ScopedRoutes.Declaration) -> APIRoutes.Middleware? {
    guard let kind = AdmissionClass(of: declaration) else { return nil }
    let namesGrant = declaration.pattern.contains("{grant}") && declaration.access == .open
    return { request, parameters, respond in
      let address = settings.client(of: request)
      let grant = namesGrant ? parameters["grant"] : nil
      try control.admit(kind, from: address, client: client(of: request, kind, grant: grant, at: address))
      defer { control.didAnswer(kind) }
      // Uploads are written to the disk as they arrive.
      guard request.body.expectedLength != .zero, kind != .upload else { return try await respond(request) }
      let reservation = control.bodies.makeReservation(for: request.body)
      defer { reservation.release() }
      var request = request
      request.body.reservation = reservation
      return try await respond(request)
    }
  }

  /// What the request names before its body is read: a grant, or an operator key. Nothing is proved yet, so a
  /// grant counts together with the network: one that knows its name must not use up what its owner may ask.
  private func client(
    of request: HTTPRequest, _ kind: AdmissionClass, grant: String?, at address: PeerAddress
  ) -> ClientKey? {
    if let grant {
      return ClientKey(kind, GrantAddress(grant: grant, network: PeerNetwork(limiting: address)))
    }
    switch kind {
    case .operator, .upload: return request.bearerToken.map { ClientKey(kind, $0) }
    case .store, .ticket, .completion, .catalog: return nil
    }
  }

  private struct GrantAddress: Hashable {
    var grant: String
    var network: PeerNetwork
  }
}

extension LiveSettings {
  /// The client's address, as a trusted proxy names it.
  func client(of request: HTTPRequest) -> PeerAddress {
    guard dependsOnProxies else { return request.peer }
    return value.proxies.origin(of: request.peer, ForwardingFields(request)).client
  }
}

extension Problem {
  /// The same refusal with a time to come back that differs from client to client, where it has one: up to half as
  /// long again, a second at least, and never sooner. Other refusals are as they were.
  func spreadingReturns(using generator: inout some RandomNumberGenerator) -> Problem {
    guard status == 429 || status == 503 else { return self }
    var problem = self
    let least = retryAfterSeconds ?? 1
    problem.retryAfterSeconds = least + Int.random(in: 0...max(1, least / 2), using: &generator)
    return problem
  }
}
