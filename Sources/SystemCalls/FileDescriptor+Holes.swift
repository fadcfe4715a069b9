internal import CLinux
internal import Glibc

/// Files with holes: parts that take no room, and are zeros.
extension FileDescriptor {
  /// fallocate(2) with `FALLOC_FL_PUNCH_HOLE`: gives the room of these bytes back. They are zeros from then on, and the file is as long
  /// as before. Throws an error whose `isUnsupported` is true where the file system cannot.
  public func punchHole(_ range: Range<Int64>) throws(SystemError) {
    guard !range.isEmpty else { return }
    try SystemCall.run("fallocate") {
      clinux_punch_hole(number, off_t(range.lowerBound), off_t(range.upperBound - range.lowerBound))
    }
  }

  /// lseek(2) with `SEEK_DATA` and `SEEK_HOLE`: the parts of the file that may take room, in their order. Where the file system does
  /// not tell, that is all of it. Moves the place at which the descriptor stands.
  public func allocatedRanges() throws(SystemError) -> [Range<Int64>] {
    var ranges: [Range<Int64>] = []
    var offset: Int64 = 0
    do throws(SystemError) {
      while true {
        let start = try SystemCall.run("lseek") { clinux_seek_data(number, off_t(offset)) }
        let end = try SystemCall.run("lseek") { clinux_seek_hole(number, start) }
        ranges.append(Int64(start)..<Int64(end))
        offset = Int64(end)
      }
    } catch {
      // Behind the last part there is none.
      guard error.number == ENXIO else { throw error }
      return ranges
    }
  }

  /// Another descriptor of the same open file (`F_DUPFD_CLOEXEC`).
  public func duplicate() throws(SystemError) -> FileDescriptor {
    FileDescriptor(
      takingOwnershipOf: try SystemCall.run("fcntl") { fcntl(number, F_DUPFD_CLOEXEC, 0) })
  }
}
