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
    _ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: [(String, String)], value: Double)]
  ) {
    describe(name, kind, help)
    for sample in samples { put(name, sample.labels, sample.value) }
  }

  mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: some BinaryInteger) {
    add(name, kind, help, [([], Double(value))])
  }

  /// `buckets` are the counts between the bounds, not yet summed up; one more than there are bounds.
  mutating func addHistogram(
    _ name: String, _ help: String, bounds: [Double], buckets: [UInt64], sum: Double
  ) {
    describe(name, .histogram, help)
    var total: UInt64 = 0
    for (index, count) in buckets.enumerated() {
      total += count
      let bound = index < bounds.count ? Self.number(bounds[index]) : "+Inf"
      put(name + "_bucket", [("le", bound)], Double(total))
    }
    put(name + "_sum", [], sum)
    put(name + "_count", [], Double(total))
  }

  private mutating func describe(_ name: String, _ kind: Kind, _ help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  private mutating func put(_ name: String, _ labels: [(String, String)], _ value: Double) {
    let pairs = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
    text += "\(name)\(pairs.isEmpty ? "" : "{\(pairs)}") \(Self.number(value))\n"
  }

  /// Without a fraction where there is none.
  private static func number(_ value: Double) -> String {
    value == value.rounded() && value.magnitude < 1e15 ? String(Int64(value)) : String(value)
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
