@testable import ContentDelivery

/// The fields in which proxies name their clients; each line of an input is a line of the field. What is read is the same once it is
/// written and read again.
enum FieldProperties {
  private static func lines(_ bytes: [UInt8]) -> [String] {
    bytes.prefix(1024).split(separator: 0x0A, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  static func check(_ bytes: [UInt8]) -> String? {
    let lines = lines(bytes)
    for hop in ForwardingFields(for: lines, scheme: lines, host: lines).hops where hop.client?.isEmpty == true
    {
      return "a client without a name"
    }
    guard let elements = ForwardedElement.parse(lines) else {
      return ForwardingFields(forwarded: lines).hops.isEmpty ? nil : "hops of a field that is none"
    }
    guard !elements.isEmpty else { return "a field of no element" }
    let written = elements.map { element in
      let pairs = [("for", element.client), ("proto", element.scheme), ("host", element.host)]
        .compactMap { name, value in value.map { "\(name)=\(quoted($0))" } }
      return pairs.isEmpty ? "by=_" : pairs.joined(separator: ";")
    }
    guard ForwardedElement.parse([written.joined(separator: ", ")]) == elements else {
      return "\(elements) are read otherwise as \(written)"
    }
    return nil
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
  }
}
