/// Remembers for a second which parts of files were in the page cache. What was sent so lately is the last
/// thing that the kernel evicts, so another look at the cache, which costs as much as a tenth of a small
/// response, is spared.
///
/// A table with one place for each of many blocks of 64 KiB. A block that takes another's place costs that
/// one a look; a file that takes a closed one's number, or a page that was thrown out on purpose, costs the
/// loop a read from the device.
struct PageCacheHints {
  private static let blockShift: Int64 = 16
  private static let places = 8192
  private static let lifetime: UInt64 = 1_000_000_000

  private struct Place {
    var file: Int32 = -1
    var block: UInt32 = 0
    /// Nanoseconds of the loop's clock.
    var until: UInt64 = 0
  }

  private var table = [Place](repeating: Place(), count: PageCacheHints.places)

  /// Whether every block that the range touches is remembered.
  func holds(_ file: Int32, range: Range<Int64>, now: UInt64) -> Bool {
    let last = (range.upperBound - 1) >> Self.blockShift
    var block = range.lowerBound >> Self.blockShift
    while block <= last {
      let number = UInt32(truncatingIfNeeded: block)
      let place = table[Self.place(file: file, block: number)]
      guard place.until > now, place.block == number, place.file == file else { return false }
      block += 1
    }
    return true
  }

  /// Remembers that the range is in the page cache; blocks that it covers only in part are not remembered.
  mutating func remember(_ file: Int32, range: Range<Int64>, now: UInt64) {
    let end = range.upperBound >> Self.blockShift
    var block = (range.lowerBound + 65_535) >> Self.blockShift
    while block < end {
      let number = UInt32(truncatingIfNeeded: block)
      table[Self.place(file: file, block: number)] = Place(
        file: file, block: number, until: now + Self.lifetime)
      block += 1
    }
  }

  private static func place(file: Int32, block: UInt32) -> Int {
    Int((block &+ UInt32(bitPattern: file) &* 2053) & UInt32(places - 1))
  }
}
