import CLinux
import Files
import FoundationEssentials
import Glibc
public import SystemCalls

/// The file that tells the program that started a daemon that it answers, and where: `{"addresses":[…],"pid":N}`.
public struct ReadyFile: Sendable {
  /// The document in the file.
  private struct Content: Encodable {
    /// The addresses in their text form, such as `127.0.0.1:8080`.
    let addresses: [String]
    /// The identifier of the daemon's process.
    let pid: Int32
  }

  /// The path of the file.
  private let path: String

  /// Writes nothing yet.
  public init(path: String) {
    self.path = path
  }

  /// Removes the file of an earlier run; called before anything starts. Blocks.
  public func removeStale() throws(SystemError) {
    try FileSystem.removeFile(path)
  }

  /// Writes the file atomically: a reader sees all of it or none. Blocks.
  public func write(addresses: [String]) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let bytes = Array(try encoder.encode(Content(addresses: addresses, pid: getpid()))) + [0x0A]
    try DurableFile.write(bytes.span, to: path)
  }
}
