public import HTTPServer
public import PullboxAPI
import ServiceAPI

extension HTTPResponse {
  // A responder that it was put into would keep room for all of it while it waits.
  /// `value` as `application/json`. Throws what the encoder throws.
  @inline(never)
  public static func json(
    _ value: some Encodable, status: HTTPStatus = .ok, headers: HTTPFields = [:]
  ) throws -> HTTPResponse {
    var response = HTTPResponse(status: status, headers: headers, body: .bytes(try APIJSON.encode(value)))
    response.headers["Content-Type"] = "application/json"
    if !response.headers.contains("Cache-Control") { response.headers["Cache-Control"] = "no-store" }
    return response
  }

  /// `problem` as `application/problem+json`, with `Retry-After` where it says so.
  public static func problem(_ problem: Problem) -> HTTPResponse {
    // A value made of strings and numbers always encodes.
    let body = (try? APIJSON.encode(problem)) ?? []
    var response = HTTPResponse(
      status: HTTPStatus(rawValue: problem.status),
      headers: ["Content-Type": Problem.mediaType, "Cache-Control": "no-store"], body: .bytes(body))
    if let seconds = problem.retryAfterSeconds { response.headers["Retry-After"] = String(seconds) }
    if problem.status == 401 {
      response.headers["WWW-Authenticate"] = problem.code == .proofMissing ? DeviceProof.scheme : "Bearer"
    }
    return response
  }
}

extension HTTPServerConfiguration {
  /// Lets the server's own refusals, which no handler makes, be problem documents as well. `retryAfter` says for
  /// each connection that finds no place after how many seconds to come back.
  public mutating func useProblemDocuments(retryAfter: @escaping @Sendable () -> Int = { 1 }) {
    refusal = { status in
      let code = Self.codes[status.rawValue] ?? .internalError
      var problem = Problem(code, retryAfterSeconds: status == .serviceUnavailable ? retryAfter() : nil)
      // The server's word on the status goes.
      problem.status = status.rawValue
      return .problem(problem)
    }
  }

  private static let codes: [Int: ProblemCode] = [
    400: .requestMalformed, 408: .requestTimeout, 413: .requestTooLarge, 414: .targetTooLong,
    417: .requestMalformed, 431: .fieldsTooLarge, 501: .notImplemented, 503: .unavailable,
    505: .versionNotSupported,
  ]
}
