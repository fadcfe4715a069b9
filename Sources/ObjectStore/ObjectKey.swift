/// The name of an object below the prefix of an ``ObjectStoreAddress``: `packages/ab/cdef…`.
///
/// It has parts between slashes, none of them empty, `.` or `..`, since proxies and libraries take those away and break a signature. It has
/// no control characters, and 512 bytes in UTF-8 at most.
public struct ObjectKey: RawRepresentable, Hashable, Sendable {
  /// The name without the prefix.
  public let rawValue: String

  /// Bytes of a key, at most: with the prefix no more than a store takes (1024).
  public static let maximumLength = 512

  /// Nil for a text that is no such name.
  public init?(rawValue: String) {
    guard rawValue.utf8.count <= Self.maximumLength,
      rawValue.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
      rawValue.split(separator: "/", omittingEmptySubsequences: false).allSatisfy({ part in
        !part.isEmpty && part != "." && part != ".."
      })
    else { return nil }
    self.rawValue = rawValue
  }

  /// A key that a program is certain of, such as one made of a digest's digits. Traps for a text that is no such name.
  public init(_ text: String) {
    guard let key = ObjectKey(rawValue: text) else { preconditionFailure("this is no name of an object") }
    self = key
  }
}

/// The name as a text, for messages and logs.
extension ObjectKey: CustomStringConvertible {
  /// The name.
  public var description: String { rawValue }
}
