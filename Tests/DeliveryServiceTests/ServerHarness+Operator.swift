import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import DeliveryService

/// The work of operators in tests.
extension ServerHarness {
  /// A device that a release of `com.example.issue1` to 10 percent reaches: its place is 856 of 10,000.
  static let early = Device(id: device("device-2"))
  /// One that 10 percent do not reach, and 50 do: its place is 4730.
  static let late = Device(id: device("device-1"))

  private static func device(_ text: String) -> DeviceIdentifier {
    guard let device = DeviceIdentifier(text) else { preconditionFailure("\(text) names a device") }
    return device
  }

  func path(_ product: String, _ version: String) -> String {
    "/v1/operator/products/\(product)/versions/\(version)"
  }

  @discardableResult
  func step(
    _ step: String, _ version: String, of product: String = "com.example.issue1",
    _ body: some Encodable & Sendable = EmptyBody(), as operators: APIClient? = nil
  ) async throws -> VersionRecord {
    try await (operators ?? operatorAPI).call(
      "POST", path(product, version) + "/" + step, body: body, as: VersionRecord.self
    ).value
  }

  @discardableResult
  func release(
    _ version: String, of product: String = "com.example.issue1", to percentage: Int? = nil,
    at date: Timestamp? = nil
  ) async throws -> VersionRecord {
    try await step("release", version, of: product, ReleaseRequest(percentage: percentage, at: date))
  }

  /// Uploads `bytes` as that version, and has it approved; `describing` creates the product first.
  func approve(
    _ bytes: [UInt8], _ version: String, of product: String = "com.example.issue1", describing: Bool = false
  ) async throws {
    if describing {
      _ = try await operatorAPI.call(
        "PUT", "/v1/operator/products/\(product)", body: ProductDescription(), as: OperatorProduct.self)
    }
    _ = try await submit(bytes, as: product, version: version)
    try await step("submit", version, of: product)
    try await step("approve", version, of: product)
  }

  /// The version that the device gets for a purchase of its own.
  func offered(to device: Device, version: String? = nil) async throws -> String {
    try await grant(to: device, version: version).download.version.description
  }

  func grant(to device: Device, version: String? = nil) async throws -> GrantResponse {
    let receipt = try store.receipt(of: [purchase()], device: device.id)
    var request = GrantRequest(
      proof: Proof(store: "sandbox", receipt: receipt),
      product: try #require(ProductIdentifier("com.example.issue1")),
      device: device)
    request.version = version.flatMap { ContentVersion($0) }
    return try await api.call("POST", "/v1/grants", body: request, as: GrantResponse.self).value
  }

  func productsForSale() async throws -> [String] {
    try await api.get("/products_v1.json", as: [String].self)
  }

  func listing(
    _ product: String = "com.example.issue1", for device: Device? = nil
  ) async throws -> ProductListing? {
    let query = [("id", product)] + (device.map { [("device", $0.id.description)] } ?? [])
    return try await api.get("/v1/products", query: query, as: ProductsResponse.self).products.first
  }

  func audit(_ query: [(String, String)] = []) async throws -> [AuditEntry] {
    try await operatorAPI.get("/v1/operator/audit", query: query, as: Page<AuditEntry>.self).items
  }

  /// Downloads all of it and reports it as placed.
  func deliver(_ grant: GrantResponse, to device: Device) async throws {
    #expect(try await fetch(grant).status == 200)
    var report = report(grant)
    report.device = device.id
    _ = try await complete(grant, report)
  }
}

extension ServerHarness {
  /// The operators' interface with another key.
  func operatorAPI(with key: String) -> APIClient {
    APIClient(baseURL: api.baseURL, credential: key, client: client)
  }
}
