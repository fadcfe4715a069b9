import CatalogDocuments
import Commerce
import ContentCatalog
import ContentDelivery
import ContentGrants
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess

/// The protocol by which KOReader's devices tell one another how far a file was read, on the records of
/// ``addProgress(to:)``. A file is one that the key's device has fetched here.
extension CatalogFeedRoutes {
  /// Packages of a device among which a file is looked for.
  static let maximumDocuments = 500

  private struct Authorization: Encodable {
    var authorized = "OK"
  }

  /// The members that KOReader sends and is answered with.
  struct Position: Codable {
    var document: String
    /// A page from one, as a number or a text, or a place in a text.
    var progress: PlainText?
    var percentage: Double?
    var device: String?
    var deviceID: String?
    /// Seconds since 1970.
    var timestamp: Int64?

    enum CodingKeys: String, CodingKey {
      case document, progress, percentage, device, timestamp
      case deviceID = "device_id"
    }
  }

  /// A text, or a number that stands in a text's place.
  struct PlainText: Codable {
    var text: String

    init(_ text: String) { self.text = text }

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(Int.self) {
        text = String(number)
      } else {
        text = try container.decode(String.self)
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(text)
    }
  }

  /// Adds what lies below the address that KOReader is given, `/opds/koreader`.
  func addSync(to routes: inout ScopedRoutes) {
    routes.public(
      .get, "/opds/koreader/users/auth", query: [],
      use: keyed { _, _, _ in try Self.answer(Authorization()) })
    routes.public(
      .get, "/opds/koreader/syncs/progress/{document}", query: [],
      use: keyed { request, parameters, key in
        let document = parameters["document"]
        guard let product = try await product(named: document, for: key),
          let found = try await progress.progress(
            of: try await readable(product, for: request, key).product, by: key)
        else { return try Self.answer([String: String]()) }
        return try Self.answer(Self.position(found, of: document))
      })
    routes.public(
      .put, "/opds/koreader/syncs/progress", query: [],
      use: keyed { request, _, key in
        let told = try await request.decodeOnce(Position.self, upTo: ReadingProgress.maximumLength)
        guard told.percentage.map({ (0...1).contains($0) }) ?? true else {
          throw Problem(.requestMalformed, "percentage is a part of the whole, a number from 0 to 1")
        }
        guard let product = try await product(named: told.document, for: key) else {
          throw Problem(.notFound, "the file is none that this device has fetched here")
        }
        let readable = try await readable(product, for: request, key)
        let count = readable.facts?.stream?.count
        let now = infrastructure.clock.now()
        // KOReader may count other pages in the same file.
        let page = count.flatMap { count in
          told.progress.flatMap { Int($0.text) }.flatMap { $0 > 0 ? min($0, max(1, count)) - 1 : nil }
        }
        let kept = try ReadingProgress(
          modified: now,
          device: ReadingProgress.Device(id: told.deviceID ?? key.device.description, name: told.device),
          page: page, position: told.progress?.text, progression: told.percentage
        ).kept(at: now, of: count)
        let standing = try await progress.put(kept, of: product, by: key)
        return try Self.answer(
          Position(document: told.document, timestamp: standing.modified.secondsSinceEpoch))
      })
  }

  private static func position(_ found: ReadingProgress, of document: String) -> Position {
    let place = found.position ?? found.page.map { String($0 + 1) }
    return Position(
      document: document, progress: place.map { PlainText($0) }, percentage: found.progression,
      device: found.device.name ?? found.device.id, deviceID: found.device.id,
      timestamp: found.modified.secondsSinceEpoch)
  }

  private static func answer(_ value: some Encodable) throws -> HTTPResponse {
    HTTPResponse(
      status: .ok, headers: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      body: .bytes(try APIJSON.encode(value)))
  }

  /// The product whose file has that name; nil where the device has fetched none. A package that cannot be read now is one only where no
  /// other is. Throws `unavailable` where more files are to be looked at than one request may.
  private func product(named document: String, for key: ReaderKey) async throws -> ProductIdentifier? {
    let fetched = try await infrastructure.database.read {
      try GrantTable.contents(on: key.device, limit: Self.maximumDocuments, in: $0)
    }
    let known = try await facts.facts(of: Set(fetched.map(\.digest)))
    var rest: [(product: ProductIdentifier, digest: SHA256Digest)] = []
    for (product, digest) in fetched {
      let file = FeedComposer.fileName(of: product, known[digest])
      if MD5.hexadecimal(of: Array(file.utf8)) == document { return product }
      guard let name = syncDocuments.knownName(of: digest) else {
        rest.append((product, digest))
        continue
      }
      if name == document { return product }
    }
    let now = infrastructure.clock.now()
    let open = rest.filter { !syncDocuments.hasFailed($0.digest, at: now) }
    var failure: (any Error)?
    for (product, digest) in open.prefix(SyncDocuments.maximumOpened) {
      do {
        let package = try await infrastructure.content.package(for: digest)
        if try await syncDocuments.name(of: package) == document { return product }
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        syncDocuments.noteFailure(of: digest, at: now)
        failure = error
      }
    }
    if let failure { throw failure }
    guard rest.count == open.count, open.count <= SyncDocuments.maximumOpened else {
      throw Problem(
        .unavailable, "the files that this device has fetched are not all known yet", retryAfterSeconds: 5)
    }
    return nil
  }
}
