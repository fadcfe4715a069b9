/// Where a file lies inside a package: a relative path of safe segments, separated by `/`. Two paths are the same when
/// their UTF-8 bytes are; they are ordered by these bytes.
///
/// Safe means: 1 to 1024 bytes of UTF-8; segments of 1 to 255 bytes, none of them `.` or `..`; no backslash, no control
/// character; no name that another system reserves for a device (`CON`, `nul.txt`, …).
public struct PackagePath: Sendable {
  public let text: String

  public static let maximumLength = 1024
  public static let maximumSegmentLength = 255

  /// Throws ``PackagePathFault`` when `text` is no such path.
  public init(_ text: String) throws(PackagePathFault) {
    if let fault = PackagePathFault.first(in: text) { throw fault }
    self.text = text
  }

  public var segments: [Substring] { text.split(separator: "/", omittingEmptySubsequences: false) }

  /// The last segment.
  public var name: Substring { segments.last ?? Substring(text) }

  /// After the last dot of the name, in lower case; empty when there is none.
  public var fileExtension: String {
    let name = name
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "" }
    return name[name.index(after: dot)...].lowercased()
  }
}

extension PackagePath: Hashable {
  public static func == (left: PackagePath, right: PackagePath) -> Bool {
    left.text.utf8.elementsEqual(right.text.utf8)
  }

  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

extension PackagePath: Comparable {
  public static func < (left: PackagePath, right: PackagePath) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}

extension PackagePath: CustomStringConvertible {
  public var description: String { text }
}
