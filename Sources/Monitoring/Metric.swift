public import CoreTypes

/// One metric of a page: its name, its help text, and a closure that reads its values from a snapshot of its
/// owner's state.
public struct Metric<Snapshot: Sendable>: Sendable {
  /// A value with the values of the metric's labels, in the order in which the metric names them.
  public struct Sample: Sendable {
    let labels: [String]
    let value: Double

    /// A count, or an amount in a base unit.
    public init(_ value: some BinaryInteger, labels: [String] = []) {
      self.labels = labels
      self.value = Double(value)
    }

    /// Seconds, or a share.
    public init(fraction value: Double, labels: [String] = []) {
      self.labels = labels
      self.value = value
    }

    /// A moment, in seconds since the epoch.
    public init(_ moment: Timestamp, labels: [String] = []) {
      self.init(fraction: Double(moment.millisecondsSinceEpoch) / 1000, labels: labels)
    }
  }

  /// Counts between bounds, in seconds: one more than there are bounds, not yet summed up.
  public struct Histogram: Sendable {
    let labels: [String]
    let bounds: [Double]
    let buckets: [UInt64]
    let sum: Double

    /// `bounds` and `sum` are in nanoseconds.
    public init(bounds: [UInt64], buckets: [UInt64], sum: UInt64, labels: [String] = []) {
      self.labels = labels
      self.bounds = bounds.map { Double($0) / 1e9 }
      self.buckets = buckets
      self.sum = Double(sum) / 1e9
    }

    /// Creates a histogram from counted durations, with their bounds.
    public init(_ durations: DurationHistogram, labels: [String] = []) {
      self.init(
        bounds: DurationHistogram.bounds, buckets: durations.counts, sum: durations.sum, labels: labels)
    }
  }

  enum Reading: Sendable {
    case samples(MetricsText.Kind, @Sendable (Snapshot) -> [Sample])
    case histograms(@Sendable (Snapshot) -> [Histogram])
  }

  let name: String
  let help: String
  /// The names of the labels. Their values come from a closed set: a route's pattern, a status, a code; never
  /// a grant, a device or a path.
  let labels: [String]
  let reading: Reading

  /// A value that only grows. The name ends in `_total`.
  public static func counter<Value: BinaryInteger & Sendable>(
    _ name: String, help: String, value: @escaping @Sendable (Snapshot) -> Value
  ) -> Metric {
    Metric(name: name, help: help, labels: [], reading: .samples(.counter) { [Sample(value($0))] })
  }

  /// A value for each combination of labels, none of which falls. The name ends in `_total`.
  public static func counter(
    _ name: String, help: String, labels: [String], values: @escaping @Sendable (Snapshot) -> [Sample]
  ) -> Metric {
    Metric(name: name, help: help, labels: labels, reading: .samples(.counter, values))
  }

  /// A value that rises and falls.
  public static func gauge<Value: BinaryInteger & Sendable>(
    _ name: String, help: String, value: @escaping @Sendable (Snapshot) -> Value
  ) -> Metric {
    Metric(name: name, help: help, labels: [], reading: .samples(.gauge) { [Sample(value($0))] })
  }

  /// A value for each combination of labels; without labels one value, or none where there is nothing to tell.
  public static func gauge(
    _ name: String, help: String, labels: [String], values: @escaping @Sendable (Snapshot) -> [Sample]
  ) -> Metric {
    Metric(name: name, help: help, labels: labels, reading: .samples(.gauge, values))
  }

  /// How often a duration fell between bounds.
  public static func histogram(
    _ name: String, help: String, value: @escaping @Sendable (Snapshot) -> Histogram
  ) -> Metric {
    Metric(name: name, help: help, labels: [], reading: .histograms { [value($0)] })
  }

  /// The same for each combination of labels.
  public static func histogram(
    _ name: String, help: String, labels: [String], values: @escaping @Sendable (Snapshot) -> [Histogram]
  ) -> Metric {
    Metric(name: name, help: help, labels: labels, reading: .histograms(values))
  }

  /// Adds the metric with what it reads from `snapshot`. A metric has at most ``MetricRegistry/maximumSamples`` values.
  func add(_ snapshot: Snapshot, to text: inout MetricsText) {
    switch reading {
    case .samples(let kind, let read):
      text.describe(name, kind: kind, help: help)
      for sample in read(snapshot).prefix(MetricRegistry.maximumSamples) {
        text.add(name, labels: Array(zip(labels, sample.labels)), value: sample.value)
      }
    case .histograms(let read):
      text.describe(name, kind: .histogram, help: help)
      let series = DurationHistogram.bounds.count + 3
      for histogram in read(snapshot).prefix(MetricRegistry.maximumSamples / series) {
        text.addHistogram(
          name, labels: Array(zip(labels, histogram.labels)), bounds: histogram.bounds,
          buckets: histogram.buckets, sum: histogram.sum)
      }
    }
  }
}
