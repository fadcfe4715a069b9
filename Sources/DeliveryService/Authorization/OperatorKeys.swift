import PullboxAPIServer
import HTTPServer
import PullboxAPI
import Synchronization

/// Who may operate this server, and whether one key may both hand in and approve; replaced as a whole when the configuration
/// is read again. Keys are compared by digest and never kept or logged.
final class OperatorKeys: Sendable {
  struct Key: Sendable {
    /// What the audit log calls its holder.
    var name: String
    var secret: SecretDigest
    var scopes: Set<OperatorScope>
  }

  private struct Rules {
    var keys: [Key]
    var needsSecondKey: Bool
  }

  private let rules: Mutex<Rules>

  init(_ keys: [Key], needsSecondKey: Bool = false) {
    rules = Mutex(Rules(keys: keys, needsSecondKey: needsSecondKey))
  }

  func replace(_ keys: [Key], needsSecondKey: Bool) {
    rules.withLock { $0 = Rules(keys: keys, needsSecondKey: needsSecondKey) }
  }

  /// Who approves must use another key than who submitted.
  var needsSecondKey: Bool { rules.withLock { $0.needsSecondKey } }

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
    let keys = rules.withLock { $0.keys }
    guard let key = keys.first(where: { $0.secret.matches(offered) }) else {
      throw Problem(.unauthorized, "the operator key is not known")
    }
    guard key.scopes.contains(scope) || key.scopes.contains(.admin) else {
      throw Problem(.forbidden, "the key \(key.name) lacks the scope \(scope.rawValue)")
    }
    return key.name
  }
}
