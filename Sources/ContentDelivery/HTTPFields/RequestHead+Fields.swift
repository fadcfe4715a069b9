import HTTPParsing
import HTTPServer

/// The fields of a request on a loop that the engine does not index; their names are given in lower case.
extension RequestHead {
  /// Whether the field at `index` has that name.
  func isNamed(_ name: StaticString, at index: Int, in bytes: Span<UInt8>) -> Bool {
    let found = field(at: index).name
    return found.count == name.utf8CodeUnitCount && bytes.hasPrefix(name, at: found.lowerBound, mask: 0x20)
  }

  func hasField(_ name: StaticString, in bytes: Span<UInt8>) -> Bool {
    for index in 0..<fieldCount where isNamed(name, at: index, in: bytes) { return true }
    return false
  }

  /// The values of all fields of that name, in order.
  package func values(of name: StaticString, in bytes: Span<UInt8>) -> [String] {
    var values: [String] = []
    for index in 0..<fieldCount where isNamed(name, at: index, in: bytes) {
      values.append(String(decoding: field(at: index).value.map { bytes[$0] }, as: UTF8.self))
    }
    return values
  }
}

extension Span<UInt8> {
  /// Whether the ASCII bytes of `prefix` stand at `offset`; with 0x20 as `mask`, in any case.
  @inline(__always)
  package func hasPrefix(_ prefix: StaticString, at offset: Int, mask: UInt8 = 0) -> Bool {
    guard offset + prefix.utf8CodeUnitCount <= count else { return false }
    return prefix.withUTF8Buffer { expected in
      let found = extracting(offset..<offset + expected.count)
      var difference: UInt8 = 0
      for index in found.indices { difference |= unsafe expected[index] ^ (found[index] | mask) }
      return difference == 0
    }
  }
}
