extension DurableFile {
  private static let suffix = ".pullbox-part"

  /// Removes what writers that were killed left in `directory`. Only while nobody writes there: at start-up, under the
  /// lock of the state directory.
  public static func removeLeftovers(in directory: String) throws(SystemError) {
    let directory = try Directory(opening: directory)
    for entry in try directory.entries() where entry.kind == .regular && isLeftover(entry.name) {
      try directory.removeFile(entry.name)
    }
  }

  /// In the same directory, hidden, and different at every call.
  static func temporaryPath(for path: String) -> String {
    let salt = String(UInt64.random(in: .min ... .max), radix: 36)
    // A name has 255 bytes; the rest of a long one is not needed to tell files apart.
    let stem = String(decoding: FileSystem.lastPart(of: path).utf8.prefix(200), as: UTF8.self)
    return "\(FileSystem.parent(of: path))/.\(stem).\(salt)\(suffix)"
  }

  private static func isLeftover(_ name: String) -> Bool {
    name.hasPrefix(".") && name.hasSuffix(suffix)
  }
}
