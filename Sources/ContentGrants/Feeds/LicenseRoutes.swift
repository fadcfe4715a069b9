import Commerce
import ContentDelivery
import Crypto
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess
import ServiceAPI

/// `GET /v1/license` and `GET /v1/license/keys`: what a device's customer owns, signed, and the keys to verify it by.
package struct LicenseRoutes: Sendable {
  private let feeds: FeedService

  package init(feeds: FeedService) {
    self.feeds = feeds
  }

  /// Adds both routes. A license is given for the token of a feed; the keys are for everyone.
  package func add(to routes: inout ScopedRoutes) {
    routes.public(.get, "/v1/license", query: ["device", "key", "serial"]) { request, _ in
      guard let device = try request.filter("device", { DeviceIdentifier($0) }) else {
        throw Problem(.requestMalformed, "device names the device whose license it is")
      }
      guard let key = try request.filter("key", { VerificationKey(text: $0) }) else {
        throw Problem(.requestMalformed, "key is the device's public key")
      }
      guard let serial = try request.filter("serial", { License.isSerial($0) ? $0 : nil }) else {
        throw Problem(.requestMalformed, "serial is 16 random bytes, in 22 characters of base64url")
      }
      return try .json(
        try await feeds.license(token: request.bearerToken, device: device, key: key, serial: serial),
        headers: ["Cache-Control": "private, no-store"])
    }
    routes.public(.get, "/v1/license/keys") { _, _ in
      try .json(try await feeds.publishedLicenseKeys(), headers: ["Cache-Control": "public, max-age=300"])
    }
  }
}
