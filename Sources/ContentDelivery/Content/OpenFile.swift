import CoreTypes
package import Crypto
package import HTTPParsing
package import HTTPServer
import PullboxAPI
package import ServiceAPI

/// A stored file of a package as loops send it: its place, and the head lines that every response about it carries.
package final class OpenFile: Sendable {
  /// The file's bytes in the package.
  let range: Range<Int64>
  let entityTag: [UInt8]
  /// `name: value` lines with their ends: those of every response, and those of one with content.
  private let lines, contentLines: [UInt8]

  /// - Parameters:
  ///   - range: the file's bytes in the package.
  ///   - entityTag: a strong validator of these bytes, with quotes.
  ///   - fields: those of every response, the validator not among them.
  ///   - contentFields: those that a response with content has as well.
  package init(
    range: Range<Int64>, entityTag: String, fields: [(name: String, value: String)],
    contentFields: [(name: String, value: String)]
  ) {
    func lines(_ fields: [(name: String, value: String)]) -> [UInt8] {
      Array(fields.map { "\($0.name): \($0.value)\r\n" }.joined().utf8)
    }
    self.range = range
    self.entityTag = Array(entityTag.utf8)
    self.lines = lines([("ETag", entityTag), ("Accept-Ranges", "bytes")] + fields)
    contentLines = self.lines + lines(contentFields)
  }

  fileprivate func lines(_ decision: RangeDecision) -> [UInt8] {
    switch decision {
    case .whole, .part, .parts: contentLines
    case .unsatisfiable, .notModified, .preconditionFailed: lines
    }
  }
}

/// The right to a package without a ticket: whose bytes these are, and how fast they come.
package struct PackageAdmission: Sendable {
  package let digest: SHA256Digest
  /// The grant whose bytes these are.
  package let handle: DeliveryHandle
  /// The device that gets them, as ``Ticket/tag(of:)`` says.
  package let device: UInt64
  package let limits: RateLimits

  package init(digest: SHA256Digest, handle: DeliveryHandle, device: UInt64, limits: RateLimits) {
    self.digest = digest
    self.handle = handle
    self.device = device
    self.limits = limits
  }
}

extension ContentRoutes {
  /// The limits of the product's class.
  package func limits(of product: String) -> RateLimits {
    let classes = verifier.settings.value.classes
    return classes.limits(of: classes.number(for: product))
  }

  /// Answers on a loop as ``response(to:with:entityTag:of:for:device:of:)`` does off the loops. Defers what is refused or has to be waited for, and
  /// packages that are not open.
  package func respond(
    with file: OpenFile, of admission: PackageAdmission, head: borrowing RequestHead, bytes: Span<UInt8>,
    response: inout InlineResponse, counting metrics: InlineMetrics.Loop
  ) -> InlineOutcome {
    guard verifier.revocations.reason(for: admission.handle, content: admission.digest) == nil,
      let package = packages.opened(admission.digest)
    else { return .deferToAsync }
    let (start, length) = (file.range.lowerBound, file.range.upperBound - file.range.lowerBound)
    let decision = RangeDecision(on: head, bytes: bytes, entityTag: file.entityTag, length: length).inOnePart
    if package.file.presence != nil, head.method == .get, let first = decision.firstRange(of: length),
      !package.file.isThere(start + first.lowerBound)
    {
      return .deferToAsync
    }
    let meter = meters.meter(for: admission.handle, device: admission.device, content: admission.digest)
    switch decision.admission(
      of: length, to: meter, under: admission.limits, now: { timer.now().nanoseconds })
    {
    case .begin(let bytesPerSecond):
      if let bytesPerSecond { response.pace(bytesPerSecond: bytesPerSecond) }
    case .wait: return .deferToAsync
    }
    let settings = verifier.settings.value
    if settings.proxies.contains(response.peer) {
      response.client = settings.proxies.client(of: response.peer, head: head, bytes: bytes)
    }
    response.start(decision.status)
    let lines = file.lines(decision)
    response.append(lines: lines.span)
    response.appendRequestIdentifier(name: "X-Request-Id")
    if verifier.settings.allowsOrigins {
      response.append(settings.origins, head: head, bytes: bytes)
    }
    switch decision {
    case .whole, .parts:
      response.finish(file: package.file, range: file.range, meter: meter)
    case .part(let range):
      response.appendContentRange(range, of: length)
      response.finish(
        file: package.file, range: start + range.lowerBound..<start + range.upperBound, meter: meter)
    case .unsatisfiable:
      response.appendUnsatisfiedContentRange(of: length)
      response.finish()
    case .notModified, .preconditionFailed: response.finish()
    }
    metrics.count(decision)
    return .answered
  }
}

extension RangeDecision {
  /// The same, but several ranges are answered with the whole.
  var inOnePart: RangeDecision {
    if case .parts = self { .whole } else { self }
  }
}

extension InlineResponse {
  /// Adds what the browser needs whose page asks.
  mutating func append(_ policy: CrossOriginPolicy, head: borrowing RequestHead, bytes: Span<UInt8>) {
    let origin = head.values(of: "origin", in: bytes).first
    // An origin is written only if it is one of those that were configured.
    let lines = Array(policy.fields(for: origin).map { "\($0.name): \($0.value)\r\n" }.joined().utf8)
    append(lines: lines.span)
  }
}
