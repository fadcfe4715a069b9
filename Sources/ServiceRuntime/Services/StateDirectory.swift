public import Files
import SystemCalls

/// A daemon's state directory: everything that must survive, for one process at a time.
public enum StateDirectory {
  /// Makes the directory, for its owner's eyes only, unless it is there, and takes it for this process until
  /// the lock is let go. Blocks. Throws ``StateDirectoryError`` `inUse` while another process holds it,
  /// `SystemError` when it cannot be made.
  public static func claim(_ path: String) throws -> LockFile {
    try FileSystem.createDirectories(path, permissions: 0o700)
    guard let lock = try LockFile.acquire("\(path)/lock") else {
      throw StateDirectoryError(.inUse, path: path, message: "another process uses it")
    }
    return lock
  }
}

/// Why a state directory, or something in it, cannot be used. An operator has to look; trying again does not
/// help.
public struct StateDirectoryError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a fault.
  public struct Code: Hashable, Sendable {
    /// The cases behind ``Code``, private so that more may follow.
    private enum Name { case inUse, damaged }

    /// The case.
    private let name: Name

    /// Another process holds the directory.
    public static let inUse = Code(name: .inUse)
    /// The directory holds data that this program did not write.
    public static let damaged = Code(name: .damaged)
  }

  /// The kind of this fault, for programs.
  public let code: Code
  /// The directory, or the file in it.
  public let path: String
  /// The fault, for people, in words without a full stop.
  public let message: String

  /// An error about `path`, the directory or a file in it.
  public init(_ code: Code, path: String, message: String) {
    self.code = code
    self.path = path
    self.message = message
  }

  /// The path and the message.
  public var description: String { "\(path): \(message)" }
}
