import CArchive
import ContentPackage
import SystemCalls

/// Reads an archive from any other tool, entry by entry, through libarchive. It reads names, lengths and bytes into
/// memory; it never writes a file.
// Safe although it holds a pointer: it owns the reader, is noncopyable, and frees it in one place.
@safe
struct ArchiveReader: ~Copyable {
  /// What became of asking for the next entry. A damaged entry is a result, not an error: the rest may be readable.
  enum Step {
    case entry(name: String?)
    case end
    /// Nothing more can be read.
    case broken
  }

  private let reader: OpaquePointer

  /// Reads from the start of `file`, whose position it moves, and which must stay open while this value lives. Nil when it
  /// is no archive that libarchive knows (ZIP, 7-Zip, tar), or memory is short.
  @inline(never)
  init?(_ file: borrowing FileDescriptor) throws(SystemError) {
    try file.rewind()
    guard let reader = unsafe archive_read_new() else { return nil }
    let isOpen =
      unsafe archive_read_support_format_zip(reader) == ARCHIVE_OK
      && archive_read_support_format_7zip(reader) == ARCHIVE_OK
      && archive_read_support_format_tar(reader) == ARCHIVE_OK
      && archive_read_open_fd(reader, file.number, 1 << 16) == ARCHIVE_OK
    guard isOpen else {
      _ = unsafe archive_read_free(reader)
      return nil
    }
    unsafe self.reader = reader
  }

  deinit {
    // It only read: there is nothing that closing could lose.
    _ = unsafe archive_read_free(reader)
  }

  /// `name` is nil where it is no UTF-8.
  mutating func next() -> Step {
    var entry: OpaquePointer?
    var tries = 0
    while true {
      switch unsafe archive_read_next_header(reader, &entry) {
      // A warning is about what this reader does not use, such as a date.
      case ARCHIVE_OK, ARCHIVE_WARN:
        guard let entry = unsafe entry else { return .broken }
        let name =
          unsafe archive_entry_pathname_utf8(entry) ?? archive_entry_pathname(entry)
        return .entry(name: unsafe name.flatMap { unsafe String(validatingCString: $0) })
      case ARCHIVE_EOF:
        return .end
      case ARCHIVE_RETRY where tries < 3:
        tries += 1
      default:
        return .broken
      }
    }
  }

  /// The bytes of the entry that ``next()`` answered last; nil when there are more than `limit`, or they are damaged or
  /// encrypted.
  mutating func bytes(upTo limit: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    var count = 0
    while count < bytes.count {
      let position = count
      let received = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe archive_read_data(reader, buffer.baseAddress?.advanced(by: position), buffer.count - position)
      }
      if received == Int(ARCHIVE_RETRY) { continue }
      guard received >= 0 else { return nil }
      if received == 0 { break }
      count += received
    }
    guard count <= limit else { return nil }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}
