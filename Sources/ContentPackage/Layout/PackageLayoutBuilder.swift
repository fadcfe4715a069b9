import Crypto
import CoreTypes

/// A layout in the making: what is kept of a previous one, and the room between.
struct PackageLayoutBuilder {
  private let items: [LayoutItem]
  /// Where each file stood before that is there again with other bytes.
  private var formerPlaces: [PackagePath: Range<UInt64>] = [:]
  /// Between the files, in ascending order; none of them empty.
  private var gaps: [Range<UInt64>] = []
  /// Local headers of the items that have a place.
  private(set) var offsets: [UInt64?]
  /// Behind the last of them.
  private(set) var end: UInt64 = 0

  /// Gives every item the place of the same file, or of one with the same bytes and room for its header. Nil for a manifest
  /// whose headers have no room, which no packed folder has.
  init?(keeping previous: Manifest, of items: [LayoutItem]) {
    self.items = items
    offsets = Array(repeating: nil, count: items.count)
    var former: [PackagePath: (item: LayoutItem, data: UInt64)] = [:]
    for file in previous.files { former[file.path] = (LayoutItem(file), UInt64(file.offset.rawValue)) }

    var claimed: Set<PackagePath> = []
    for (index, item) in items.enumerated() {
      guard let (old, data) = former[item.path] else { continue }
      guard data >= old.headerLength else { return nil }
      if item.holdsSameBytes(as: old) {
        claimed.insert(item.path)
        offsets[index] = data - item.headerLength
      } else {
        formerPlaces[item.path] = data - old.headerLength..<data + old.storedLength
      }
    }
    claimRenamed(previous, claimed)
    guard findGaps() else { return nil }
  }

  private mutating func claimRenamed(_ previous: Manifest, _ claimed: Set<PackagePath>) {
    var free: [SHA256Digest: [(item: LayoutItem, data: UInt64)]] = [:]
    for file in previous.files.sorted(by: { $0.offset > $1.offset }) where !claimed.contains(file.path) {
      free[file.digest, default: []].append((LayoutItem(file), UInt64(file.offset.rawValue)))
    }
    for (index, item) in items.enumerated() where offsets[index] == nil && item.storedLength > 0 {
      // The lowest is last.
      guard let (old, data) = free[item.digest]?.last, item.holdsSameBytes(as: old),
        item.headerLength <= old.headerLength, old.headerLength <= data
      else { continue }
      free[item.digest]?.removeLast()
      offsets[index] = data - item.headerLength
    }
  }

  /// False when two of the kept overlap.
  private mutating func findGaps() -> Bool {
    var position: UInt64 = 0
    for extent in extents() {
      guard extent.lowerBound >= position else { return false }
      if extent.lowerBound > position { gaps.append(position..<extent.lowerBound) }
      position = extent.upperBound
    }
    end = position
    return true
  }

  private func extents() -> [Range<UInt64>] {
    offsets.enumerated().compactMap { index, offset in
      offset.map { $0..<$0 + items[index].entryLength }
    }.sorted { $0.lowerBound < $1.lowerBound }
  }

  /// Gives the item the place where the file stood before, or the first gap that holds it, or the end. A small file takes
  /// no gap but its own.
  mutating func place(_ index: Int) {
    let item = items[index]
    let length = item.entryLength
    let own = formerPlaces[item.path].flatMap { place in
      gaps.firstIndex { $0.overlaps(place) && $0.count >= length }
    }
    let any =
      item.length < PackageLayout.smallFileLength ? nil : gaps.firstIndex { $0.count >= length }
    guard let gap = own ?? any else {
      offsets[index] = end
      end += length
      return
    }
    let start = gaps[gap].lowerBound
    offsets[index] = start
    gaps[gap] = start + length..<gaps[gap].upperBound
    if gaps[gap].isEmpty { gaps.remove(at: gap) }
  }

  /// A package starts with an entry: what stands first of all, so that tools know it by its first bytes. Moves the last
  /// entry there that fits; false when none does.
  mutating func fillFront() -> Bool {
    guard let front = gaps.first, front.lowerBound == 0 else { return true }
    let candidates = offsets.indices.filter { items[$0].entryLength <= front.count }
    guard let index = candidates.max(by: { (offsets[$0] ?? 0) < (offsets[$1] ?? 0) }) else { return false }
    offsets[index] = 0
    gaps = []
    return findGaps()
  }

  /// Bytes that belong to nothing.
  var padding: UInt64 { gaps.reduce(0) { $0 + UInt64($1.count) } }
}
