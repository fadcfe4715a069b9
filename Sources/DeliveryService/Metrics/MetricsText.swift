import CoreTypes

/// Builds a page in the text format that Prometheus reads (version 0.0.4).
struct MetricsText {
  enum Kind: String {
    case counter
    case gauge
    case histogram
  }

  private(set) var text = ""

  /// One metric with its values, each with its labels. A counter's name ends in `_total`.
  mutating func add(
    _ name: String, kind: Kind, help: String, samples: [(labels: [(String, String)], value: Double)]
  ) {
    describe(name, kind: kind, help: help)
    for sample in samples { append(name, labels: sample.labels, value: sample.value) }
  }

  /// `buckets` are the counts between the bounds, not yet summed up: one more than there are bounds.
  mutating func addHistogram(
    _ name: String, help: String, bounds: [Double], buckets: [UInt64], sum: Double
  ) {
    describe(name, kind: .histogram, help: help)
    var total: UInt64 = 0
    for (index, count) in buckets.enumerated() {
      total += count
      let bound = index < bounds.count ? Self.number(bounds[index]) : "+Inf"
      append(name + "_bucket", labels: [("le", bound)], value: Double(total))
    }
    append(name + "_sum", labels: [], value: sum)
    append(name + "_count", labels: [], value: Double(total))
  }

  private mutating func describe(_ name: String, kind: Kind, help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  private mutating func append(_ name: String, labels: [(String, String)], value: Double) {
    let pairs = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
    text += "\(name)\(pairs.isEmpty ? "" : "{\(pairs)}") \(Self.number(value))\n"
  }

  /// A whole number is written without a fraction.
  private static func number(_ value: Double) -> String {
    value == value.rounded() && value.magnitude < 1e15 ? String(Int64(clamping: value)) : String(value)
  }

  private static func escaped(_ value: String) -> String {
    var escaped = ""
    for character in value {
      switch character {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.append(character)
      }
    }
    return escaped
  }
}
