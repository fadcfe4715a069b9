import CoreTypes
import Crypto
import HTTPServer
import PullboxAPIServer
import SystemCalls

/// The OCSP responder (RFC 6960) of the store's certificates, and the controls that revoke and renew them.
struct CertificateRoutes: Sendable {
  let chain: SigningChain

  /// The path before a request that is itself in the path.
  static let path = "/ocsp/"
  private static let longestRequest = ByteCount.kibibytes(4)

  /// Adds the routes of the responder. A request that cannot be read is answered with a response that says
  /// so, under status 200.
  func addResponder(to routes: inout APIRoutes) {
    routes.on(.post, "/ocsp") { [chain] request, _ in
      Self.response(chain.answer(to: try await request.bytes(upTo: Self.longestRequest)))
    }
    // Base 64 of the request in the path (RFC 6960 §A.1), with its slashes escaped or not; what is none of it is answered
    // as unreadable.
    routes.on(.get, "\(Self.path){request...}") { [chain] _, parameters in
      Self.response(chain.answer(to: Base64.decode(parameters["request"]) ?? []))
    }
  }

  /// Adds the controls, whose work blocks and runs in the pool for that.
  func addControls(to routes: inout APIRoutes) {
    routes.on(.post, "/sandbox/v1/certificates/revoke") { [chain] _, _ in
      try .json(try await BlockingPool.shared.run { try chain.revokeLeaf() })
    }
    routes.on(.post, "/sandbox/v1/certificates/renew") { [chain] _, _ in
      try .json(try await BlockingPool.shared.run { try chain.renew() })
    }
  }

  /// No cache keeps an answer, since a test may revoke the leaf at any time.
  private static func response(_ bytes: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      status: .ok, headers: ["Content-Type": "application/ocsp-response", "Cache-Control": "no-store"],
      body: .bytes(bytes))
  }
}
