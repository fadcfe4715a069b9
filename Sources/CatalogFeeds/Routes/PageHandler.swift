package import ContentDelivery
import Database
import DeliveryRecords
package import HTTPParsing
package import HTTPServer

/// Answers `GET` and `HEAD /opds/pages/{id}/{version}/{n}` on the loop that read the request, for a key that was let into the package within the
/// last second (``ReaderAdmissions``), and a page that was sent to anyone before. All else is deferred to ``CatalogFeedRoutes``, which answers the
/// same, slower: both have their fields and ranges from one place.
package struct PageHandler: Sendable {
  package static let pattern = "/opds/pages/{id}/{version}/{n}"
  private static let prefix: StaticString = "/opds/pages/"

  private let routes: CatalogFeedRoutes
  private let metrics: InlineMetrics
  private let ownMetrics: InlineMetrics.Loop

  package init(of routes: CatalogFeedRoutes, metrics: InlineMetrics) {
    self.routes = routes
    self.metrics = metrics
    ownMetrics = metrics.makeLoop()
  }

  /// Every loop counts for itself.
  package func copyForLoop() -> PageHandler { PageHandler(of: routes, metrics: metrics) }

  /// Whether the request is one for a page.
  @inline(__always)
  package func isMeant(by head: borrowing RequestHead, _ bytes: Span<UInt8>) -> Bool {
    bytes.hasPrefix(Self.prefix, at: head.path.lowerBound)
  }

  /// Answers on the loop, without waiting. For a request that ``isMeant(by:_:)`` knows.
  package func respond(
    head: borrowing RequestHead, bytes: Span<UInt8>, response: inout InlineResponse
  ) -> InlineOutcome {
    guard head.method == .get || head.method == .head, head.query == nil,
      let shown = head.value(of: .authorization), !head.isRepeated(.authorization)
    else { return .deferToAsync }
    let target = bytes.extracting(head.path.lowerBound + Self.prefix.utf8CodeUnitCount..<head.path.upperBound)
    guard let (count, number) = Self.parts(of: target) else { return .deferToAsync }
    let infrastructure = routes.infrastructure
    let name = infrastructure.admissions.name(
      shown: bytes.extracting(shown), target: target.extracting(0..<count),
      since: infrastructure.database.changes(of: .catalog))
    guard let admission = infrastructure.admissions.find(name),
      let page = routes.pageCache.openFile(number, of: admission.digest)
    else { return .deferToAsync }
    return infrastructure.content.respond(
      with: page, of: admission, head: head, bytes: bytes, response: &response, counting: ownMetrics)
  }

  /// How many bytes the product and the version have together, and the number behind them; nil where something is spelled in a way that only
  /// ``CatalogFeedRoutes`` reads. The name of an admission has both as they are written without escapes.
  private static func parts(of target: Span<UInt8>) -> (count: Int, number: Int)? {
    var last: Int?
    for index in target.indices {
      switch target[index] {
      case UInt8(ascii: "/"): last = index
      case UInt8(ascii: "%"), UInt8(ascii: "?"): return nil
      default: continue
      }
    }
    guard let last, (1...5).contains(target.count - last - 1) else { return nil }
    var number = 0
    for index in last + 1..<target.count {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(target[index]) else { return nil }
      number = number * 10 + Int(target[index] - UInt8(ascii: "0"))
    }
    guard target[last + 1] != UInt8(ascii: "0") || target.count == last + 2 else { return nil }
    return (last, number)
  }
}
