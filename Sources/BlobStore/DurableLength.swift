import Measures
import SystemCalls

/// How much of an incoming file was on the device, and in which run of the machine that was written down. Within the same
/// run the kernel remembers everything written, whatever was killed; after a restart only what was synced counts.
struct DurableLength: Equatable {
  let bootIdentifier: String
  let length: ByteCount

  /// Two words and a line feed.
  var text: String { "\(bootIdentifier) \(length.rawValue)\n" }

  init(bootIdentifier: String, length: ByteCount) {
    self.bootIdentifier = bootIdentifier
    self.length = length
  }

  /// Nil for anything that `text` would not have written.
  init?(text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2, let line = words.last, line.last == "\n",
      let length = Int64(line.dropLast()), length >= 0, !words[0].isEmpty
    else { return nil }
    self.init(bootIdentifier: String(words[0]), length: ByteCount(length))
  }

  /// How much of a file of `fileLength` may be trusted now.
  func trusted(fileLength: ByteCount, bootIdentifier: String) -> ByteCount {
    bootIdentifier == self.bootIdentifier ? fileLength : min(fileLength, length)
  }

  static func read(_ path: String) throws(SystemError) -> DurableLength? {
    do {
      let bytes = try FileSystem.read(path, upTo: .kibibytes(1))
      return DurableLength(text: String(decoding: bytes, as: UTF8.self))
    } catch {
      if error.isFileMissing { return nil }
      throw error
    }
  }

  func write(to path: String, operations: any FileOperations) throws(SystemError) {
    let bytes = Array(text.utf8)
    try DurableFile.write(bytes.span, to: path, permissions: 0o600, operations: operations)
  }
}
