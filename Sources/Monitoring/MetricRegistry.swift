/// A type that counts something, and names the metrics that show it.
public protocol MetricSource: Sendable {
  /// Adds the metrics of this source; their order is that of the page.
  func register(in metrics: inout MetricRegistry)
}

/// The metrics of a service, each registered where its values are counted, and read together when the page is
/// asked for.
///
///     extension TicketIssuer: MetricSource {
///       func register(in metrics: inout MetricRegistry) {
///         metrics.register([.counter("pullbox_tickets_total", help: "Tickets sealed.") { self.issued }])
///       }
///     }
///
/// A value: it is put together once, at the start, and only read afterwards.
public struct MetricRegistry: Sendable {
  /// The most values that one metric has on a page. Labels come from closed sets, so that no metric comes near
  /// it; a mistake costs a page that is cut off there, not one without end.
  static let maximumSamples = 2000

  private var sections: [@Sendable () async throws -> String] = []
  private let speaksForAll: @Sendable () async throws -> Bool

  /// No metrics yet. Of several processes that share what some metrics show, `speaksForAll` says whether this one shows them; one
  /// that is alone always does.
  public init(speaksForAll: @escaping @Sendable () async throws -> Bool = { true }) {
    self.speaksForAll = speaksForAll
  }

  /// Adds metrics whose values are read one by one.
  public mutating func register(_ metrics: [Metric<Void>]) {
    register(metrics) {}
  }

  /// Adds metrics that are read from one `snapshot`, which is made once for each page. When it throws, the page is without
  /// these metrics, and says so.
  public mutating func register<Snapshot: Sendable>(
    _ metrics: [Metric<Snapshot>], snapshot: @escaping @Sendable () async throws -> Snapshot
  ) {
    sections.append {
      let snapshot = try await snapshot()
      var text = MetricsText()
      for metric in metrics { metric.add(snapshot, to: &text) }
      return text.text
    }
  }

  /// Adds metrics of what several processes share: of one value, one process tells. Read like those of ``register(_:snapshot:)``.
  public mutating func registerShared<Snapshot: Sendable>(
    _ metrics: [Metric<Snapshot>], snapshot: @escaping @Sendable () async throws -> Snapshot
  ) {
    var own = MetricRegistry()
    own.register(metrics, snapshot: snapshot)
    let (section, speaksForAll) = (own.sections[0], speaksForAll)
    sections.append { try await speaksForAll() ? try await section() : "" }
  }

  /// Every metric with its values now, in version 0.0.4 of the text format of Prometheus, and last how many sources could
  /// not be read: monitoring is there when the database is not. All are read side by side.
  public func page() async -> String {
    let texts = await withTaskGroup(of: (Int, String?).self) { group in
      for (index, section) in sections.enumerated() {
        group.addTask { (index, try? await section()) }
      }
      var texts = [String?](repeating: nil, count: sections.count)
      for await (index, text) in group { texts[index] = text }
      return texts
    }
    var last = MetricsText()
    Self.unreadable.add(texts.count { $0 == nil }, to: &last)
    return texts.compactMap { $0 }.joined() + last.text
  }

  private static let unreadable = Metric<Int>.gauge(
    "pullbox_metrics_unreadable",
    help: "Sources whose metrics could not be read and are missing from this page."
  ) { $0 }
}
