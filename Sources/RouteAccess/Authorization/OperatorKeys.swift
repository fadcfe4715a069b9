import CoreTypes
package import HTTPServer
package import PullboxAPI
package import PullboxAPIServer
package import ServiceAPI
import Synchronization

/// The sender of a request that carries an operator key.
package struct Operator: Hashable, Sendable {
  /// The name of the key's holder in the audit log.
  package var name: String
  /// The rights of the key; `admin` stands for all of them.
  package var scopes: Set<OperatorScope>
  /// Whether the step is taken by one operator alone where many of its kind want a second one: its write holds to the bound of those
  /// (``Approvals/freeRevocations``).
  package var isAlone = false

  /// `name` stands in the audit log, `scopes` are what the key may do.
  package init(name: String, scopes: Set<OperatorScope>) {
    self.name = name
    self.scopes = scopes
  }

  /// Whether the key has that scope; `admin` includes the others.
  package func may(_ scope: OperatorScope) -> Bool { scopes.contains(scope) || scopes.contains(.admin) }
}

/// The keys that may operate this server, and whether one key may both submit and approve; replaced as a
/// whole when the configuration is read again. Keys are compared by digest and never kept or logged.
package final class OperatorKeys: Sendable {
  /// A key and what it may do.
  package struct Key: Sendable {
    /// The name and the rights that a request with the key has.
    package var holder: Operator
    /// The SHA-256 of the key, by which it is compared.
    package var secret: SecretDigest

    package init(holder: Operator, secret: SecretDigest) {
      self.holder = holder
      self.secret = secret
    }
  }

  private struct Rules {
    package var keys: [Key]
    package var needsSecondKey: Bool
    package var reviewsProducts: Bool
    package var needsSecondOperator: Bool
  }

  private let rules: Mutex<Rules>
  /// The addresses that offered keys which none of these is, and what they may still try.
  package let wrongKeys: WrongKeys
  private let client: @Sendable (HTTPRequest) -> PeerAddress

  /// `client` says where a request comes from, as far as a trusted proxy tells.
  package init(
    _ keys: [Key], needsSecondKey: Bool = false, reviewsProducts: Bool = false,
    needsSecondOperator: Bool = false, wrongKeys: WrongKeys,
    client: @escaping @Sendable (HTTPRequest) -> PeerAddress = { $0.peer }
  ) {
    rules = Mutex(
      Rules(
        keys: keys, needsSecondKey: needsSecondKey, reviewsProducts: reviewsProducts,
        needsSecondOperator: needsSecondOperator))
    self.wrongKeys = wrongKeys
    self.client = client
  }

  /// Puts other keys and rules in place of all; requests that are being answered keep their holder.
  package func replace(
    _ keys: [Key], needsSecondKey: Bool, reviewsProducts: Bool = false, needsSecondOperator: Bool = false
  ) {
    rules.locked {
      $0 = Rules(
        keys: keys, needsSecondKey: needsSecondKey, reviewsProducts: reviewsProducts,
        needsSecondOperator: needsSecondOperator)
    }
  }

  /// Whether the key that approves a version must be another than the one that submitted it.
  package var needsSecondKey: Bool { rules.locked { $0.needsSecondKey || $0.needsSecondOperator } }

  /// Whether what cannot be taken back waits for another key's approval; see ``Approvals``.
  package var needsSecondOperator: Bool { rules.locked { $0.needsSecondOperator } }

  /// Whether no product is for sale that was not approved.
  package var reviewsProducts: Bool { rules.locked { $0.reviewsProducts } }

  /// The holder of the key that the request carries, or in whose name it is made (``actingWith(_:_:)``). Throws `unauthorized`
  /// without a known key, `too-many-requests` for an unknown one from an address that has offered many, `forbidden` where it lacks
  /// the scope. Only ``ScopedRoutes`` calls it.
  package func authorize(_ request: HTTPRequest, for scope: OperatorScope) throws(Problem) -> Operator {
    let holder: Operator
    if let key = Self.acting {
      guard let known = self.holder(ofKeyWith: key) else { throw Self.unknownKey }
      holder = known
    } else {
      guard let offered = request.bearerToken else {
        throw Problem(.unauthorized, "an operator key is needed in Authorization: Bearer")
      }
      holder = try key(offered, from: request).holder
    }
    guard holder.may(scope) else {
      throw Problem(.forbidden, "the key \(holder.name) lacks the scope \(scope.rawValue)")
    }
    return holder
  }

  /// The key that was offered in a request. Throws `unauthorized` for an unknown one, and `too-many-requests` where its address has
  /// offered many.
  package func key(_ offered: String, from request: HTTPRequest) throws(Problem) -> Key {
    let keys = rules.locked { $0.keys }
    if let key = keys.first(where: { $0.secret.matches(offered) }) { return key }
    if let seconds = wrongKeys.charge(client(request)) {
      throw Problem(
        .tooManyRequests, "too many wrong operator keys came from your address", retryAfterSeconds: seconds)
    }
    throw Self.unknownKey
  }

  /// The holder of the key with that digest; nil where there is no such key any more.
  package func holder(ofKeyWith secret: SecretDigest) -> Operator? {
    rules.locked { $0.keys }.first { $0.secret == secret }?.holder
  }

  /// The digest of the key that the request carries, or in whose name it is made; nil for an unknown one. It is no authorization.
  func secret(of request: HTTPRequest) -> SecretDigest? {
    if let key = Self.acting { return key }
    let keys = rules.locked { $0.keys }
    return keys.first { $0.secret.matches(request.bearerToken) }?.secret
  }

  private static let unknownKey = Problem(.unauthorized, "the operator key is not known")

  @TaskLocal private static var acting: SecretDigest?

  /// Runs `body`, whose requests within the process are made with the key of that digest: for who has shown the key before, so that
  /// the key itself need not be kept. No request from outside can say so.
  package static func actingWith<Value>(
    _ secret: SecretDigest, _ body: () async -> Value
  ) async -> Value {
    await $acting.withValue(secret) { await body() }
  }
}
