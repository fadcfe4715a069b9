public import CoreTypes
import Files
import SystemCalls

/// A key that is made once, kept in a file that only its owner may read, and found again at the next start.
public enum SecretFile {
  /// A longer file is refused.
  public static let maximumLength = ByteCount.kibibytes(64)

  /// The file's bytes; without a file, those of `make`, once they are durable. Two processes that start at
  /// once get the same. Blocks.
  public static func readOrCreate(
    _ path: String, make: () throws -> [UInt8]
  ) throws(SecretFileError) -> Redacted<[UInt8]> {
    let remedy = "'chmod 600' it, or remove it to make another"
    if let found = try read(path, remedy: remedy) { return found }
    do {
      let made = try make()
      try DurableFile.write(made.span, to: path, permissions: 0o600, ifPresent: .refuse)
      return Redacted(made)
    } catch let error as SystemError where error.isFileInTheWay {
      if let found = try read(path, remedy: remedy) { return found }
      throw SecretFileError(path: path, message: "it appeared and vanished while this process started")
    } catch {
      throw SecretFileError(path: path, message: "\(error)")
    }
  }

  /// Nil without a file. A file that others may read or write is refused: its secret may be known.
  /// Blocks.
  public static func read(_ path: String) throws(SecretFileError) -> Redacted<[UInt8]>? {
    try read(path, remedy: "'chmod 600' it")
  }

  /// Reads a regular file that no link stands for. `remedy` ends the message about a file that others may use.
  private static func read(
    _ path: String, remedy: String
  ) throws(SecretFileError) -> Redacted<[UInt8]>? {
    do {
      let file = try FileDescriptor.open(path, .readOnly, options: .doNotFollow)
      let status = try file.status()
      guard status.kind == .regular else { throw SecretFileError(path: path, message: "it is not a file") }
      guard status.permissions & 0o077 == 0 else {
        throw SecretFileError(
          path: path,
          message: "others than its owner may use it; \(remedy)")
      }
      guard status.length <= maximumLength, status.length > .zero else {
        throw SecretFileError(path: path, message: "its length is \(status.length)")
      }
      var bytes: [UInt8] = []
      try file.read(upTo: Int(status.length.rawValue), at: .zero, into: &bytes)
      return Redacted(bytes)
    } catch let error as SecretFileError {
      throw error
    } catch let error as SystemError where error.isFileMissing {
      return nil
    } catch {
      throw SecretFileError(path: path, message: "\(error)")
    }
  }
}

/// Why the file of a secret cannot be used.
public struct SecretFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file.
  public let path: String
  /// The fault of the file, in words without a full stop.
  public let message: String

  /// `message` completes "cannot be used: …".
  public init(path: String, message: String) {
    self.path = path
    self.message = message
  }

  /// One line that names the file.
  public var description: String { "the secret's file \(path) cannot be used: \(message)" }
}
