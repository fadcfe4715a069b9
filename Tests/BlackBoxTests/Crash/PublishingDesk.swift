import Commerce
import CoreTypes
import Crypto
import Files
import HTTPClient
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls

/// An operator of one delivery server, as the sweep needs one.
struct PublishingDesk: Sendable {
  static let uploads = "/v1/operator/uploads"
  private static let media = ("Content-Type", "application/offset+octet-stream")

  /// Something does not hold that always must.
  struct Violation: Error, CustomStringConvertible {
    var description: String
  }

  let web: Web
  /// Where the server's state directory lies, and whatever else a test needs.
  let directory: TemporaryDirectory

  var state: String { Self.state(in: directory) }

  static func state(in directory: TemporaryDirectory) -> String { directory.path("state") }

  func tus(
    _ method: String, _ path: String, _ headers: [(String, String)] = [], _ body: [UInt8]? = nil
  ) async throws -> Answer {
    try await web.send(method, path, headers: [("Tus-Resumable", "1.0.0")] + headers, body: body)
  }

  func createUpload(length: Int) async throws -> String {
    let answer = try await tus("POST", Self.uploads, [("Upload-Length", "\(length)")])
    guard answer.status == 201, let location = answer.headers["Location"] else {
      throw Self.violation(answer)
    }
    return location
  }

  /// Sends what the server lacks of `content`; with a checksum where asked.
  func send(_ content: [UInt8], to location: String, isChecked: Bool = false) async throws {
    let head = try await tus("HEAD", location)
    guard let offset = head.headers["Upload-Offset"].flatMap({ Int($0) }) else { throw Self.violation(head) }
    guard offset < content.count else { return }
    let rest = Array(content[offset...])
    var headers = [("Upload-Offset", "\(offset)"), Self.media]
    if isChecked {
      headers.append(("Upload-Checksum", "sha256 " + Base64.encode(SHA256Digest.of(rest).array)))
    }
    let answer = try await tus("PATCH", location, headers, rest)
    guard answer.status == 204 else { throw Self.violation(answer) }
  }

  /// `keys` are those that must sign its manifests; without any, none need be signed.
  func describe(_ product: String, keys: [String] = []) async throws {
    let description = keys.isEmpty ? [:] : ["publisherKeys": keys]
    let answer = try await web.send(
      "PUT", "/v1/operator/products/\(product)", headers: [("Content-Type", "application/json")],
      body: try APIJSON.encode(description))
    guard (200...201).contains(answer.status) else { throw Self.violation(answer) }
  }

  @discardableResult
  func makeVersion(_ version: String, of product: String, from location: String) async throws -> VersionRecord
  {
    let answer = try await web.post(
      "/v1/operator/products/\(product)/versions",
      ["upload": location, "version": version])
    guard (200...201).contains(answer.status) else { throw Self.violation(answer) }
    return try answer.decoded()
  }

  /// A version with a manifest and its signatures; nil when the server answers with one of `refusals`.
  func makeVersion(
    _ version: String, of package: PackedFolder, from location: String, refusals: [ProblemCode] = []
  ) async throws -> VersionRecord? {
    let answer = try await web.post(
      "/v1/operator/products/\(package.product)/versions",
      PackedFolder.Submission(
        upload: location, version: version, manifest: Base64.encode(package.manifest),
        signatures: package.signatures))
    if let code = answer.problem?.code, refusals.contains(code) { return nil }
    guard (200...201).contains(answer.status) else { throw Self.violation(answer) }
    return try answer.decoded()
  }

  func manifest(_ version: String, of product: String) async throws -> [UInt8] {
    let answer = try await web.get("/v1/operator/products/\(product)/versions/\(version)/manifest")
    guard answer.status == 200 else { throw Self.violation(answer) }
    return answer.body
  }

  func take(_ step: String, _ version: String, of product: String) async throws {
    let answer = try await web.post("/v1/operator/products/\(product)/versions/\(version)/\(step)")
    guard answer.status == 200 else { throw Self.violation(answer) }
  }

  func versions(of product: String) async throws -> [VersionRecord] {
    let answer = try await web.get("/v1/operator/products/\(product)/versions")
    if answer.problem?.code == .productUnknown { return [] }
    return try answer.decoded(Page<VersionRecord>.self).items
  }

  func openUploads() async throws -> [UploadRecord] {
    try await web.get(Self.uploads).decoded(Page<UploadRecord>.self).items
  }

  func collect(dryRun: Bool = false) async throws -> GarbageCollectionReport {
    let answer = try await web.post(
      "/v1/operator/collection", GarbageCollectionRequest(dryRun: dryRun, graceSeconds: 0))
    guard answer.status == 200 else { throw Self.violation(answer) }
    return try answer.decoded()
  }

  func blobPath(_ digest: SHA256Digest) -> String {
    "\(state)/blobs/\(digest.hexadecimal.prefix(2))/\(digest.hexadecimal.dropFirst(2))"
  }

  func hasBlob(_ digest: SHA256Digest) throws -> Bool {
    try FileSystem.status(of: blobPath(digest)) != nil
  }

  func incomingPath(_ location: String) -> String { "\(state)/incoming/\(Self.identifier(location))" }

  static func identifier(_ location: String) -> String {
    location.split(separator: "/").last.map(String.init) ?? ""
  }

  /// The actions that the audit log tells of that subject, the newest first.
  func audited(_ subject: String) async throws -> [String] {
    try await web.get("/v1/operator/audit?limit=200").decoded(Page<AuditEntry>.self).items
      .filter { $0.subject == subject }.map(\.action)
  }

  /// Every version that is shown has all its bytes, and they are what it says.
  func checkVersions(of product: String) async throws {
    let records = try await versions(of: product)
    for record in records {
      let bytes = try FileSystem.read(blobPath(record.digest), upTo: .mebibytes(64))
      guard bytes.count == record.length.rawValue, SHA256Digest.of(bytes) == record.digest else {
        throw Violation(description: "\(product) \(record.version) has other bytes than it says")
      }
    }
    guard records.count(where: { $0.state == .released }) <= 1 else {
      throw Violation(description: "\(product) has two released versions")
    }
    try await checkAudit(of: product, records)
  }

  /// A step is in the log exactly when the version is past it.
  private func checkAudit(of product: String, _ records: [VersionRecord]) async throws {
    for record in records {
      let actions = try await audited("\(product) \(record.version)")
      let expected: [String] =
        switch record.state {
        case .draft: []
        case .submitted: ["version.submit"]
        case .approved: ["version.approve", "version.submit"]
        default: ["version.release", "version.approve", "version.submit"]
        }
      guard actions == expected + ["version.create"] else {
        throw Violation(
          description: "\(product) \(record.version) is \(record.state); the log says \(actions)")
      }
    }
  }

  /// Checks that the bytes that the server says it holds of an upload are the beginning of `content`.
  func checkUpload(_ location: String, of content: [UInt8]) async throws -> Int {
    let head = try await tus("HEAD", location)
    guard let offset = head.headers["Upload-Offset"].flatMap({ Int($0) }) else { throw Self.violation(head) }
    let bytes = try FileSystem.read(incomingPath(location), upTo: .mebibytes(64))
    guard bytes.count >= offset, Array(bytes.prefix(offset)) == Array(content.prefix(offset)) else {
      throw Violation(description: "the upload's \(offset) bytes are not those that were sent")
    }
    return offset
  }

  static func violation(_ answer: Answer) -> Violation { Violation(description: answer.text) }
}
