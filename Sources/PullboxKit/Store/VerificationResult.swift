public import Commerce
import CoreTypes
public import PullboxAPI
import PullboxAPIClient

/// A value that this device knows, and whether the delivery server has signed it for this device: StoreKit's `VerificationResult`.
///
/// ```swift
/// switch try await AppStore.ownership(of: product) {
/// case .verified(let ownership): ownership.owned ? open(product) : offer(product)
/// case .unverified(let ownership, .licenseExpired): say("Connect once, to go on reading")
/// case .unverified(let ownership, _): ownership.owned ? open(product) : offer(product)
/// }
/// ```
public enum VerificationResult<Value: Sendable>: Sendable {
  /// The license of this device says so, and is good now.
  case verified(Value)
  /// This device has heard so, and no license says it now, for that reason.
  case unverified(Value, ProductOwnership.UnverifiedReason)

  /// The value, verified or not.
  public var value: Value {
    switch self {
    case .verified(let value), .unverified(let value, _): value
    }
  }

  /// Whether the license says so.
  public var isVerified: Bool {
    if case .verified = self { true } else { false }
  }

  /// Why it is not verified; nil where it is.
  public var reason: ProductOwnership.UnverifiedReason? {
    if case .unverified(_, let reason) = self { reason } else { nil }
  }
}

extension VerificationResult: Equatable where Value: Equatable {}

extension VerificationResult where Value == ProductOwnership {
  /// Takes the agent's answer.
  public init(_ ownership: ProductOwnership) {
    switch ownership.verification {
    case .verified: self = .verified(ownership)
    case .unverified: self = .unverified(ownership, ownership.reason ?? .noLicense)
    }
  }
}

extension AppStore {
  /// Because of what a product is owned, until when, and when that was heard. The agent asks no service: without a network it answers by the
  /// license of this device. Throws `APICallError`.
  public static func ownership(
    of product: ProductIdentifier, from agent: AgentClient? = nil
  ) async throws -> VerificationResult<ProductOwnership> {
    VerificationResult(try await (agent ?? AppStore.agent).ownership(of: product))
  }

  /// The license of this device; nil where there is none. Throws `APICallError`.
  public static func license(from agent: AgentClient? = nil) async throws -> LicenseSummary? {
    try await (agent ?? AppStore.agent).ownership().license
  }
}

extension AgentClient {
  /// Says what this device knows of the product, also of one that it never heard of.
  public func ownership(of product: ProductIdentifier) async throws(APICallError) -> ProductOwnership {
    try await api.get("/v1/library/\(product)/ownership")
  }

  /// The same of all products that the delivery server has told of.
  public func ownership() async throws(APICallError) -> OwnershipResponse {
    try await api.get("/v1/ownership")
  }
}
