import CoreTypes

/// Writes JSON in the one form RFC 8785 allows, for what manifests need: objects whose keys the caller gives in order,
/// arrays, strings, whole numbers below 2^53.
struct CanonicalJSONWriter {
  private(set) var bytes: [UInt8] = []
  private var needsComma = false

  mutating func object(_ members: (inout CanonicalJSONWriter) -> Void) {
    separate()
    open(0x7B)
    members(&self)
    close(0x7D)
  }

  mutating func array<Element>(
    _ elements: some Sequence<Element>, _ element: (inout CanonicalJSONWriter, Element) -> Void
  ) {
    separate()
    open(0x5B)
    for value in elements { element(&self, value) }
    close(0x5D)
  }

  /// The next value belongs to `name`.
  mutating func key(_ name: String) {
    string(name)
    bytes.append(0x3A)
    needsComma = false
  }

  mutating func member(_ name: String, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  mutating func member(_ name: String, _ value: Int64?) {
    guard let value else { return }
    key(name)
    separate()
    bytes.append(contentsOf: String(value).utf8)
  }

  mutating func string(_ text: String) {
    separate()
    JSONString.append(text, to: &bytes)
  }

  private mutating func separate() {
    if needsComma { bytes.append(0x2C) }
    needsComma = true
  }

  private mutating func open(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func close(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }
}
