import Commerce
import HTTPServer
import PullboxAPI

/// Which grants a list is to have; nothing set is all of them.
struct GrantFilter: Sendable {
  var product: ProductIdentifier?
  var transaction: TransactionIdentifier?
  var device: DeviceIdentifier?
  var isRevoked: Bool?

  /// The columns that must have a value, and the value.
  var columns: [(String, String)] {
    let all = [
      ("product", product?.text), ("transaction_id", transaction?.text), ("device", device?.text),
    ]
    return all.compactMap { column, value in value.map { (column, $0) } }
  }
}

extension GrantFilter {
  /// From `?product=`, `transaction=`, `device=` and `revoked=true`. Throws `request-malformed` for what cannot be one.
  init(_ request: HTTPRequest) throws(Problem) {
    func value<Value: TextCodable>(_ name: String) throws(Problem) -> Value? {
      guard let text = request.queryValue(name) else { return nil }
      guard let value = Value(text) else { throw Problem(.requestMalformed, "\(name) is not one: \(text)") }
      return value
    }
    product = try value("product")
    transaction = try value("transaction")
    device = try value("device")
    switch request.queryValue("revoked") {
    case nil: isRevoked = nil
    case "true": isRevoked = true
    default: throw Problem(.requestMalformed, "revoked is true or left out")
    }
  }
}
