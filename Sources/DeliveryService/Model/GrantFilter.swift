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
}

extension GrantFilter {
  static let query: Set<String> = ["product", "version", "transaction", "device", "state", "revoked"]

  /// From the parameters of ``query`` and of ``TimeRange``; `revoked=true` is `state=revoked`. Throws `request-malformed`
  /// for what cannot be one, and for a version of no product: the versions of all products have nothing in common.
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
    if version != nil && product == nil && transaction == nil && device == nil {
      throw Problem(.requestMalformed, "version needs a product, a transaction or a device beside it")
    }
  }
}
