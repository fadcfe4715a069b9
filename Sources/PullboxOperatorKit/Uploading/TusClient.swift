import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient

/// The requests of tus 1.0.0 (https://tus.io/protocols/resumable-upload), one by one.
struct TusClient: Sendable {
  private static let protocolVersion = "1.0.0"
  private static let path = "/v1/operator/uploads"
  /// The last answer of a request waits for the server's disk; a connection without a byte for longer than
  /// this is lost.
  private static let silence = Duration.seconds(180)

  let api: APIClient
  let client: HTTPClient

  /// Which server an upload's address belongs to.
  var name: String { api.baseURL }

  /// Creates an upload, and returns its absolute URL.
  func create(length: ByteCount, name: String) async throws(APICallError) -> String {
    let metadata = "filename " + Base64.encode(name.utf8)
    let response = try await api.exchange(
      "POST", Self.path, bytes: [], mediaType: "application/offset+octet-stream",
      headers: [
        ("Tus-Resumable", Self.protocolVersion), ("Upload-Length", String(length.rawValue)),
        ("Upload-Metadata", metadata),
      ])
    guard let location = response.headers["Location"] else {
      throw .unexpectedResponse(status: response.status, detail: "an upload without Location")
    }
    let url = api.url(location)
    // The operator's key goes to this server only.
    guard url.hasPrefix(api.baseURL + "/") else {
      throw .unexpectedResponse(
        status: response.status, detail: "the upload is to go to another server: \(url)")
    }
    return url
  }

  /// Where the upload stands, and how long it will be as far as the server knows.
  func status(of url: String) async throws(APICallError) -> (offset: Int64, length: Int64?) {
    let response = try await api.exchange("HEAD", url, headers: [("Tus-Resumable", Self.protocolVersion)])
    guard let offset = Self.number(response.headers["Upload-Offset"]) else {
      throw .unexpectedResponse(status: response.status, detail: "an upload without Upload-Offset")
    }
    return (offset, Self.number(response.headers["Upload-Length"]))
  }

  /// Sends that part of the file, which must start where the upload stands, and returns where it stands then.
  /// With `checksum`, that of the part, the server keeps all of it or nothing. `progress` gets the bytes read
  /// for this request, on the client's thread.
  func send(
    _ range: Range<Int64>, of file: UploadFile, checksum: SHA256Digest?, to url: String,
    progress: @escaping @Sendable (ByteCount) -> Void
  ) async throws(APICallError) -> Int64 {
    var request = api.request(
      "PATCH", url,
      headers: [
        ("Tus-Resumable", Self.protocolVersion), ("Upload-Offset", String(range.lowerBound)),
        ("Content-Type", "application/offset+octet-stream"),
      ])
    if let checksum {
      request.headers.append(("Upload-Checksum", "sha256 " + Base64.encode(checksum.array)))
    }
    request.body = .file(file, range, progress: progress)
    request.lowSpeed = .init(bytesPerSecond: ByteCount(1), duration: Self.silence)
    let response: ClientResponse
    do {
      response = try await client.send(request)
    } catch {
      throw .unreachable(error)
    }
    guard response.status == 204 || response.status == 200 else { throw APIClient.refusal(response) }
    guard let offset = Self.number(response.headers["Upload-Offset"]) else {
      throw .unexpectedResponse(status: response.status, detail: "an answer without Upload-Offset")
    }
    return offset
  }

  /// The upload's identifier, which a version is made of: the last part of its address.
  static func identifier(of url: String) -> String {
    String(url.split(separator: "/").last ?? "")
  }

  private static func number(_ text: String?) -> Int64? {
    guard let text, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
  }
}
