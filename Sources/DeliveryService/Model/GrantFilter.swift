import Commerce
import HTTPServer
import PullboxAPI

/// Which grants a list is to have; nothing set is all of them.
struct GrantFilter: Sendable {
  var product: ProductIdentifier?
  /// However it is spelled.
  var version: ContentVersion?
  var transaction: TransactionIdentifier?
  var device: DeviceIdentifier?
  var state: GrantState?
  /// When they were granted.
  var granted = TimeRange()

  /// The columns that must have a value, and the value; neither state nor version is such a column.
  var columns: [(String, String)] {
    let all = [
      ("product", product?.description), ("transaction_id", transaction?.description),
      ("device", device?.description),
    ]
    return all.compactMap { column, value in value.map { (column, $0) } }
  }
}

extension GrantFilter {
  static let query: Set<String> = ["product", "version", "transaction", "device", "state", "revoked"]

  /// From the parameters of ``query`` and of ``TimeRange``; `revoked=true` is `state=revoked`. Throws `request-malformed`
  /// for what cannot be one.
  init(_ request: HTTPRequest) throws(Problem) {
    product = try request.filter("product") { ProductIdentifier($0) }
    version = try request.filter("version") { ContentVersion($0) }
    transaction = try request.filter("transaction") { TransactionIdentifier($0) }
    device = try request.filter("device") { DeviceIdentifier($0) }
    state = try request.filter("state") { GrantState(rawValue: $0) }
    granted = try TimeRange(request)
    switch request.queryValue("revoked") {
    case nil: break
    case "true": state = .revoked
    default: throw Problem(.requestMalformed, "revoked is true or left out")
    }
  }
}
