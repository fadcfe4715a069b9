import CoreTypes
import Foundation
import HTTPServer
import PullboxAPI
import Synchronization

/// A server of tus uploads that breaks where a test tells it to, and remembers everything over its restarts.
final class TusShop: AsyncHandler {
  private struct State {
    var uploads: [String: [UInt8]] = [:]
    var lengths: [String: Int] = [:]
    var requests: [String] = []
    var checksums: [String] = []
    var cuts: [Int] = []
    var answers: [Problem] = []
    var bytesTaken = 0
  }

  private let state = Mutex(State())

  /// The connection breaks when the upload has that many bytes; each once.
  func cut(at offsets: [Int]) { state.withLock { $0.cuts = offsets } }
  /// The next PATCH requests are refused so, before a byte is taken.
  func refuse(with problems: [Problem]) { state.withLock { $0.answers = problems } }
  func forgetUploads() { state.withLock { $0.uploads = [:] } }

  /// `POST`, `HEAD` and `PATCH offset`, in order.
  var requests: [String] { state.withLock { $0.requests } }
  /// `Upload-Checksum`, in order, of the requests that had one.
  var checksums: [String] { state.withLock { $0.checksums } }
  /// Body bytes kept, over all uploads.
  var bytesTaken: Int { state.withLock { $0.bytesTaken } }
  func content(of id: String) -> [UInt8]? { state.withLock { $0.uploads[id] } }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let id = request.pathSegments.last ?? ""
    switch request.method {
    case .post:
      let length = request.headers["Upload-Length"].flatMap { Int($0) } ?? 0
      let created = state.withLock { state in
        state.requests.append("POST")
        let id = "u\(state.requests.count { $0 == "POST" })"
        state.uploads[id] = []
        state.lengths[id] = length
        return id
      }
      return HTTPResponse(status: .created, headers: ["Location": "/v1/operator/uploads/\(created)"])
    case .head:
      return state.withLock { state in
        state.requests.append("HEAD")
        guard let content = state.uploads[id], let length = state.lengths[id] else {
          return HTTPResponse(status: .notFound)
        }
        return HTTPResponse(
          status: .ok, headers: ["Upload-Offset": "\(content.count)", "Upload-Length": "\(length)"])
      }
    default: return await append(request, to: id)
    }
  }

  private func append(_ request: HTTPRequest, to id: String) async -> HTTPResponse {
    let offset = request.headers["Upload-Offset"] ?? ""
    let refusal = state.withLock { state -> Problem? in
      state.requests.append("PATCH \(offset)")
      if let checksum = request.headers["Upload-Checksum"] { state.checksums.append(checksum) }
      if !state.answers.isEmpty { return state.answers.removeFirst() }
      guard let content = state.uploads[id] else { return Problem(.uploadUnknown) }
      return "\(content.count)" == offset ? nil : Problem(.uploadOffsetMismatch)
    }
    if let refusal { return Self.response(refusal) }
    do {
      for try await bytes in request.body where !take(bytes, id) { return Self.broken }
    } catch {
      return Self.broken
    }
    let end = state.withLock { $0.uploads[id]?.count ?? 0 }
    return HTTPResponse(status: .noContent, headers: ["Upload-Offset": "\(end)"])
  }

  /// False where the connection is to break.
  private func take(_ bytes: [UInt8], _ id: String) -> Bool {
    state.withLock { state in
      let position = state.uploads[id]?.count ?? 0
      let cut = state.cuts.filter { (position...position + bytes.count).contains($0) }.min()
      let kept = cut.map { Array(bytes.prefix($0 - position)) } ?? bytes
      state.uploads[id]?.append(contentsOf: kept)
      state.bytesTaken += kept.count
      state.cuts.removeAll { $0 == cut }
      return cut == nil
    }
  }

  /// Half an answer, and then the connection's end.
  private static var broken: HTTPResponse {
    HTTPResponse(status: .ok, body: .stream(contentLength: 10) { _ in throw CancellationError() })
  }

  private static func response(_ problem: Problem) -> HTTPResponse {
    var headers: HTTPFields = ["Content-Type": "application/problem+json"]
    if let seconds = problem.retryAfterSeconds { headers["Retry-After"] = "\(seconds)" }
    let body = (try? APIJSON.encode(problem)) ?? []
    return HTTPResponse(status: HTTPStatus(rawValue: problem.status), headers: headers, body: .bytes(body))
  }
}
