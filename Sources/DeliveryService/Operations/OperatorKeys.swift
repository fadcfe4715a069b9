import APIServing
import HTTPServer
import PullboxAPI
import Synchronization

/// Who may operate this server; replaced as a whole when the configuration is read again. Keys are compared by digest and
/// never kept or logged.
final class OperatorKeys: Sendable {
  struct Key: Sendable {
    /// What the audit log calls its holder.
    var name: String
    var secret: SecretDigest
    var scopes: Set<OperatorScope>
  }

  private let keys: Mutex<[Key]>

  init(_ keys: [Key]) {
    self.keys = Mutex(keys)
  }

  func replace(_ new: [Key]) {
    keys.withLock { $0 = new }
  }

  /// Whether the request carries a key with that scope.
  func allows(_ request: HTTPRequest, _ scope: OperatorScope) -> Bool {
    // Why not is of no matter here: authorize has been asked before for what the request needs at least.
    (try? authorize(request, for: scope)) != nil
  }

  /// The name of the key that the request carries. Throws `unauthorized` without a known key, `forbidden` where it lacks
  /// the scope.
  func authorize(_ request: HTTPRequest, for scope: OperatorScope) throws(Problem) -> String {
    guard let offered = request.bearerToken else {
      throw Problem(.unauthorized, "an operator key is needed in Authorization: Bearer")
    }
    let keys = keys.withLock { $0 }
    guard let key = keys.first(where: { $0.secret.matches(offered) }) else {
      throw Problem(.unauthorized, "the operator key is not known")
    }
    guard key.scopes.contains(scope) || key.scopes.contains(.admin) else {
      throw Problem(.forbidden, "the key \(key.name) lacks the scope \(scope.rawValue)")
    }
    return key.name
  }
}
