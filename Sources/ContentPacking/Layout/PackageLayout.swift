import Commerce
import ContentPackage
import CoreTypes
import Crypto

/// Where each file of a packed folder goes. Pure; docs/formats/package.md gives the rules. The same items and
/// the same previous manifest give the same layout.
struct PackageLayout: Hashable, Sendable {
  /// The place of one item.
  struct Placement: Hashable, Sendable {
    /// Index into the items.
    let item: Int
    /// Where its local header starts.
    let offset: UInt64
  }

  /// Files of fewer bytes stand behind the others: descriptions and the like, which change most and should not change
  /// what is around the pages.
  static let smallFileLength: UInt64 = 64 << 10
  /// The bytes that belong to nothing are at most this part of what stands in front of the central directory.
  static let paddingDivisor: UInt64 = 8

  /// In the order of their offsets.
  let placements: [Placement]
  /// Where the central directory starts.
  let end: UInt64

  /// The order of files that have no place yet: those of no section, then each section's by tag, so that a section shares few pieces with
  /// others. Among these by path, the small ones behind the others.
  static func precedes(
    _ left: (path: PackagePath, length: UInt64, section: SectionTag?),
    _ right: (path: PackagePath, length: UInt64, section: SectionTag?)
  ) -> Bool {
    if left.section != right.section {
      guard let last = right.section else { return false }
      return left.section.map { $0 < last } ?? true
    }
    let (leftIsSmall, rightIsSmall) = (left.length < smallFileLength, right.length < smallFileLength)
    return leftIsSmall == rightIsSmall ? left.path < right.path : rightIsSmall
  }

  /// One behind the other, without a gap. The items are in the order of ``precedes(_:_:)`` then, whatever
  /// order they come in.
  init(of items: [LayoutItem]) {
    var position: UInt64 = 0
    var placements: [Placement] = []
    for index in Self.order(items) {
      placements.append(Placement(item: index, offset: position))
      position += items[index].entryLength
    }
    self.init(placements: placements, end: position)
  }

  /// Such that what is in `previous` too keeps its place and its bytes. As without `previous` where that is no packed
  /// folder, or too much would belong to nothing. First the unchanged files and renamed ones stay, then the
  /// others take free places; at last an entry is moved to the front if there is none.
  init(of items: [LayoutItem], following previous: Manifest) {
    guard previous.kind == .folder, var draft = PackageLayoutBuilder(keeping: previous, of: items) else {
      self.init(of: items)
      return
    }
    for index in Self.order(items) where draft.offsets[index] == nil { draft.place(index) }
    guard draft.fillFront(), draft.padding <= draft.end / Self.paddingDivisor else {
      self.init(of: items)
      return
    }
    let placements = draft.offsets.enumerated().compactMap { index, offset in
      offset.map { Placement(item: index, offset: $0) }
    }.sorted { $0.offset < $1.offset }
    self.init(placements: placements, end: draft.end)
  }

  /// A layout that follows all rules already.
  private init(placements: [Placement], end: UInt64) {
    self.placements = placements
    self.end = end
  }

  /// Indices into the items.
  private static func order(_ items: [LayoutItem]) -> [Int] {
    items.indices.sorted {
      precedes(
        (items[$0].path, items[$0].length, items[$0].section),
        (items[$1].path, items[$1].length, items[$1].section))
    }
  }
}

/// A layout in the making: what is kept of a previous one, and the room between.
struct PackageLayoutBuilder {
  /// The items, whose indices ``offsets`` shares.
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

  /// Gives files that are new under their names the places of former files with the same bytes, the lowest
  /// first. Its header must not be longer, since the data stays where it is.
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

  /// False when two of the kept overlap. Sets the gaps and the end anew from the places that are taken.
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

  /// In ascending order: header and data of each item that has a place.
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
