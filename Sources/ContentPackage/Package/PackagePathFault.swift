/// Why a text is no ``PackagePath``.
public enum PackagePathFault: Error, Hashable, Sendable {
  case empty
  case tooLong
  case absolute
  case emptySegment
  case dotSegment
  case segmentTooLong
  case backslash
  case controlCharacter
  case reservedName
  case notUnicode

  /// A clause for people: "the path …".
  public var reason: String {
    switch self {
    case .empty: "the path is empty"
    case .tooLong: "the path is longer than \(PackagePath.maximumLength) bytes"
    case .absolute: "the path is absolute"
    case .emptySegment: "the path has an empty segment"
    case .dotSegment: "the path has a segment that is . or .."
    case .segmentTooLong: "a name in the path is longer than \(PackagePath.maximumSegmentLength) bytes"
    case .backslash: "the path has a backslash"
    case .controlCharacter: "the path has a control character"
    case .reservedName: "the path has a name that some systems reserve for a device"
    case .notUnicode: "the path is not UTF-8"
    }
  }

  /// The first rule that `text` breaks, nil for a safe path.
  static func first(in text: String) -> PackagePathFault? {
    if text.isEmpty { return .empty }
    if text.utf8.count > PackagePath.maximumLength { return .tooLong }
    if text.utf8.first == 0x2F { return .absolute }
    if text.utf8.contains(0x5C) { return .backslash }
    if text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
      return .controlCharacter
    }
    for segment in text.utf8.split(separator: 0x2F, omittingEmptySubsequences: false) {
      if let fault = first(inSegment: segment) { return fault }
    }
    return nil
  }

  private static func first(inSegment segment: Substring.UTF8View) -> PackagePathFault? {
    if segment.isEmpty { return .emptySegment }
    if segment.elementsEqual([0x2E]) || segment.elementsEqual([0x2E, 0x2E]) { return .dotSegment }
    if segment.count > PackagePath.maximumSegmentLength { return .segmentTooLong }
    return isReserved(Substring(segment)) ? .reservedName : nil
  }

  /// The device names of DOS and Windows count with any extension and trailing spaces, in any case.
  private static func isReserved(_ segment: Substring) -> Bool {
    var stem = segment.prefix { $0 != "." }
    while stem.last == " " { stem.removeLast() }
    let name = stem.uppercased()
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"].contains(name) { return true }
    guard name.count == 4, name.hasPrefix("COM") || name.hasPrefix("LPT"), let last = name.last else {
      return false
    }
    return "0123456789¹²³".contains(last)
  }
}
