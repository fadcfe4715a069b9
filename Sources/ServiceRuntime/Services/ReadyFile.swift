import FoundationEssentials
import Glibc
public import SystemCalls

/// The file that tells whoever started a daemon that it answers, and where: `{"addresses":[…],"pid":N}`.
public struct ReadyFile: Sendable {
  private struct Content: Encodable {
    let addresses: [String]
    let pid: Int32
  }

  private let path: String

  public init(path: String) {
    self.path = path
  }

  /// A file of an earlier run must not speak for this one; called before anything starts. Blocks.
  public func removeStale() throws(SystemError) {
    try FileSystem.removeFile(path)
  }

  /// Whoever sees the file sees all of it. Blocks.
  public func write(addresses: [String]) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let bytes = Array(try encoder.encode(Content(addresses: addresses, pid: getpid()))) + [0x0A]
    try DurableFile.write(bytes.span, to: path)
  }
}
