/// One metric of a page: its name, its help text, and a closure that reads its values from a snapshot of its
/// owner's state.
struct Metric<Snapshot: Sendable>: Sendable {
  /// A value with the values of the metric's labels, in the order in which the metric names them.
  struct Sample: Sendable {
    var labels: [String] = []
    var value: Double

    init(_ value: some BinaryInteger, labels: [String] = []) {
      self.labels = labels
      self.value = Double(value)
    }
  }

  /// Counts between bounds, in seconds: one more than there are bounds, not yet summed up.
  struct Histogram: Sendable {
    var bounds: [Double]
    var buckets: [UInt64]
    var sum: Double
  }

  fileprivate enum Reading: Sendable {
    case samples(MetricsText.Kind, @Sendable (Snapshot) -> [Sample])
    case histogram(@Sendable (Snapshot) -> Histogram)
  }

  let name: String
  let help: String
  /// The names of the labels. Their values come from a closed set: a route's pattern, a status, a code; never
  /// a grant, a device or a path.
  let labels: [String]
  fileprivate let reading: Reading

  /// A value that only grows. The name ends in `_total`.
  static func counter<Value: BinaryInteger & Sendable>(
    _ name: String, help: String, value: @escaping @Sendable (Snapshot) -> Value
  ) -> Metric {
    Metric(name: name, help: help, labels: [], reading: .samples(.counter) { [Sample(value($0))] })
  }

  /// A value for each combination of labels, none of which falls. The name ends in `_total`.
  static func counter(
    _ name: String, help: String, labels: [String], values: @escaping @Sendable (Snapshot) -> [Sample]
  ) -> Metric {
    Metric(name: name, help: help, labels: labels, reading: .samples(.counter, values))
  }

  /// A value that rises and falls.
  static func gauge<Value: BinaryInteger & Sendable>(
    _ name: String, help: String, value: @escaping @Sendable (Snapshot) -> Value
  ) -> Metric {
    Metric(name: name, help: help, labels: [], reading: .samples(.gauge) { [Sample(value($0))] })
  }

  /// A value for each combination of labels.
  static func gauge(
    _ name: String, help: String, labels: [String], values: @escaping @Sendable (Snapshot) -> [Sample]
  ) -> Metric {
    Metric(name: name, help: help, labels: labels, reading: .samples(.gauge, values))
  }

  /// How often a duration fell between bounds.
  static func histogram(
    _ name: String, help: String, value: @escaping @Sendable (Snapshot) -> Histogram
  ) -> Metric {
    Metric(name: name, help: help, labels: [], reading: .histogram(value))
  }
}

/// What counts something, and names the metrics that show it.
protocol MetricSource: Sendable {
  /// Adds the metrics of this source; their order is that of the page.
  func register(in metrics: inout MetricRegistry)
}

/// The metrics of the service, each registered where its values are counted, and read together when the page is
/// asked for.
///
///     extension TicketIssuer: MetricSource {
///       func register(in metrics: inout MetricRegistry) {
///         metrics.register([.counter("pullbox_tickets_total", help: "Tickets sealed.") { self.issued }])
///       }
///     }
///
/// A value: it is put together once, at the start, and only read afterwards.
struct MetricRegistry: Sendable {
  /// The most values that one metric has on a page. Labels come from closed sets, so that no metric comes near
  /// it; a mistake costs a page that is cut off there, not one without end.
  static let maximumSamples = 2000

  private var sections: [@Sendable (inout MetricsText) async throws -> Void] = []

  /// Adds metrics whose values are read one by one.
  mutating func register(_ metrics: [Metric<Void>]) {
    register(metrics) {}
  }

  /// Adds metrics that are read from one `snapshot`, which is made once for each page. What it throws, the page
  /// throws.
  mutating func register<Snapshot: Sendable>(
    _ metrics: [Metric<Snapshot>], snapshot: @escaping @Sendable () async throws -> Snapshot
  ) {
    sections.append { text in
      let snapshot = try await snapshot()
      for metric in metrics { Self.add(metric, snapshot, to: &text) }
    }
  }

  /// Every metric with its values now, in the text format of Prometheus.
  func page() async throws -> String {
    var text = MetricsText()
    for section in sections { try await section(&text) }
    return text.text
  }

  private static func add<Snapshot>(
    _ metric: Metric<Snapshot>, _ snapshot: Snapshot, to text: inout MetricsText
  ) {
    switch metric.reading {
    case .samples(let kind, let read):
      let samples = read(snapshot).prefix(maximumSamples)
      text.add(
        metric.name, kind: kind, help: metric.help,
        samples: samples.map { (Array(zip(metric.labels, $0.labels)), $0.value) })
    case .histogram(let read):
      let histogram = read(snapshot)
      text.addHistogram(
        metric.name, help: metric.help, bounds: histogram.bounds, buckets: histogram.buckets,
        sum: histogram.sum)
    }
  }
}
