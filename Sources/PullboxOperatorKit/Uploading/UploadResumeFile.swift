public import CoreTypes
import Crypto
import Files
import Foundation
import PullboxAPI
import SystemCalls

/// Remembers in a small file where uploads went that are not over, so that a client that was killed resumes
/// them. It only saves time: without it, or with a wrong entry, the package is sent again from its beginning.
public struct UploadResumeFile: Sendable {
  struct Entry: Codable, Hashable, Sendable {
    var server: String
    var digest: SHA256Digest
    var length: ByteCount
    var url: String
    var begun: Timestamp
  }

  private struct Document: Codable {
    var uploads: [Entry]
  }

  /// The oldest entries beyond this many are dropped.
  static let maximumEntries = 64
  static let maximumLength = ByteCount.mebibytes(1)

  /// Where the file is, or will be.
  public let path: String
  private let clock: any WallClock

  /// Touches no file yet: missing directories are made when something is to be remembered.
  public init(path: String, clock: any WallClock = SystemWallClock()) {
    self.path = path
    self.clock = clock
  }

  /// Blocks. Nil when nothing is known; a file that cannot be understood counts as empty.
  func find(server: String, digest: SHA256Digest, length: ByteCount) throws(SystemError) -> String? {
    try entries().last { $0.server == server && $0.digest == digest && $0.length == length }?.url
  }

  /// Blocks; durable when it returns. Of two clients that write at the same moment one may lose its entry,
  /// never the file.
  func remember(_ url: String, server: String, digest: SHA256Digest, length: ByteCount) throws {
    let entry = Entry(server: server, digest: digest, length: length, url: url, begun: clock.now())
    try write(try entries().filter { !($0.server == server && $0.digest == digest) } + [entry])
  }

  /// Drops the upload's entry. Blocks.
  func forget(server: String, digest: SHA256Digest) throws {
    let entries = try entries()
    let kept = entries.filter { !($0.server == server && $0.digest == digest) }
    if kept.count < entries.count { try write(kept) }
  }

  func entries() throws(SystemError) -> [Entry] {
    do throws(SystemError) {
      let bytes = try FileSystem.read(path, upTo: Self.maximumLength)
      // Written by a newer version, or damaged: what it remembers is worth no more than the time it saves.
      return (try? APIJSON.decode(Document.self, from: bytes))?.uploads ?? []
    } catch {
      if error.isFileMissing { return [] }
      throw error
    }
  }

  private func write(_ entries: [Entry]) throws {
    try FileSystem.createDirectories(FileSystem.parent(of: path), permissions: 0o700)
    let bytes = try APIJSON.encode(Document(uploads: entries.suffix(Self.maximumEntries)))
    try DurableFile.write(bytes.span, to: path, permissions: 0o600)
  }
}
