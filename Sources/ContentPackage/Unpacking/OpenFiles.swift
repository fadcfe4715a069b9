import SystemCalls

/// The descriptors that are kept open for writing, at most ``limit``: the one used longest ago is closed for a new one.
struct OpenFiles: Sendable {
  static let limit = 64

  /// A descriptor that a dictionary can hold.
  final class File: Sendable {
    let descriptor: FileDescriptor
    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
  }

  private var files: [Int: (file: File, lastUse: UInt64)] = [:]
  private var uses: UInt64 = 0

  mutating func file(
    _ index: Int, opening open: () throws(SystemError) -> FileDescriptor
  ) throws(SystemError) -> File {
    uses += 1
    if let known = files[index]?.file {
      files[index]?.lastUse = uses
      return known
    }
    if files.count >= Self.limit, let oldest = files.min(by: { $0.value.lastUse < $1.value.lastUse })?.key {
      files[oldest] = nil
    }
    let file = File(try open())
    files[index] = (file, uses)
    return file
  }

  mutating func close(_ index: Int) {
    files[index] = nil
  }

  mutating func closeAll() {
    files.removeAll()
  }
}
