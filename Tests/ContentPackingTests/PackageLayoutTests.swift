import CoreTypes
import Crypto
import PackageTesting
import Testing

@testable import ContentPackage
@testable import ContentPacking

@Suite("Layout of packages")
struct PackageLayoutTests {
  private func item(_ path: String, _ length: UInt64, _ content: String? = nil) throws -> LayoutItem {
    LayoutItem(
      path: try PackagePath(path), method: .stored, storedLength: length, length: length,
      digest: .of(Array("\(content ?? path) \(length)".utf8)))
  }

  /// A manifest of a package with that layout.
  private func manifest(_ items: [LayoutItem], _ layout: PackageLayout) throws -> Manifest {
    var draft = try makeDraft()
    draft.files = layout.placements.map { placement in
      let item = items[placement.item]
      return ManifestFile(
        path: item.path, offset: ByteCount(placement.offset + item.headerLength),
        storedLength: ByteCount(item.storedLength), length: ByteCount(item.length), method: item.method,
        digest: item.digest)
    }.sorted { $0.path < $1.path }
    draft.length = ByteCount(layout.end + 1000)
    draft.unpackedLength = draft.files.reduce(.zero) { $0 + $1.length }
    draft.pieces = (0..<PieceLayout(packageLength: draft.length).count).map { .of([UInt8($0 % 256)]) }
    return try Manifest(draft, limits: .standard)
  }

  /// "path@offset" in the order of the package.
  private func places(_ items: [LayoutItem], _ layout: PackageLayout) -> [String] {
    layout.placements.map { "\(items[$0.item].path)@\($0.offset)" }
  }

  private let large: UInt64 = 100_000

  @Test("without a version before, files stand by path, small ones behind the others, without a gap")
  func fresh() throws {
    let items = [
      try item("a.txt", 10), try item("b.jpg", large), try item("c.jpg", 65_536), try item("d.jpg", 65_535),
    ]
    let layout = PackageLayout(of: items)
    // A header has 30 bytes and the five of the path.
    #expect(places(items, layout) == ["b.jpg@0", "c.jpg@100035", "a.txt@165606", "d.jpg@165651"])
    #expect(layout.end == 231_221)
  }

  @Test("the same files keep the layout they have")
  func same() throws {
    let items = [try item("a.jpg", large), try item("b.jpg", large), try item("c.txt", 10)]
    let layout = PackageLayout(of: items)
    #expect(PackageLayout(of: items, following: try manifest(items, layout)) == layout)
  }

  @Test("a file of the same length takes the place of the one before, a shorter one leaves zeros behind it")
  func inPlace() throws {
    var items = try (0..<9).map { try item("p\($0).jpg", large) }
    let before = try manifest(items, PackageLayout(of: items))
    items[3] = try item("p3.jpg", large, "changed")
    #expect(PackageLayout(of: items, following: before).placements == PackageLayout(of: items).placements)
    items[3] = try item("p3.jpg", large - 1, "changed")
    #expect(
      PackageLayout(of: items, following: before).placements
        == PackageLayout(of: try (0..<9).map { try item("p\($0).jpg", large) }).placements)
  }

  @Test("a longer file goes to the end, and the next one that fits takes the room")
  func longer() throws {
    var items = try (0..<20).map { try item("p\($0 + 10).jpg", large) }
    let before = try manifest(items, PackageLayout(of: items))
    let slot = large + 37
    items[3] = try item("p13.jpg", large + 5, "longer")
    let layout = PackageLayout(of: items, following: before)
    #expect(layout.placements.last == .init(item: 3, offset: 20 * slot))
    #expect(layout.placements.count == 20)
    let after = try manifest(items, layout)
    items.append(try item("p30.jpg", large - 7))
    let next = PackageLayout(of: items, following: after)
    #expect(next.placements.first { $0.item == 20 }?.offset == 3 * slot)
    #expect(next.end == layout.end)
  }

  @Test("a file under another name of the same length keeps the place of its bytes")
  func renamed() throws {
    var items = try (0..<9).map { try item("p\($0).jpg", large, "page \($0)") }
    let layout = PackageLayout(of: items)
    let before = try manifest(items, layout)
    items = try (0..<9).map { try item("q\($0).jpg", large, "page \($0)") }
    #expect(PackageLayout(of: items, following: before) == layout)
  }

  @Test("a page inserted in front moves none of the others")
  func inserted() throws {
    let items = try (1...9).map { try item("p\($0).jpg", large) }
    let before = try manifest(items, PackageLayout(of: items))
    let more = [try item("p0.jpg", large)] + items
    let layout = PackageLayout(of: more, following: before)
    #expect(layout.placements.last == .init(item: 0, offset: PackageLayout(of: items).end))
    for placement in layout.placements where placement.item > 0 {
      #expect(placement.offset == UInt64(placement.item - 1) * (large + 36))
    }
  }

  @Test("an entry stands first of all: where the first file has grown, the last that fits moves there")
  func front() throws {
    var items = try (0..<20).map { try item("p\($0 + 10).jpg", large) } + [try item("x.txt", 10)]
    let before = try manifest(items, PackageLayout(of: items))
    items[0] = try item("p10.jpg", large + 1, "longer")
    let layout = PackageLayout(of: items, following: before)
    #expect(layout.placements.first == .init(item: 20, offset: 0))
    #expect(layout.placements.contains { $0.item == 0 && $0.offset == 20 * (large + 37) + 45 })
  }

  @Test("too much that would belong to nothing, and the folder is laid out anew")
  func compaction() throws {
    var items = try (0..<4).map { try item("p\($0).jpg", large) }
    let before = try manifest(items, PackageLayout(of: items))
    items[1] = try item("p1.jpg", large + 1, "longer")
    #expect(PackageLayout(of: items, following: before) == PackageLayout(of: items))
    #expect(
      PackageLayout(of: [items[0], items[3]], following: before) == PackageLayout(of: [items[0], items[3]]))
  }

  @Test("a finished file before it, or a package that nobody laid out so, changes nothing")
  func unusable() throws {
    let items = [try item("a.jpg", large), try item("b.jpg", large)]
    var draft = try makeDraft()
    draft.files = [try makeFile("a.jpg", 0, Int(large))]
    draft.unpackedLength = ByteCount(large)
    let manifest = try Manifest(draft, limits: .standard)
    let same = [
      LayoutItem(manifest.files[0]), items[1],
    ]
    #expect(PackageLayout(of: same, following: manifest) == PackageLayout(of: same))
  }

  @Test(
    "whatever changes, no two entries overlap, none is lost, and the gaps stay within their bound",
    arguments: 1...12)
  func anyChange(_ seed: UInt64) throws {
    var state = seed
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    var items = try (0..<60).map {
      try item("p\($0).jpg", UInt64(next(3) == 0 ? next(5000) : 60_000 + next(65_000)))
    }
    var layout = PackageLayout(of: items)
    for round in 0..<12 {
      let before = try manifest(items, layout)
      for _ in 0..<next(4) {
        items[next(items.count)] = try item(
          "p\(next(80)).jpg", UInt64(60_000 + next(65_000)), "\(round) \(next(999))")
      }
      if next(3) == 0 { items.remove(at: next(items.count)) }
      if next(3) == 0 { items.append(try item("new\(round).jpg", UInt64(next(65_000)))) }
      var seen: Set<PackagePath> = []
      items = items.filter { seen.insert($0.path).inserted }.sorted { $0.path < $1.path }
      layout = PackageLayout(of: items, following: before)
      #expect(Set(layout.placements.map(\.item)) == Set(items.indices))
      var (position, padding) = (UInt64(0), UInt64(0))
      for placement in layout.placements {
        #expect(placement.offset >= position)
        padding += placement.offset - position
        position = placement.offset + items[placement.item].entryLength
      }
      #expect(layout.placements.first?.offset == 0)
      #expect(position == layout.end && padding <= layout.end / 8)
      #expect(PackageLayout(of: items, following: try manifest(items, layout)) == layout)
    }
  }
}
