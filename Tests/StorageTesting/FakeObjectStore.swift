import CoreTypes
import Crypto
import HTTPParsing
package import HTTPServer
import ObjectStore
package import PullboxTesting
import ServiceRuntime
import Synchronization
import SystemCalls

/// An object store in this process's memory, on a port of loopback: the calls of docs/object-stores.md, each signed by its key. It answers
/// 400 to a request that is signed in two ways, as stores do, and 403 to an address that is over.
package final class FakeObjectStore: AsyncHandler {
  /// A request as it came.
  package struct Call: Hashable, Sendable {
    package var method: String
    /// The name below the bucket; empty for the bucket itself.
    package var key: String
    package var range: String?
  }

  private struct State {
    var objects: [String: [UInt8]] = [:]
    var calls: [Call] = []
    /// Answers a call in the store's place, where it returns a status.
    var refusal: @Sendable (Call) -> HTTPStatus? = { _ in nil }
    var clockOffset: Duration = .zero
  }

  private static let bucket = "comics"
  private static let region = "us-east-1"
  private let state = Mutex(State())
  private let server = Mutex<HTTPServer?>(nil)
  private let directory: TemporaryDirectory
  private let signer: SignatureV4

  /// A store without objects, which listens.
  package init() throws {
    directory = try TemporaryDirectory()
    signer = SignatureV4(
      credentials: try Self.credentials(in: directory), region: Self.region)
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 1
    let server = HTTPServer(configuration: configuration, handler: self)
    try server.start()
    self.server.withLock { $0 = server }
  }

  private static func credentials(in directory: TemporaryDirectory) throws -> ObjectStoreCredentials {
    let path = directory.path("key")
    try FileDescriptor.open(path, .readWrite, options: .create, permissions: 0o600).write(
      Array("tester\nhidden\n".utf8).span, at: .zero)
    return try ObjectStoreCredentials(file: path)
  }

  /// The file of its key.
  package var keyFile: String { directory.path("key") }
  package var location: String { "s3://\(Self.bucket)/production" }
  /// Its address without the scheme.
  package var host: String { server.withLock { $0?.boundAddresses.first?.description } ?? "" }
  package var endpoint: String { "http://\(host)" }

  /// The store as one to try.
  package var tested: StoreUnderTest {
    StoreUnderTest(location: location, endpoint: endpoint, region: nil, keyFile: keyFile)
  }

  /// The objects of the store, by names below the installation's prefix.
  package var objects: [String: [UInt8]] {
    get {
      state.withLock { state in
        Dictionary(
          uniqueKeysWithValues: state.objects.map {
            (String($0.key.dropFirst("production/".count)), $0.value)
          })
      }
    }
    set {
      let named = newValue.map { ("production/\($0.key)", $0.value) }
      state.withLock { $0.objects = Dictionary(uniqueKeysWithValues: named) }
    }
  }

  /// The calls since the last look.
  package func takeCalls() -> [Call] {
    state.withLock { state in
      defer { state.calls = [] }
      return state.calls
    }
  }

  /// Has the store answer with a status of the test's from now on, where `refusal` returns one.
  package func refuse(_ refusal: @escaping @Sendable (Call) -> HTTPStatus?) {
    state.withLock { $0.refusal = refusal }
  }

  /// Moves the store's clock.
  package func advance(by duration: Duration) {
    state.withLock { $0.clockOffset += duration }
  }

  package func stop() async {
    await server.withLock { $0.take() }?.drain()
  }

  package func respond(to request: HTTPRequest) async -> HTTPResponse {
    let segments = request.pathSegments
    guard segments.first == Self.bucket else { return Self.refusal(.notFound, "NoSuchBucket") }
    let key = segments.dropFirst().joined(separator: "/")
    let call = Call(method: request.method.rawValue, key: key, range: request.headers["Range"])
    let (refusal, offset) = state.withLock { state in
      state.calls.append(call)
      return (state.refusal, state.clockOffset)
    }
    // As a whole first: who sends it waits for nothing then.
    let body = (try? await request.body.collect(upTo: .mebibytes(64))) ?? []
    if let status = refusal(call) {
      return Self.refusal(status, status == .forbidden ? "AccessDenied" : "ServiceUnavailable")
    }
    if let refused = check(request, at: SystemWallClock().now() + offset) { return refused }
    switch (request.method, key) {
    case (.get, ""): return list(request)
    case (.put, _): return put(body, as: key, digest: request.headers["x-amz-content-sha256"])
    case (.delete, _):
      state.withLock { $0.objects[key] = nil }
      return HTTPResponse(status: .noContent)
    case (.get, _), (.head, _): return get(request, key)
    default: return Self.refusal(.methodNotAllowed, "MethodNotAllowed")
    }
  }

  /// Why the request is refused for how it is signed; nil where it is not.
  private func check(_ request: HTTPRequest, at now: Timestamp) -> HTTPResponse? {
    let signature = request.queryValue("X-Amz-Signature")
    if let field = request.headers["Authorization"] {
      guard signature == nil else { return Self.refusal(.badRequest, "InvalidArgument") }
      return field.hasPrefix("AWS4-HMAC-SHA256 Credential=tester/")
        ? nil : Self.refusal(.forbidden, "AccessDenied")
    }
    guard signature != nil, let date = request.queryValue("X-Amz-Date").flatMap(Self.date),
      let seconds = request.queryValue("X-Amz-Expires").flatMap({ Int($0) })
    else { return Self.refusal(.forbidden, "AccessDenied") }
    let signed = SignatureV4.Request(
      method: request.method.rawValue, host: request.headers["Host"] ?? "", path: request.path)
    let query = signer.presignedQuery(for: signed, seconds: seconds, at: date)
    guard request.rawTarget == "\(request.path)?\(query)", now < date + .seconds(Int64(seconds)) else {
      return Self.refusal(.forbidden, "SignatureDoesNotMatch")
    }
    return nil
  }

  /// 20130524T000000Z.
  private static func date(_ text: String) -> Timestamp? {
    let digits = Array(text.utf8)
    guard digits.count == 16 else { return nil }
    func part(_ range: Range<Int>) -> String { String(decoding: digits[range], as: UTF8.self) }
    return Timestamp(
      rfc3339:
        "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))T\(part(9..<11)):\(part(11..<13)):\(part(13..<15))Z")
  }

  private func put(_ bytes: [UInt8], as key: String, digest: String?) -> HTTPResponse {
    guard digest == SHA256Digest.of(bytes).hexadecimal else {
      return Self.refusal(.badRequest, "XAmzContentSHA256Mismatch")
    }
    state.withLock { $0.objects[key] = bytes }
    return HTTPResponse(status: .ok)
  }

  private func get(_ request: HTTPRequest, _ key: String) -> HTTPResponse {
    guard let bytes = state.withLock({ $0.objects[key] }) else { return Self.refusal(.notFound, "NoSuchKey") }
    let length = Int64(bytes.count)
    // Each answer has another validator: no one may rely on it.
    var headers: HTTPFields = [
      "Accept-Ranges": "bytes", "ETag": "\"\(RandomBytes.token(bits: 64))\"",
      "Content-Type": "binary/octet-stream", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
      "x-amz-request-id": "tx0000", "Cache-Control": "max-age=1",
    ]
    switch RangeSet.requested(request, length: length) {
    case .single(let range):
      headers["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
      let part = Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
      return HTTPResponse(status: .partialContent, headers: headers, body: .bytes(part))
    case .unsatisfiable: return Self.refusal(.rangeNotSatisfiable, "InvalidRange")
    case .ignore, .several: return HTTPResponse(status: .ok, headers: headers, body: .bytes(bytes))
    }
  }

  private func list(_ request: HTTPRequest) -> HTTPResponse {
    let (prefix, after) = (request.queryValue("prefix") ?? "", request.queryValue("start-after") ?? "")
    let limit = request.queryValue("max-keys").flatMap { Int($0) } ?? 1000
    let found = state.withLock { $0.objects }.filter { $0.key.hasPrefix(prefix) && $0.key > after }
      .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    let entries = found.prefix(limit).map {
      "<Contents><Key>\($0.key)</Key><LastModified>2026-11-28T00:00:00.000Z</LastModified><Size>\($0.value.count)</Size></Contents>"
    }
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <ListBucketResult><Name>\(Self.bucket)</Name><Prefix>\(prefix)</Prefix><MaxKeys>\(limit)</MaxKeys>\
      <EncodingType>url</EncodingType><IsTruncated>\(found.count > limit)</IsTruncated>\
      \(entries.joined())</ListBucketResult>
      """
    return HTTPResponse(
      status: .ok, headers: ["Content-Type": "application/xml"], body: .bytes(Array(text.utf8)))
  }

  private static func refusal(_ status: HTTPStatus, _ code: String) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: ["Content-Type": "application/xml", "x-amz-request-id": "tx0000"],
      body: .bytes(
        Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>\(code)</Code></Error>".utf8)))
  }
}
