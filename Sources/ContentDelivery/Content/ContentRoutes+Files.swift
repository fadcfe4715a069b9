package import ContentPackage
import CoreTypes
package import Crypto
package import HTTPServer
package import PullboxAPI
package import ServiceAPI

/// Single files of packages, for requests that open a package by other means than a ticket.
extension ContentRoutes {
  /// Answers with one file of a package, by the limits, counts and refusals of ``response(to:with:for:device:of:)``. A stored file is sent
  /// as packages are, in ranges; a deflated one is inflated while it is sent, whole. The caller has compared its bytes
  /// (``PackedFileReader/check(_:reading:returning:)``).
  ///
  /// - Parameters:
  ///   - file: lies in the package.
  ///   - entityTag: a strong validator of the file's bytes, with quotes.
  ///   - digest: the package.
  ///   - handle: the grant whose bytes these are, or a name for what no grant counts.
  ///   - device: who gets them, as ``Ticket/tag(of:)`` says.
  ///   - product: chooses the class of limits.
  package func response(
    to request: HTTPRequest, with file: PackedFile, entityTag: String, of digest: SHA256Digest,
    for handle: DeliveryHandle, device: UInt64, of product: String
  ) async throws -> HTTPResponse {
    try check(handle, digest)
    let package = try await package(for: digest)
    let decision = RangeDecision(on: request, entityTag: entityTag, of: file)
    let meter = meters.meter(for: handle, device: device, content: digest)
    let settings = verifier.settings.value
    let limits = settings.classes.limits(of: settings.classes.number(for: product))
    let length = file.length.rawValue
    if request.method == .get, let range = decision.firstRange(of: length) {
      // Of a deflated file the first byte is needed, whichever are sent.
      let start = file.range.lowerBound + (file.method == .stored ? range.lowerBound : 0)
      try await bring(start..<file.range.upperBound, of: package) { () throws(Problem) in
        try check(handle, digest)
      }
    }
    let pacing = try decision.admission(of: length, to: meter, under: limits) { timer.now().nanoseconds }
      .pacing()
    var response = HTTPResponse(status: decision.status, headers: ["ETag": entityTag])
    response.pacing = pacing
    response.headers["Content-Range"] = decision.contentRange(of: length)
    if file.method == .stored { response.headers["Accept-Ranges"] = "bytes" }
    switch decision {
    case .whole, .parts:
      response.body =
        file.method == .stored
        ? .file(package.file, file.range, meter: meter)
        : .stream(contentLength: length) { writer in
          try await self.inflate(file, of: package, for: handle, meter, to: writer)
        }
    case .part(let range):
      let start = file.range.lowerBound
      response.body = .file(
        package.file, start + range.lowerBound..<start + range.upperBound, meter: meter)
    case .unsatisfiable, .notModified, .preconditionFailed: break
    }
    return response
  }

  /// Throws the reason for which nothing of the package may be sent for the grant.
  package func check(_ handle: DeliveryHandle, _ digest: SHA256Digest) throws(Problem) {
    if let reason = verifier.revocations.reason(for: handle, content: digest) {
      throw Problem.stopped(reason)
    }
  }

  /// Writes a deflated file as it is inflated. Throws, which ends the connection short, once nothing more may be sent for the grant.
  private func inflate(
    _ file: PackedFile, of package: OpenPackage, for handle: DeliveryHandle, _ meter: GrantMeter,
    to writer: ResponseWriter
  ) async throws {
    meter.didBegin()
    defer { meter.didEnd() }
    try await PackedFileReader.forEachPart(of: file, reading: package.file.bytes(in:)) { part in
      try check(handle, package.digest)
      try await writer.write(part)
      meter.didSend(part.count)
    }
  }
}

extension RangeDecision {
  /// Several ranges of a file, and any of a deflated one, are answered with the whole.
  fileprivate init(on request: HTTPRequest, entityTag: String, of file: PackedFile) {
    self.init(on: request, entityTag: entityTag, length: file.length.rawValue)
    self = inOnePart
    switch self {
    case .part, .unsatisfiable: if file.method == .deflated { self = .whole }
    case .whole, .parts, .notModified, .preconditionFailed: break
    }
  }
}
