public import CoreTypes
public import HTTPClient
import PullboxAPI

/// Calls one service by the contract of `PullboxAPI`: paths under a base URL, an optional bearer credential,
/// JSON both ways, refusals as `Problem`.
///
/// Each call throws ``APICallError`` and ends after ``timeout``. `get` and the two `call`s decode what comes
/// back; ``exchange(_:_:query:bytes:mediaType:headers:)`` returns the response as it is, and
/// ``request(_:_:headers:)`` is for transfers that the caller runs itself.
///
/// ```swift
/// let api = APIClient(baseURL: "https://comics.example", credential: key, client: try HTTPClient())
/// let page: Page<OperatorProduct> = try await api.get("/v1/operator/products", query: [("limit", "50")])
/// let product: OperatorProduct = try await api.call("PUT", "/v1/operator/products/\(id)", body: description).value
/// ```
public struct APIClient: Sendable {
  /// Without a slash at the end.
  public let baseURL: String
  private let credential: String?
  private let client: HTTPClient
  private let unixSocketPath: String?
  /// From start to end of one call; 30 s unless set, nil for no bound. With ``unavailabilityRetry`` it bounds each
  /// repetition.
  public var timeout: Duration? = .seconds(30)
  /// The lowest speed of a call; nil for none where there is a ``timeout``, and for the request's own otherwise.
  public var lowSpeed: ClientRequest.LowSpeedLimit?
  /// Makes a connection for each call.
  public var usesFreshConnections = false
  /// The certificates that count for addresses under ``baseURL``; nil for those of the client's configuration.
  public var trust: ServerTrust?
  /// The longest response body that is read; 32 MiB unless set. A longer one is
  /// ``APICallError/unreachable(_:)``.
  public var maximumResponseLength: ByteCount = .mebibytes(32)
  /// Repeats calls that the service does not answer; nil, the default, makes every call once.
  public var unavailabilityRetry: UnavailabilityRetry?
  /// Whether words that only a later service has are passed over (``APIJSON/decode(answer:from:)``); an answer with one is refused unless set.
  public var passesOverUnknownWords = false
  /// Called after each request and its answer, on the task that makes the call; nil, the default, for no one.
  public var observer: (@Sendable (APIExchange) -> Void)?

  /// `credential` is sent as a bearer token to addresses under `baseURL` only. With `unixSocketPath`, the
  /// service listens there and the host in `baseURL` is only a name.
  public init(
    baseURL: String, credential: String? = nil, client: HTTPClient, unixSocketPath: String? = nil
  ) {
    self.baseURL = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
    self.credential = credential
    self.client = client
    self.unixSocketPath = unixSocketPath
  }

  /// The URL of an address: one that starts with a slash is completed with the base URL, an absolute one
  /// stays. `query` is appended, percent-encoded (RFC 3986 §2.1).
  public func url(_ address: String, query: [(String, String)] = []) -> String {
    let base = address.hasPrefix("/") ? baseURL + address : address
    guard !query.isEmpty else { return base }
    let pairs = query.map { "\($0.0.percentEncoded)=\($0.1.percentEncoded)" }
    return base + (base.contains("?") ? "&" : "?") + pairs.joined(separator: "&")
  }

  /// Whether `url` is safe to go to where the service is: one that is reached over https never leads to an address
  /// without it, since that would show tickets and content to the network.
  public func keepsScheme(_ url: String) -> Bool {
    baseURL.prefix(6).lowercased() != "https:" || url.prefix(6).lowercased() == "https:"
  }

  /// Gets a value in JSON.
  public func get<Value: Decodable & Sendable>(
    _ address: String, query: [(String, String)] = [], as type: Value.Type = Value.self
  ) async throws(APICallError) -> Value {
    try await call("GET", address, query: query, body: EmptyBody?.none, as: type).value
  }

  /// Sends `body` as JSON, or no body for nil, and decodes the JSON that comes back. `address` is as in
  /// ``url(_:query:)``; `headers` are added to the client's own. An address that an https service names without https
  /// is refused.
  public func call<Value: Decodable & Sendable>(
    _ method: String, _ address: String, query: [(String, String)] = [], body: (some Encodable & Sendable)?,
    headers: [(String, String)] = [], as type: Value.Type = Value.self
  ) async throws(APICallError) -> APIResponse<Value> {
    var bytes: [UInt8]?
    if let body {
      do {
        bytes = try APIJSON.encode(body)
      } catch {
        throw .unexpectedResponse(status: 0, detail: "the request cannot be written as JSON: \(error)")
      }
    }
    return try decode(
      try await exchange(method, address, query: query, bytes: bytes, headers: headers))
  }

  /// Sends no body but these fields, and decodes the JSON that comes back.
  public func call<Value: Decodable & Sendable>(
    _ method: String, _ address: String, headers: [(String, String)], as type: Value.Type = Value.self
  ) async throws(APICallError) -> APIResponse<Value> {
    try decode(try await exchange(method, address, headers: headers))
  }

  /// Sends `bytes` unchanged as `mediaType`, or no body for nil, and decodes the JSON that comes back.
  public func call<Value: Decodable & Sendable>(
    _ method: String, _ address: String, query: [(String, String)] = [], bytes: [UInt8]?, mediaType: String,
    as type: Value.Type = Value.self
  ) async throws(APICallError) -> APIResponse<Value> {
    try decode(
      try await exchange(method, address, query: query, bytes: bytes, mediaType: mediaType))
  }

  private func decode<Value: Decodable & Sendable>(
    _ response: ClientResponse
  ) throws(APICallError) -> APIResponse<Value> {
    do {
      let value =
        if passesOverUnknownWords { try APIJSON.decode(answer: Value.self, from: response.body) } else {
          try APIJSON.decode(Value.self, from: response.body)
        }
      return APIResponse(head: response.head, value: value)
    } catch {
      throw .unexpectedResponse(
        status: response.status, detail: APIJSON.explain(error), isPage: Self.isPage(response.body))
    }
  }

  /// Sends `bytes` unchanged, or no body for nil, and returns the response with its body undecoded: for one
  /// that is not JSON or has no content. `headers` are added to the client's own.
  public func exchange(
    _ method: String, _ address: String, query: [(String, String)] = [], bytes: [UInt8]? = nil,
    mediaType: String = "application/json", headers: [(String, String)] = []
  ) async throws(APICallError) -> ClientResponse {
    let url = url(address, query: query)
    guard keepsScheme(url) else {
      throw .unexpectedResponse(status: 0, detail: "\(url) is not https, and the service is")
    }
    var request = request(method, url, headers: headers)
    if let bytes {
      request.headers.append(("Content-Type", mediaType))
      request.body = .bytes(bytes)
    }
    setBounds(of: &request)
    request.maximumResponseLength = maximumResponseLength
    guard let unavailabilityRetry else { return try await send(request) }
    return try await unavailabilityRetry.run { () async throws(APICallError) in try await send(request) }
  }

  /// A call that ends by its time is not looked at for its speed, for which the client wakes up each second: a question may wait an hour for
  /// its answer.
  func setBounds(of request: inout ClientRequest) {
    request.totalTimeout = timeout
    if lowSpeed != nil || timeout != nil { request.lowSpeed = lowSpeed }
  }

  /// Gets what `receiver` takes as it arrives, and returns the head. Where it refuses a head, its status and body decide what this
  /// throws, as elsewhere; what it consumed before another failure stays consumed.
  public func stream(
    _ address: String, headers: [(String, String)] = [], to receiver: any TransferReceiver
  ) async throws(APICallError) -> ResponseHead {
    let url = url(address)
    guard keepsScheme(url) else {
      throw .unexpectedResponse(status: 0, detail: "\(url) is not https, and the service is")
    }
    var request = request("GET", url, headers: headers)
    setBounds(of: &request)
    request.maximumResponseLength = maximumResponseLength
    request.receiveBufferLength = .kibibytes(16)
    do {
      return try await client.stream(request, to: receiver).head
    } catch {
      guard error.code == .refused, let head = error.head else { throw .unreachable(error) }
      throw Self.refusal(head: head, body: error.body)
    }
  }

  private func send(_ request: ClientRequest) async throws(APICallError) -> ClientResponse {
    let clock = SystemMonotonicClock()
    let start = clock.now()
    let response: ClientResponse
    do {
      response = try await client.send(request)
      observer?(exchange(request, status: response.status, error: nil, duration: clock.now() - start))
    } catch {
      observer?(exchange(request, status: nil, error: error, duration: clock.now() - start))
      throw .unreachable(error)
    }
    guard (200..<300).contains(response.status) else { throw Self.refusal(response) }
    return response
  }

  private func exchange(
    _ request: ClientRequest, status: Int?, error: HTTPClientError?, duration: Duration
  ) -> APIExchange {
    APIExchange(method: request.method, url: request.url, status: status, error: error, duration: duration)
  }

  /// A request for a transfer that the caller runs itself; with this service's credential when `url` is under
  /// the base URL.
  public func request(_ method: String, _ url: String, headers: [(String, String)] = []) -> ClientRequest {
    var headers = headers
    // The credential is this service's: it is not sent to another address that a response may have named.
    let isOwn = url.hasPrefix(baseURL + "/")
    if let credential, isOwn { headers.append(("Authorization", "Bearer " + credential)) }
    var request = ClientRequest(method: method, url: url, headers: headers)
    if isOwn { request.trust = trust }
    request.usesFreshConnection = usesFreshConnections
    request.unixSocketPath = unixSocketPath
    return request
  }

  /// The error of a response with a status outside 200 to 299: its problem document, or that there is none.
  public static func refusal(_ response: ClientResponse) -> APICallError {
    refusal(head: response.head, body: response.body)
  }

  /// The error of a response with a status outside 200 to 299, by its head and the body that was read. A problem
  /// document may lack any member (RFC 9457 §3.1). Without a delay of its own it gets that of the `Retry-After`
  /// field; either is brought into `RetryAfter.obeyedRange`. The field counts without a problem document as well:
  /// proxies answer pages.
  public static func refusal(head: ResponseHead, body: [UInt8]) -> APICallError {
    if var problem = Problem(document: body, status: head.status, isDeclared: declaresProblem(head)) {
      problem.retryAfterSeconds =
        problem.retryAfterSeconds.map { RetryAfter.obeyedSeconds(clamping: $0) }
        ?? head.retryAfter.map { RetryAfter.obeyedSeconds(clamping: $0) }
      return .problem(problem)
    }
    let beginning = String(decoding: body.prefix(200), as: UTF8.self)
    return .unexpectedResponse(
      status: head.status, detail: beginning.isEmpty ? "no problem document" : beginning,
      retryAfter: head.retryAfter, isPage: isPage(body))
  }

  /// Whether the media type is that of problem documents, with parameters or without.
  private static func declaresProblem(_ head: ResponseHead) -> Bool {
    let mediaType = head.headers["Content-Type"]?.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
    return mediaType?.lowercased() == Problem.mediaType
  }

  /// Whether `body` is no JSON document: a proxy's page, or nothing at all. Every document of the contract is an
  /// object.
  public static func isPage(_ body: [UInt8]) -> Bool {
    let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
    return body.first { !blanks.contains($0) } != 0x7B
  }
}

/// A decoded response with its head.
public struct APIResponse<Value: Sendable>: Sendable {
  /// The status and the header fields.
  public var head: ResponseHead
  /// The decoded body.
  public var value: Value

  /// The status code, 200 to 299.
  public var status: Int { head.status }
}

/// A JSON object without members, for requests whose body says nothing; as `EmptyBody?.none` it is no body at
/// all.
public struct EmptyBody: Codable, Sendable {
  /// `{}`.
  public init() {}
}

/// One request of an ``APIClient`` and what came of it, for those who watch its calls.
public struct APIExchange: Sendable {
  /// The request's method.
  public let method: String
  /// Where it went.
  public let url: String
  /// The status of the answer; nil without one.
  public let status: Int?
  /// Why there is no answer; nil with one.
  public let error: HTTPClientError?
  /// From the call to the end of the answer.
  public let duration: Duration
}
