import Commerce
import CoreTypes
import Crypto
import Files
import Foundation
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage
@testable import ContentPacking

/// Documents and archives that strangers send, with random bytes changed: whatever they become, they are read to an end, and
/// refused with listed faults where they are refused.
@Suite("Changed bytes")
struct MutationTests {
  /// The same for the same seed (Knuth's MMIX generator).
  private struct Dice {
    var state: UInt64

    mutating func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }

    /// One to eight changes: a byte, a run that is cut or doubled, a 32-bit number of an edge.
    mutating func mutate(_ bytes: [UInt8]) -> [UInt8] {
      var bytes = bytes
      for _ in 0...next(8) where bytes.count > 8 {
        let place = next(bytes.count - 4)
        let end = min(bytes.count, place + 1 + next(40))
        switch next(6) {
        case 0, 1: bytes[place] ^= 1 << UInt8(next(8))
        case 2: bytes[place] = UInt8(next(256))
        case 3: bytes.removeSubrange(place..<end)
        case 4: bytes.insert(contentsOf: bytes[place..<end], at: next(bytes.count))
        default:
          let edges: [UInt32] = [0, 1, 0x7FFF_FFFF, 0x8000_0000, .max, UInt32(bytes.count)]
          let number = edges[next(edges.count)]
          for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: number >> UInt32(8 * index)) }
        }
      }
      return bytes
    }
  }

  private static let rounds = 400

  @Test("a manifest", arguments: [1, 2, 3] as [UInt64])
  func manifest(_ seed: UInt64) throws {
    var dice = Dice(state: seed)
    let good = try makeManifest().canonicalBytes()
    for _ in 0..<Self.rounds {
      let bytes = dice.mutate(good)
      do {
        let manifest = try UnverifiedManifest(bytes).proposed()
        // A manifest that was read is canonical: it is written as it was.
        #expect(manifest.canonicalBytes() == bytes)
      } catch {
        #expect(!error.faults.isEmpty)
      }
    }
  }

  @Test("a package, by our own rules and by those of finished files", arguments: [4, 5, 6] as [UInt64])
  func package(_ seed: UInt64) throws {
    var dice = Dice(state: seed)
    let folder = try Folder()
    for page in 0..<4 { try folder.write(jpeg(page, length: 300), to: "p\(page).jpg") }
    try folder.write(String(repeating: "word ", count: 60), to: "a.txt")
    let output = folder.directory.path("package")
    let manifest = try Sample.builder.pack(folder: folder.path, to: output).manifest
    let good = try contents(of: output)
    for _ in 0..<Self.rounds {
      let bytes = dice.mutate(good)
      try DurableFile.write(bytes.span, to: output)
      let file = try FileDescriptor.open(output, .readOnly)
      let finished = try SingleFileInspection(
        file, name: "a.cbz", length: ByteCount(bytes.count), limits: .standard)
      #expect(finished.faults.allSatisfy { !$0.detail.isEmpty })
      let faults = try PackageInspector().faults(
        in: file,
        received: ReceivedPackage(
          length: manifest.length, digest: manifest.digest, pieces: manifest.pieces), against: manifest)
      #expect(bytes == good || !faults.isEmpty)
    }
  }

  @Test("comic books in tar and 7z archives", arguments: [10, 11, 12] as [UInt64])
  func otherArchives(_ seed: UInt64) throws {
    var dice = Dice(state: seed)
    let folder = try Folder()
    let entries = (1...3).map { (name: "p\($0).jpg", content: jpeg($0)) }
    for good in [TarMaker.bytes(entries), SevenZipMaker.bytes(entries)] {
      for _ in 0..<Self.rounds / 4 {
        let bytes = dice.mutate(good)
        try folder.write(bytes, to: "issue")
        let file = try FileDescriptor.open("\(folder.path)/issue", .readOnly)
        let found = try SingleFileInspection(
          file, name: "issue.cb7", length: ByteCount(bytes.count), limits: .standard)
        #expect((found.metadata.pageCount ?? 0) <= 3)
      }
    }
  }

  @Test("property lists and package documents", arguments: [7, 8, 9] as [UInt64])
  func documents(_ seed: UInt64) throws {
    var dice = Dice(state: seed)
    let members: [String: Any] = [
      "ContentVersion": "1.0", "IAPProductIdentifier": "a.b", "List": [1, ["x"]], "Data": Data([1, 2, 3]),
    ]
    let lists = try [PropertyListSerialization.PropertyListFormat.xml, .binary].map {
      Array(try PropertyListSerialization.data(fromPropertyList: members, format: $0, options: 0))
    }
    let opf = Array(
      """
      <package><metadata><title>T</title></metadata><manifest><item id="a" href="b%20c.xhtml"/></manifest>
      <spine><itemref idref="a"/></spine></package>
      """.utf8)
    let container = Array(
      "<container><rootfiles><rootfile full-path=\"x/p.opf\"/></rootfiles></container>".utf8)
    let comic = Array("<ComicInfo><Title>T</Title><Pages><Page Image=\"1\"/></Pages></ComicInfo>".utf8)
    let metron = Array(
      "<MetronInfo><Series lang=\"en\"><Name>S</Name></Series><Stories><Story>T</Story></Stories></MetronInfo>"
        .utf8)
    for _ in 0..<Self.rounds {
      for list in lists {
        do {
          let info = try HostedContentInfo(dice.mutate(list))
          #expect(!info.product.description.isEmpty)
        } catch {
          #expect(!error.faults.isEmpty)
        }
      }
      let (first, second) = (dice.mutate(container), dice.mutate(opf))
      let publication = EPUBMetadata.read {
        $0 == EPUBMetadata.containerPath ? first : second
      }
      #expect(publication.map { $0.readingOrder.count <= 8 } ?? true)
      _ = ComicInfoReader.read(dice.mutate(comic))
      _ = MetronInfoReader.read(dice.mutate(metron))
    }
  }

  private func makeManifest() throws -> Manifest {
    var draft = try makeDraft()
    draft.title = "A \"title\" é"
    draft.pageCount = 2
    draft.cover = try PackagePath("a.jpg")
    draft.readingOrder = [try PackagePath("b.jpg"), try PackagePath("a.jpg")]
    return try Manifest(draft, limits: .standard)
  }
}
