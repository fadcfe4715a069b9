import PullboxAPIServer
import PullboxAPI
import ServiceRuntime

extension DeliveryConfiguration {
  /// Every operator key with its name. Throws ``StartError`` where two are the same, or have the same name.
  func namedOperatorKeys() throws -> [OperatorKeys.Key] {
    var keys = (operatorKeys ?? []).map { key in
      OperatorKeys.Key(name: key.name, secret: SecretDigest(of: key.key.revealed), scopes: Set(key.scopes))
    }
    if let key = operatorKey {
      keys.append(
        OperatorKeys.Key(name: "operator", secret: SecretDigest(of: key.revealed), scopes: [.admin]))
    }
    guard Set(keys.map(\.secret)).count == keys.count else {
      throw StartError("two operator keys are the same")
    }
    guard Set(keys.map(\.name)).count == keys.count else {
      throw StartError("two operator keys have the same name: the audit log could not tell them apart")
    }
    return keys
  }
}
