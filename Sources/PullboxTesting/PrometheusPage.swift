/// Reads the text format of Prometheus, version 0.0.4, as strictly as its documentation describes it.
public struct PrometheusPage {
  /// A line that does not follow the format, or a convention of names.
  public struct Malformed: Error {
    /// The line as it stands, or the part that is missing.
    public var line: String
  }

  /// By the metric's name with its labels as they stand.
  public private(set) var samples: [String: Double] = [:]

  /// Throws ``Malformed``. The page must end with a line feed. Each metric has HELP and then TYPE before its samples, and
  /// no sample comes twice. A counter's name ends in `_total`, and no other's.
  public init(_ text: String) throws {
    guard text.hasSuffix("\n") else { throw Malformed(line: "the end") }
    var types: [String: String] = [:]
    var current = ""
    for line in text.split(separator: "\n").map(String.init) {
      if line.hasPrefix("# HELP ") {
        current = String(line.dropFirst(7).prefix { $0 != " " })
      } else if line.hasPrefix("# TYPE ") {
        let words = line.split(separator: " ")
        guard words.count == 4, words[2] == current, types[current] == nil,
          ["counter", "gauge", "histogram"].contains(words[3])
        else { throw Malformed(line: line) }
        types[current] = String(words[3])
        // Conventions: counters end in _total, nothing else does, units are bases.
        guard current.hasSuffix("_total") == (words[3] == "counter"), !current.contains("milliseconds"),
          !current.contains("kilobytes")
        else { throw Malformed(line: line) }
      } else {
        try add(line, to: current, type: types[current])
      }
    }
  }

  /// Adds a sample. A histogram's are named after its buckets, its sum and its count.
  private mutating func add(_ line: String, to metric: String, type: String?) throws {
    guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]), let type
    else { throw Malformed(line: line) }
    let key = String(line[..<space])
    let name = String(key.prefix { $0 != "{" })
    let names =
      type == "histogram" ? ["\(metric)_bucket", "\(metric)_sum", "\(metric)_count"] : [metric]
    guard names.contains(name), samples[key] == nil,
      name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
    else { throw Malformed(line: line) }
    let labels = key.dropFirst(name.count)
    guard labels.isEmpty || (labels.hasPrefix("{") && labels.hasSuffix("\"}")) else {
      throw Malformed(line: line)
    }
    samples[key] = value
  }
}
