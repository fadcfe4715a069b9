import CoreTypes
import Files
import SystemCalls

/// How much of an incoming file was on the device, and in which run of the machine that was written down. Within the same
/// run the kernel remembers everything written, whatever was killed; after a restart only what was synced counts.
struct SyncCheckpoint: Equatable {
  let bootIdentifier: String
  let length: ByteCount
  /// While bytes wait for the verdict on their checksum: where they begin. Nothing from there on counts.
  var ceiling: ByteCount?

  /// Two words and a line feed; with a ceiling, `unchecked` and its offset follow.
  var text: String {
    "\(bootIdentifier) \(length.rawValue)\(ceiling.map { " unchecked \($0.rawValue)" } ?? "")\n"
  }

  init(bootIdentifier: String, length: ByteCount, ceiling: ByteCount? = nil) {
    self.bootIdentifier = bootIdentifier
    self.length = length
    self.ceiling = ceiling
  }

  /// Nil for anything that `text` would not have written.
  init?(text: String) {
    guard text.last == "\n" else { return nil }
    let words = text.dropLast().split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2 || words.count == 4, !words[0].isEmpty, let length = Self.number(words[1]) else {
      return nil
    }
    self.init(bootIdentifier: String(words[0]), length: length)
    guard words.count == 4 else { return }
    guard words[2] == "unchecked", let ceiling = Self.number(words[3]) else { return nil }
    self.ceiling = ceiling
  }

  /// How much of a file of `fileLength` may be trusted now.
  func trusted(fileLength: ByteCount, bootIdentifier: String) -> ByteCount {
    let kept = bootIdentifier == self.bootIdentifier ? fileLength : min(fileLength, length)
    return ceiling.map { min(kept, $0) } ?? kept
  }

  static func read(_ path: String) throws(SystemError) -> SyncCheckpoint? {
    do {
      let bytes = try FileSystem.read(path, upTo: .kibibytes(1))
      return SyncCheckpoint(text: String(decoding: bytes, as: UTF8.self))
    } catch {
      if error.isFileMissing { return nil }
      throw error
    }
  }

  func write(to path: String, operations: any FileOperations) throws(SystemError) {
    let bytes = Array(text.utf8)
    try DurableFile.write(bytes.span, to: path, permissions: 0o600, operations: operations)
  }

  private static func number(_ word: Substring) -> ByteCount? {
    guard let number = Int64(word), number >= 0 else { return nil }
    return ByteCount(number)
  }
}
