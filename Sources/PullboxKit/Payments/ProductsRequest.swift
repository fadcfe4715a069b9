public import PullboxAPI
import PullboxAPIClient

/// Asks what products are called and what they cost, before an app shows them: texts in a language, prices of the territory
/// of the device's store account, and what the account has of them already.
///
/// ```swift
/// let shown = try await ProductsRequest(["com.example.issue1"]).response(from: agent)
/// guard let issue = shown.valid.first, !issue.isHeld else { return }
/// try await queue.add(Payment(product: issue))
/// ```
public struct ProductsRequest: Hashable, Sendable {
  /// The products that are for sale, and the identifiers that are not.
  public struct Response: Sendable {
    /// In the order of the identifiers.
    public let valid: [AgentProduct]
    /// Identifiers of nothing that is for sale here, as they were written.
    public let invalid: [String]
    /// Where the prices are good.
    public let storefront: Storefront
  }

  /// The identifiers, as the app's own list has them.
  public var identifiers: [String]
  /// BCP 47, `fr-FR`; nil for each product's first language.
  public var locale: String?

  /// A request for these products.
  public init(_ identifiers: [String], locale: String? = nil) {
    self.identifiers = identifiers
    self.locale = locale
  }

  /// Asks the agent. Throws `APICallError`: `store-unavailable` or `unavailable` while the store or the delivery server is
  /// away.
  public func response(from agent: AgentClient) async throws -> Response {
    let found = try await agent.products(identifiers, locale: locale)
    return Response(
      valid: found.products, invalid: found.invalidProductIdentifiers, storefront: Storefront(found.account))
  }
}
