/// Where each file of a packed folder goes. Pure; docs/formats/package.md gives the rules.
struct PackageLayout: Hashable, Sendable {
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

  /// The order of files that have no place yet: by path, the small ones behind the others.
  static func precedes(
    _ left: (path: PackagePath, length: UInt64), _ right: (path: PackagePath, length: UInt64)
  )
    -> Bool
  {
    let (leftIsSmall, rightIsSmall) = (left.length < smallFileLength, right.length < smallFileLength)
    return leftIsSmall == rightIsSmall ? left.path < right.path : rightIsSmall
  }

  /// One behind the other, without a gap.
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
  /// folder, or too much would belong to nothing.
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

  private init(placements: [Placement], end: UInt64) {
    self.placements = placements
    self.end = end
  }

  private static func order(_ items: [LayoutItem]) -> [Int] {
    items.indices.sorted {
      precedes((items[$0].path, items[$0].length), (items[$1].path, items[$1].length))
    }
  }
}
