import Commerce
import CoreTypes
import DeliveryModel
import DeliveryRecords
package import HTTPServer
package import PullboxAPI
import ServiceAPI

extension TimeRange {
  /// The parameters that narrow a list in order of time.
  package static let query: Set<String> = ["since", "until"]

  /// From `?since=` and `until=`, both RFC 3339. Throws `request-malformed` for what is no date.
  package init(_ request: HTTPRequest) throws(Problem) {
    self.init(
      since: try request.filter("since") { Timestamp(rfc3339: $0) },
      until: try request.filter("until") { Timestamp(rfc3339: $0) })
  }
}

extension GrantFilter {
  /// The parameters of a list of grants.
  package static let query: Set<String> = [
    "product", "version", "transaction", "device", "customer", "state", "revoked",
  ]

  /// From the parameters of ``query`` and of ``TimeRange``; `revoked=true` is `state=revoked`. Throws `request-malformed`
  /// for what cannot be one, and for a version of no product: the versions of all products have nothing in common.
  package init(_ request: HTTPRequest) throws(Problem) {
    self.init()
    product = try request.filter("product") { ProductIdentifier($0) }
    version = try request.filter("version") { ContentVersion($0) }
    transaction = try request.filter("transaction") { TransactionIdentifier($0) }
    device = try request.filter("device") { DeviceIdentifier($0) }
    customer = try request.filter("customer") { CustomerIdentifier(hexadecimal: $0) }
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
    if customer != nil && (transaction != nil || version != nil) {
      throw Problem(.requestMalformed, "beside a customer there is no transaction and no version")
    }
  }
}
