package import ContentDelivery
import CoreTypes
import HTTPServer
package import PullboxAPI
package import PullboxAPIServer
import Synchronization

/// Puts ``AdmissionControl`` before the responders of all routes that have a class: finds out the address and the
/// client, and gives the body its part of the budget. A request whose body is arriving is not in progress; one whose answer is a
/// stream is, until the stream ends, and so is one whose answer is postponed.
package struct RouteAdmission: Sendable {
  /// The limits and counts of the process.
  package let control: AdmissionControl
  /// The proxies whose word about a client's address counts, as they are now.
  package let settings: LiveSettings

  package init(control: AdmissionControl, settings: LiveSettings) {
    self.control = control
    self.settings = settings
  }

  /// Returns the middleware that admits requests before the responder of a route; nil for a route that is not admitted here.
  package func middleware(for declaration: ScopedRoutes.Declaration) -> APIRoutes.Middleware? {
    guard let kind = AdmissionClass(of: declaration) else { return nil }
    return middleware(
      for: kind, namesGrant: declaration.pattern.contains("{grant}") && declaration.access == .open)
  }

  /// Returns the middleware that admits requests of that class; `namesGrant` where the parameters of a public route name one.
  package func middleware(for kind: AdmissionClass, namesGrant: Bool = false) -> APIRoutes.Middleware {
    { request, parameters, respond in
      // Uploads are written to the disk as they arrive, and no feed reads a body.
      let holdsBody = request.body.expectedLength != .zero && kind != .upload && kind != .feed
      // It was admitted before it waited, and has kept its place where it had one.
      if request.postponement != nil {
        guard !holdsBody else { return try await respond(request) }
        return try await answer(request, in: AdmittedPlace(kind, control), by: respond)
      }
      let address = settings.client(of: request)
      let grant = namesGrant ? parameters["grant"] : nil
      let turn = try control.admit(
        kind, from: address, client: client(of: request, kind, grant: grant, at: address))
      try await control.wait(for: turn)
      try control.requireClient(of: kind)
      guard holdsBody else {
        return try await answer(request, in: AdmittedPlace(kind, control), by: respond)
      }
      let body = AdmittedBody(of: request, kind, by: control)
      defer { body.didAnswer() }
      var request = request
      request.body.reservation = body
      do {
        return try await respond(request)
      } catch {
        throw body.refusal ?? error
      }
    }
  }

  /// Answers in a place that is left once the answer, or its stream, has ended. A postponed answer keeps it.
  private func answer(
    _ request: HTTPRequest, in place: AdmittedPlace, by respond: (HTTPRequest) async throws -> HTTPResponse
  ) async throws -> HTTPResponse {
    do {
      var response = try await respond(request)
      if case .stream(let length, let body) = response.body {
        response.body = .stream(contentLength: length) { writer in
          defer { place.leave() }
          try await body(writer)
        }
      } else if response.postponement != nil {
        place.keep()
      } else {
        place.leave()
      }
      return response
    } catch {
      place.leave()
      throw error
    }
  }

  /// Returns the client that the request names before its body is read, by a grant or an operator key. Nothing is proved
  /// yet, so a grant counts together with the network: a client that knows the grant's name must not use up what its owner
  /// may ask.
  private func client(
    of request: HTTPRequest, _ kind: AdmissionClass, grant: String?, at address: PeerAddress
  ) -> ClientKey? {
    if let grant {
      return ClientKey(kind, GrantAddress(grant: grant, network: PeerNetwork(limiting: address)))
    }
    switch kind {
    case .operator, .upload, .feed: return request.bearerToken.map { ClientKey(kind, $0) }
    case .store, .ticket, .completion, .catalog: return nil
    }
  }

  private struct GrantAddress: Hashable {
    var grant: String
    var network: PeerNetwork
  }
}

/// The place of a request among those in progress. Also a stream that never begins leaves it.
private final class AdmittedPlace: Sendable {
  private let kind: AdmissionClass
  private let control: AdmissionControl
  private let isLeft = Mutex(false)

  init(_ kind: AdmissionClass, _ control: AdmissionControl) {
    self.kind = kind
    self.control = control
  }

  deinit { leave() }

  /// The request has it until it is asked again, and answered.
  func keep() { isLeft.locked { $0 = true } }

  func leave() {
    let wasLeft = isLeft.locked { isLeft in
      defer { isLeft = true }
      return isLeft
    }
    if !wasLeft { control.didAnswer(kind) }
  }
}

/// The body of an admitted request. While it arrives, the request gives up its place among those in progress: requests
/// whose bodies are held back must not keep others out. What bounds them is the budget for bodies.
private final class AdmittedBody: BodyReservation {
  private enum Place {
    /// Nothing has asked for the body yet.
    case held
    case given
    /// The body is here.
    case regained
    case refused(any Error)
  }

  private let kind: AdmissionClass
  private let control: AdmissionControl
  private let room: BodyBudget.Reservation
  private let place: Mutex<Place> = Mutex(.held)

  init(of request: HTTPRequest, _ kind: AdmissionClass, by control: AdmissionControl) {
    self.kind = kind
    self.control = control
    room = control.bodies.makeReservation(for: request.body)
  }

  /// Why the request has no place though its body has arrived: a problem, or `CancellationError`.
  var refusal: (any Error)? {
    place.locked { place in
      if case .refused(let error) = place { error } else { nil }
    }
  }

  func reserve(_ count: Int) async throws(RequestBodyError) {
    place.locked { place in
      guard case .held = place else { return }
      place = .given
      control.suspend(kind)
    }
    try await room.reserve(count)
  }

  func didReceive(_ count: Int) { room.didReceive(count) }

  func didArrive() async throws(RequestBodyError) {
    // While it waits for its place it is not among those that could be ended for another.
    room.didEnd()
    guard place.locked({ if case .given = $0 { true } else { false } }) else { return }
    do {
      try await control.wait(for: control.resume(kind))
      place.locked { $0 = .regained }
    } catch {
      place.locked { $0 = .refused(error) }
      throw RequestBodyError(.noRoom)
    }
  }

  func didEnd() { room.didEnd() }

  /// The request is answered: its memory and its place are free.
  func didAnswer() {
    room.release()
    place.locked { place in
      switch place {
      case .held, .regained: control.didAnswer(kind)
      case .given, .refused: break
      }
    }
  }
}

extension Problem {
  /// The same refusal with a time to come back that differs from client to client, where it has one: up to an eighth
  /// longer, a second at least, and never sooner. Other refusals are as they were.
  package func spreadingReturns(using generator: inout some RandomNumberGenerator) -> Problem {
    guard status == 429 || status == 503 else { return self }
    var problem = self
    let least = retryAfterSeconds ?? 1
    problem.retryAfterSeconds = least + Int.random(in: 0...max(1, least / 8), using: &generator)
    return problem
  }
}
