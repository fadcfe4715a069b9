import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// A refusal of content that says nothing but its reason. A loop answers it from bytes that were made once, so that a
/// flood of requests without a valid ticket costs about what as many small ranges cost; off the loops the same reasons
/// are thrown as ``problem``, and become the same documents.
///
///     throw ContentRefusal.ticketMissing.problem  // 401
///     ContentRefusal(.contentDamaged)             // nil: that one says when to come back
enum ContentRefusal: Int, CaseIterable, Sendable {
  case contentUnknown
  case ticketMissing
  case ticketInvalid
  case ticketExpired
  case entitlementRevoked
  case contentWithdrawn

  /// The refusal for one of ``RevocationList``'s reasons; nil for one that passes, whose time to come back differs from
  /// client to client.
  package init?(_ reason: ProblemCode) {
    switch reason {
    case .entitlementRevoked: self = .entitlementRevoked
    case .ticketExpired: self = .ticketExpired
    case .contentWithdrawn: self = .contentWithdrawn
    default: return nil
    }
  }

  package init(_ refusal: TicketKeys.Refusal) {
    switch refusal {
    case .invalid: self = .ticketInvalid
    case .expired: self = .ticketExpired
    }
  }

  package var code: ProblemCode {
    switch self {
    case .contentUnknown: .contentUnknown
    case .ticketMissing: .ticketMissing
    case .ticketInvalid: .ticketInvalid
    case .ticketExpired: .ticketExpired
    case .entitlementRevoked: .entitlementRevoked
    case .contentWithdrawn: .contentWithdrawn
    }
  }

  /// The problem with its status, as it is thrown off the loops.
  package var problem: Problem {
    Problem(
      code,
      self == .ticketMissing ? "a ticket is needed, as ?ticket= or Authorization: Bearer" : nil)
  }
}

/// The response to a refused request but for the request's identifier, which stands in a field and in the document.
struct PreparedRefusal: Sendable {
  package let status: HTTPStatus
  /// Field lines, each with its end.
  package let lines: [UInt8]
  /// The document up to the identifier, and from behind it.
  let beforeIdentifier: [UInt8]
  let afterIdentifier: [UInt8]

  /// By ``ContentRefusal/rawValue``.
  private static let all = ContentRefusal.allCases.map(PreparedRefusal.init)

  package static func prepared(_ refusal: ContentRefusal) -> PreparedRefusal { all[refusal.rawValue] }

  private init(_ refusal: ContentRefusal) {
    // Identifiers are digits and letters: this stands for none.
    let place = "*"
    var problem = refusal.problem
    problem.instance = Problem.instance(ofRequest: place)
    let response = HTTPResponse.problem(problem)
    guard case .bytes(let document) = response.body,
      let range = document.firstRange(of: Array(Problem.instance(ofRequest: place).utf8))
    else { preconditionFailure("a problem's document has its instance") }
    status = response.status
    lines = Array(response.headers.map { "\($0.name): \($0.value)\r\n" }.joined().utf8)
    beforeIdentifier = Array(document[..<(range.upperBound - place.utf8.count)])
    afterIdentifier = Array(document[range.upperBound...])
  }
}
