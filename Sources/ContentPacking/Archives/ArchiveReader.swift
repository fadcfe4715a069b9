import CArchive
import ContentPackage
import Glibc
import SystemCalls

/// Reads an archive from any other tool, entry by entry, through libarchive. It reads names, lengths and bytes into
/// memory; it never writes a file.
// Safe although it holds a pointer: it owns the reader, is noncopyable, and frees it in one place.
@safe
struct ArchiveReader: ~Copyable {
  /// The outcome of reading the next entry. A damaged entry is a result, not an error: the rest may be
  /// readable.
  enum Step {
    /// A regular file; `name` is as the archive has it, `length` as it says.
    case entry(name: [UInt8], length: UInt64)
    /// A folder, a link, or something without a name.
    case other
    /// The end of the archive.
    case end
    /// Nothing more can be read.
    case broken
  }

  /// The reader of libarchive, freed once with this value.
  private let reader: OpaquePointer
  /// In which names are UTF-8, whatever the process's own says; nil on a system without it.
  private let locale: locale_t?

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
    unsafe locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)
  }

  deinit {
    // It only read: there is nothing that closing could lose.
    _ = unsafe archive_read_free(reader)
    if let locale = unsafe locale { unsafe freelocale(locale) }
  }

  /// Moves to the next entry; what was not read of the one before is skipped, which takes unpacking it. The
  /// thread's locale is UTF-8 during the call and is put back after it.
  mutating func next() -> Step {
    // libarchive turns names into those of the thread's locale, and tells none where it cannot.
    let before = unsafe locale.map { unsafe uselocale($0) }
    defer { if let before = unsafe before { _ = unsafe uselocale(before) } }
    var entry: OpaquePointer?
    var tries = 0
    while true {
      switch unsafe archive_read_next_header(reader, &entry) {
      // A warning is about what this reader does not use, such as a date.
      case ARCHIVE_OK, ARCHIVE_WARN:
        guard let entry = unsafe entry else { return .broken }
        // 7z has names in UTF-16, which the one has as UTF-8; tar has bytes, which the other has as they are.
        let name =
          unsafe archive_entry_pathname_utf8(entry) ?? archive_entry_pathname(entry)
        let isRegular = unsafe archive_entry_filetype(entry) & 0o170000 == 0o100000
        guard isRegular, let name = unsafe name else { return .other }
        let bytes = unsafe UnsafeRawBufferPointer(start: name, count: strlen(name))
        let length = unsafe archive_entry_size(entry)
        return .entry(name: unsafe Array(bytes), length: UInt64(max(0, length)))
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
    guard let bytes = start(limit + 1), bytes.count <= limit else { return nil }
    return bytes
  }

  /// The first bytes of that entry, at most `count`; nil when they are damaged or encrypted. It can be called
  /// once for an entry: a second call goes on behind the first.
  mutating func start(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var position = 0
    while position < bytes.count {
      let offset = position
      let received = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe archive_read_data(reader, buffer.baseAddress?.advanced(by: offset), buffer.count - offset)
      }
      if received == Int(ARCHIVE_RETRY) { continue }
      guard received >= 0 else { return nil }
      if received == 0 { break }
      position += received
    }
    bytes.removeLast(bytes.count - position)
    return bytes
  }
}
