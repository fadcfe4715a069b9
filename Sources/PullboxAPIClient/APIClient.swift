public import CoreTypes
public import HTTPClient
import PullboxAPI

/// Speaks the contract of ``PullboxAPI`` to one service: paths under a base URL, an optional bearer credential, JSON both
/// ways, refusals as ``Problem``.
public struct APIClient: Sendable {
  /// Without a slash at the end.
  public let baseURL: String
  private let credential: String?
  private let client: HTTPClient
  private let unixSocketPath: String?
  /// From start to end of one call.
  public var timeout: Duration = .seconds(30)
  /// The longest answer that is read.
  public var maximumResponseLength: ByteCount = .mebibytes(32)
  /// Nil makes every call once.
  public var unavailabilityRetry: UnavailabilityRetry?

  /// With `unixSocketPath`, the service listens there and the host in `baseURL` is only a name.
  public init(
    baseURL: String, credential: String? = nil, client: HTTPClient, unixSocketPath: String? = nil
  ) {
    self.baseURL = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
    self.credential = credential
    self.client = client
    self.unixSocketPath = unixSocketPath
  }

  /// An address of this service: relative ones (starting with a slash) are completed, absolute ones stay.
  public func url(_ address: String, query: [(String, String)] = []) -> String {
    let base = address.hasPrefix("/") ? baseURL + address : address
    guard !query.isEmpty else { return base }
    let pairs = query.map { "\(Self.escape($0.0))=\(Self.escape($0.1))" }
    return base + (base.contains("?") ? "&" : "?") + pairs.joined(separator: "&")
  }

  public func get<Value: Decodable & Sendable>(
    _ address: String, query: [(String, String)] = [], as type: Value.Type = Value.self
  ) async throws(APICallError) -> Value {
    try await call("GET", address, query: query, body: EmptyBody?.none, as: type).value
  }

  /// Sends `body` as JSON, or nothing for nil.
  public func call<Value: Decodable & Sendable>(
    _ method: String, _ address: String, query: [(String, String)] = [], body: (some Encodable & Sendable)?,
    as type: Value.Type = Value.self
  ) async throws(APICallError) -> APIResponse<Value> {
    var bytes: [UInt8]?
    if let body {
      do {
        bytes = try APIJSON.encode(body)
      } catch {
        throw .unexpectedResponse(status: 0, detail: "the request cannot be written as JSON: \(error)")
      }
    }
    return try await call(
      method, address, query: query, bytes: bytes, mediaType: "application/json", as: type)
  }

  /// Sends `bytes` as they are.
  public func call<Value: Decodable & Sendable>(
    _ method: String, _ address: String, query: [(String, String)] = [], bytes: [UInt8]?, mediaType: String,
    as type: Value.Type = Value.self
  ) async throws(APICallError) -> APIResponse<Value> {
    let response = try await exchange(method, address, query: query, bytes: bytes, mediaType: mediaType)
    do {
      return APIResponse(head: response.head, value: try APIJSON.decode(type, from: response.body))
    } catch {
      throw .unexpectedResponse(status: response.status, detail: APIJSON.explain(error))
    }
  }

  /// As ``call(_:_:query:body:as:)`` for an answer that is not JSON, or has no content.
  public func exchange(
    _ method: String, _ address: String, query: [(String, String)] = [], bytes: [UInt8]? = nil,
    mediaType: String = "application/json", headers: [(String, String)] = []
  ) async throws(APICallError) -> ClientResponse {
    var request = request(method, url(address, query: query), headers: headers)
    if let bytes {
      request.headers.append(("Content-Type", mediaType))
      request.body = .bytes(bytes)
    }
    request.totalTimeout = timeout
    request.maximumResponseLength = maximumResponseLength
    guard let unavailabilityRetry else { return try await send(request) }
    return try await unavailabilityRetry.run { () async throws(APICallError) in try await send(request) }
  }

  private func send(_ request: ClientRequest) async throws(APICallError) -> ClientResponse {
    let response: ClientResponse
    do {
      response = try await client.send(request)
    } catch {
      throw .unreachable(error)
    }
    guard (200..<300).contains(response.status) else { throw Self.refusal(response) }
    return response
  }

  /// A request with this service's credential, for transfers that the caller runs itself.
  public func request(_ method: String, _ url: String, headers: [(String, String)] = []) -> ClientRequest {
    var headers = headers
    // The credential is this service's: it is not sent to another address that an answer may have named.
    if let credential, url.hasPrefix(baseURL + "/") {
      headers.append(("Authorization", "Bearer " + credential))
    }
    var request = ClientRequest(method: method, url: url, headers: headers)
    request.unixSocketPath = unixSocketPath
    return request
  }

  /// What a response of status 300 and above says.
  public static func refusal(_ response: ClientResponse) -> APICallError {
    refusal(head: response.head, body: response.body)
  }

  public static func refusal(head: ResponseHead, body: [UInt8]) -> APICallError {
    if var problem = try? APIJSON.decode(Problem.self, from: body) {
      if problem.retryAfterSeconds == nil, let retryAfter = head.retryAfter {
        problem.retryAfterSeconds = Int(retryAfter.components.seconds)
      }
      return .problem(problem)
    }
    let beginning = String(decoding: body.prefix(200), as: UTF8.self)
    return .unexpectedResponse(
      status: head.status, detail: beginning.isEmpty ? "no problem document" : beginning)
  }

  private static func escape(_ text: String) -> String {
    var escaped = ""
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
        escaped.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        escaped += "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }
    return escaped
  }
}

/// A decoded answer with its head.
public struct APIResponse<Value: Sendable>: Sendable {
  public var head: ResponseHead
  public var value: Value

  public var status: Int { head.status }
}

/// The body of a request that has none.
public struct EmptyBody: Codable, Sendable {
  public init() {}
}
