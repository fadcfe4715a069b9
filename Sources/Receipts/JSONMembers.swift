import FoundationEssentials

/// Whether an object names each of its members once, found without reading their values. RFC 7515 §4 and RFC 7519 §4 ask for
/// that of headers and claims: readers differ in which of two members counts.
enum JSONMembers {
  /// Whether no member of the outermost object of `text` is there twice, however its name is written; for what is not JSON,
  /// some answer.
  static func areUnique(in text: [UInt8]) -> Bool {
    var names: Set<String> = []
    var (depth, isName, start) = (0, false, 0)
    var (isInString, isEscaped, hasEscapes) = (false, false, false)
    for (position, byte) in text.enumerated() {
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == 0x5C {
          (isEscaped, hasEscapes) = (true, true)
        } else if byte == 0x22 {
          isInString = false
          guard depth == 1, isName else { continue }
          isName = false
          guard let name = name(text[start...position], hasEscapes), names.insert(name).inserted else {
            return false
          }
        }
        continue
      }
      switch byte {
      case 0x22: (isInString, hasEscapes, start) = (true, false, position)
      case 0x5B, 0x7B:
        depth += 1
        isName = depth == 1 && byte == 0x7B
      case 0x5D, 0x7D: depth -= 1
      case 0x2C: isName = depth == 1
      default: break
      }
    }
    return true
  }

  /// Returns the text of a name that stands in quotation marks; nil for bytes that are no text.
  private static func name(_ quoted: ArraySlice<UInt8>, _ hasEscapes: Bool) -> String? {
    guard hasEscapes else {
      return String(validating: quoted.dropFirst().dropLast(), as: UTF8.self)
    }
    return try? JSONDecoder().decode(String.self, from: Data(quoted))
  }
}
