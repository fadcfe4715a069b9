import CoreTypes

/// Faults of documents that a decoder does not tell, or not as what they are.
extension APIJSON {
  /// A sentence for people about what a decoder refused of a whole document. Half of a character, which a decoder does not tell from what
  /// is not JSON, is named as the reason.
  public static func explain(_ error: any Error, ofDocument document: [UInt8]) -> String {
    JSONString.hasLoneSurrogate(inDocument: document) ? loneSurrogate : explain(error)
  }

  /// The reason why a document with half of a character is refused.
  public static let loneSurrogate =
    "a text of the document has one half of a surrogate pair (\\ud800 to \\udfff), which is no character"

  /// Whether an object of the document, however deep, has a member twice, in whichever way its name is written: readers differ in which of
  /// them counts. Some answer for what is not JSON.
  public static func hasRepeatedMember(inDocument bytes: [UInt8]) -> Bool {
    // The names of each object that is open; nil for a list.
    var open: [Set<[UInt8]>?] = []
    var (isName, start) = (false, 0)
    var (isInText, isEscaped, hasEscapes) = (false, false, false)
    for (position, byte) in bytes.enumerated() {
      if isInText {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          (isEscaped, hasEscapes) = (true, true)
        } else if byte == UInt8(ascii: "\"") {
          isInText = false
          guard isName, let last = open.indices.last else { continue }
          isName = false
          let name = name(bytes[start...position], hasEscapes)
          guard open[last]?.insert(name).inserted ?? true else { return true }
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): (isInText, hasEscapes, start) = (true, false, position)
      case UInt8(ascii: "{"):
        open.append([])
        isName = true
      case UInt8(ascii: "["):
        open.append(nil)
        isName = false
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        _ = open.popLast()
        isName = false
      case UInt8(ascii: ","): isName = open.last.map { $0 != nil } ?? false
      default: break
      }
    }
    return false
  }

  /// The name that stands in quotation marks, in UTF-8.
  private static func name(_ quoted: ArraySlice<UInt8>, _ hasEscapes: Bool) -> [UInt8] {
    guard hasEscapes,
      let name = try? decode([String].self, from: [UInt8(ascii: "[")] + quoted + [UInt8(ascii: "]")])
    else { return Array(quoted.dropFirst().dropLast()) }
    return Array((name.first ?? "").utf8)
  }
}
