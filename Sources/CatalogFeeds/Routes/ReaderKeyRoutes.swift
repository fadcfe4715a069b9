import CatalogDocuments
import Commerce
import ContentCatalog
package import ContentDelivery
package import ContentGrants
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess
import ServiceAPI

/// The keys of applications for reading over HTTP, for the agent of a customer, which shows the proofs of what was bought. Proofs are
/// long, so that all three are posted.
package struct ReaderKeyRoutes: Sendable {
  /// Keys that are listed, at most.
  static let maximumKeys = 200

  private let grants: GrantService
  private let devices: GrantRoutes
  private let settings: LiveSettings
  private let publicURL: String
  private let bodies: ReaderBodies
  private let admissions: ReaderAdmissions

  package init(
    grants: GrantService, settings: LiveSettings, admission: AdmissionControl, publicURL: String,
    bodies: ReaderBodies, admissions: ReaderAdmissions
  ) {
    self.grants = grants
    self.bodies = bodies
    self.admissions = admissions
    self.settings = settings
    self.publicURL = publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL
    devices = GrantRoutes(grants: grants, settings: settings, admission: admission)
  }

  /// Adds `POST /v1/readers`, `POST /v1/readers/list` and `POST /v1/readers/{name}/remove`. A proof of purchase stands in the place of
  /// an operator's key.
  package func add(to routes: inout ScopedRoutes) {
    routes.public(.post, "/v1/readers") { request, _ in
      let (asked, customer) = try await customer(of: request)
      let title = (asked.title ?? "").removingInvisibleFormatting
      guard (1...ReaderKeyRequest.maximumTitle).contains(title.unicodeScalars.count),
        !title.utf8.contains(0)
      else {
        throw Problem(
          .requestMalformed,
          "title is 1 to \(ReaderKeyRequest.maximumTitle) characters: what the device is called")
      }
      let territory = try asked.territory.map { code throws(Problem) in
        guard let territory = Territory(code) else {
          throw Problem(.requestMalformed, "territory is one of ISO 3166 alpha-3")
        }
        return territory
      }
      let locale = try asked.locale.map { tag throws(Problem) in
        guard LanguageTag.isAssigned(tag.replacing("_", with: "-")) else {
          throw Problem(.requestMalformed, "locale is a BCP 47 tag")
        }
        return tag
      }
      let (name, password) = (ReaderPassword.makeName(), ReaderPassword.make())
      guard let device = DeviceIdentifier("reader-\(name)") else { throw Problem(.internalError) }
      try await grants.add(
        ReaderKey(
          name: name, customer: customer, device: device, title: title,
          digest: SecretDigest(of: password).digest,
          syncDigest: MD5.hexadecimal(of: Array(password.utf8)).map { SecretDigest(of: $0).digest },
          territory: territory, locale: locale,
          created: grants.grantStore.clock.now()))
      return try .json(
        NewReaderKey(name: name, password: password, address: "\(base(of: request))/opds"), status: .created)
    }
    routes.public(.post, "/v1/readers/list") { request, _ in
      let (_, customer) = try await customer(of: request)
      let keys = try await grants.grantStore.database.read {
        try ReaderKeyTable.all(of: customer, limit: Self.maximumKeys, in: $0)
      }
      return try .json(
        ReaderKeyList(
          readers: keys.map { .init(name: $0.name, title: $0.title, created: $0.created, used: $0.used) }))
    }
    routes.public(.post, "/v1/readers/{name}/remove") { request, parameters in
      let (_, customer) = try await customer(of: request)
      try await grants.removeReaderKey(parameters["name"], of: customer)
      admissions.forget()
      try await bodies.look()
      return HTTPResponse(status: .noContent)
    }
  }

  /// The document of the request, and the customer whose purchases it shows.
  private func customer(
    of request: HTTPRequest
  ) async throws -> (asked: ReaderKeyRequest, customer: CustomerIdentifier) {
    let asked = try await request.decode(ReaderKeyRequest.self, upTo: GrantRoutes.maximumProofLength)
    try devices.charge(asked.device, showing: asked.proofs, for: request)
    return (asked, try await grants.customer(showing: asked.proofs, on: asked.device.id, asked: request.id))
  }

  private func base(of request: HTTPRequest) -> String {
    guard publicURL.isEmpty else { return publicURL }
    return settings.value.proxies.origin(of: request.peer, ForwardingFields(request)).base ?? ""
  }
}
