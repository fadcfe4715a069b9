internal import CLinux
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// The pages of files that are in memory, and the reading of others into it. A test has one that knows
/// nothing, or a device that cannot read.
protocol PageCache: Sendable {
  /// Whether sending the range, which is not empty, would not wait for a device. Answers at once.
  func holds(_ file: SharedDescriptor, range: Range<Int64>) -> Bool

  /// Reads the range from its device. Blocks. A file that ends before its range does is no failure.
  func fetch(_ file: SharedDescriptor, range: Range<Int64>) throws(SystemError)
}

/// The kernel's.
struct SystemPageCache: PageCache {
  static let pageLength: Int64 = 4096
  /// Where the kernel cannot count pages, one is looked at in so many bytes.
  private static let lookInterval: Int64 = 65_536
  private static let readLength = 131_072
  /// Takes bytes without a copy, so that only the pages are brought in; nil where there is no such device.
  private static let sink: Int32? = {
    do {
      let null = try FileDescriptor.open("/dev/null", .writeOnly)
      // Where it is a file, as in some containers, content would be added to it.
      return try null.status().kind == .other ? null.release() : nil
    } catch {
      return nil
    }
  }()
  /// Neither this kernel nor this process's filter will begin to answer cachestat(2).
  private static let canCount = Atomic<Bool>(true)

  func holds(_ file: SharedDescriptor, range: Range<Int64>) -> Bool {
    let number = file.descriptor.number
    // The last page comes last: one on its way is counted already, and would be waited for.
    guard clinux_is_cached(number, off_t(range.upperBound - 1)) else { return false }
    let first = range.lowerBound / Self.pageLength
    let end = (range.upperBound + Self.pageLength - 1) / Self.pageLength
    guard end - first > 1 else { return true }
    if let count = Self.cachedPages(number, range: first * Self.pageLength..<end * Self.pageLength) {
      return count >= end - first
    }
    return stride(from: range.lowerBound, to: range.upperBound, by: Int(Self.lookInterval)).allSatisfy {
      clinux_is_cached(number, off_t($0))
    }
  }

  /// Nil where the kernel does not say.
  private static func cachedPages(_ number: Int32, range: Range<Int64>) -> Int64? {
    guard canCount.load(ordering: .relaxed) else { return nil }
    let count = clinux_cached_pages(
      number, off_t(range.lowerBound), off_t(range.upperBound - range.lowerBound))
    if count >= 0 { return count }
    // Of this file alone: a file system that does not know it.
    if errno == ENOSYS || errno == EPERM { canCount.store(false, ordering: .relaxed) }
    return nil
  }

  func fetch(_ file: SharedDescriptor, range: Range<Int64>) throws(SystemError) {
    let number = file.descriptor.number
    guard let sink = Self.sink else { return try read(number, range: range) }
    var offset = off_t(range.lowerBound)
    while offset < range.upperBound {
      let wanted = Int(range.upperBound - Int64(offset))
      let count: Int
      do throws(SystemError) {
        count = try SystemCall.run("sendfile") { unsafe sendfile(sink, number, &offset, wanted) }
      } catch {
        // The file system has no such reads, or this process may not make the call.
        guard [EINVAL, ENOSYS, EPERM, EOPNOTSUPP].contains(error.number) else { throw error }
        return try read(number, range: Int64(offset)..<range.upperBound)
      }
      guard count > 0 else { return }
    }
  }

  /// Costs a copy of every byte besides.
  private func read(_ number: Int32, range: Range<Int64>) throws(SystemError) {
    let buffer = ScratchBuffer(capacity: Self.readLength)
    var offset = range.lowerBound
    while offset < range.upperBound {
      let wanted = min(buffer.capacity, Int(range.upperBound - offset))
      let count = try SystemCall.run("pread") {
        unsafe pread(number, buffer.base, wanted, off_t(offset))
      }
      guard count > 0 else { return }
      offset += Int64(count)
    }
  }
}
