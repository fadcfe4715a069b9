internal import CoreTypes

/// Builds a page in the text format that Prometheus reads (version 0.0.4).
struct MetricsText {
  enum Kind: String {
    case counter
    case gauge
    case histogram
  }

  private(set) var text = ""

  /// `buckets` are the counts between the bounds, not yet summed up: one more than there are bounds.
  mutating func addHistogram(
    _ name: String, labels: [(String, String)], bounds: [Double], buckets: [UInt64], sum: Double
  ) {
    var total: UInt64 = 0
    for (index, count) in buckets.enumerated() {
      total += count
      let bound = index < bounds.count ? Self.number(bounds[index]) : "+Inf"
      add(name + "_bucket", labels: labels + [("le", bound)], value: Double(total))
    }
    add(name + "_sum", labels: labels, value: sum)
    add(name + "_count", labels: labels, value: Double(total))
  }

  /// Goes before the values of a metric. A counter's name ends in `_total`.
  mutating func describe(_ name: String, kind: Kind, help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  /// One value.
  mutating func add(_ name: String, labels: [(String, String)], value: Double) {
    let pairs = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
    text += "\(name)\(pairs.isEmpty ? "" : "{\(pairs)}") \(Self.number(value))\n"
  }

  /// A whole number is written without a fraction.
  private static func number(_ value: Double) -> String {
    value == value.rounded() && value.magnitude < 1e15 ? String(Int64(clamping: value)) : String(value)
  }

  private static func escaped(_ value: String) -> String {
    var escaped = String.UnicodeScalarView()
    // Not by characters: CR LF is one, and so is a quotation mark with a mark above it.
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\".unicodeScalars
      case "\"": escaped += "\\\"".unicodeScalars
      case "\n": escaped += "\\n".unicodeScalars
      default: escaped.append(scalar)
      }
    }
    return String(escaped)
  }
}
