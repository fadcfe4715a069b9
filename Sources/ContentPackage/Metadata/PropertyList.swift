/// Reads the strings in the dictionary at the top of a property list, XML or binary. It looks at nothing below, so that no
/// nesting and no reference that leads in a circle can matter.
enum PropertyList {
  /// By their keys; nil when `bytes` are no property list with a dictionary at its top.
  static func texts(in bytes: [UInt8]) -> [String: String]? {
    bytes.starts(with: Array("bplist00".utf8)) ? BinaryPropertyList(bytes)?.texts() : markup(bytes)
  }

  private static func markup(_ bytes: [UInt8]) -> [String: String]? {
    var texts: [String: String] = [:]
    var key: String?
    var hasDictionary = false
    let isWellFormed = XMLReader.read(bytes) { path, event in
      guard path.starts(with: ["plist", "dict"]) else { return }
      hasDictionary = true
      guard path.count == 3, case .end(let text) = event else { return }
      switch path[2] {
      case "key": key = text
      case "string":
        if let key { texts[key] = text }
        key = nil
      default: key = nil
      }
    }
    return isWellFormed && hasDictionary ? texts : nil
  }
}
