import ContentPacking
import CoreTypes
import Files
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage

/// Packages with deflated files of many pieces.
@Suite("Inflating as the bytes come")
struct InflatingTests {
  /// A text that deflates to some pieces and a little more, behind a page.
  private struct Packed: Sendable {
    let manifest: Manifest
    let package: [UInt8]

    /// Each made once for all tests.
    static let short: Result<Packed, any Error> = Result { try Packed(pieces: 12) }
    static let long: Result<Packed, any Error> = Result { try Packed(pieces: 24) }

    private init(pieces: Int) throws {
      let folder = try Folder()
      try folder.write(noise(300_000, seed: 1), to: "a.jpg")
      try folder.write(prose((pieces << 20) * 4 / 3, seed: 2), to: "b.txt")
      let output = folder.directory.path("package")
      manifest = try Sample.builder.pack(folder: folder.path, to: output).manifest
      package = try contents(of: output)
    }
  }

  private struct Deflated {
    let folder: Folder
    let manifest: Manifest
    let package: [UInt8]

    init(_ packed: Result<Packed, any Error>) throws {
      folder = try Folder()
      manifest = try packed.get().manifest
      package = try packed.get().package
    }

    var path: String { folder.directory.path("staging") }

    func open() throws -> StagingArea { try StagingArea.open(at: path, manifest: manifest) }

    func piece(_ index: Int) throws -> VerifiedPiece {
      var piece = ReceivedPiece(index: index, layout: manifest.layout)
      let range = manifest.layout.range(of: index)
      _ = piece.append(Array(package[Int(range.lowerBound)..<Int(range.upperBound)]).span)
      return try VerifiedPiece(piece, of: manifest)
    }

    var spooled: Int {
      get throws { try FileSystem.list(path + "/spool").count { $0.name.hasPrefix("p") } }
    }

    func place(_ area: consuming StagingArea) throws {
      try area.finish().placeInNewFolder(at: folder.directory.path("placed"))
      #expect(try manifest.faults(at: folder.directory.path("placed")) == [])
    }
  }

  @Test("a file of any length needs a few pieces beside itself, not all of its stored bytes (D7)")
  func bounded() throws {
    let deflated = try Deflated(Packed.long)
    var area = try deflated.open()
    for index in deflated.manifest.pieces.indices {
      let isAccepted = area.accepts(index)
      #expect(isAccepted)
      try area.write(try deflated.piece(index))
      #expect(try deflated.spooled <= Spool.orderedPieces, "piece \(index)")
    }
    #expect(try deflated.spooled == 0)
    try deflated.place(area)
  }

  @Test("a process that ends in the middle of a long file leaves nothing to be fetched twice (D7, K3)")
  func checkpoints() throws {
    let deflated = try Deflated(Packed.short)
    for index in deflated.manifest.pieces.indices {
      var area = try deflated.open()
      #expect(area.pieces.missing.first == index)
      try area.write(try deflated.piece(index))
    }
    try deflated.place(try deflated.open())
  }

  @Test(
    "a checkpoint that is damaged, or whose file is, costs that file and no more",
    arguments: ["spool/c1", "tree/b.txt"])
  func damagedCheckpoint(_ name: String) throws {
    let deflated = try Deflated(Packed.short)
    let length = 10
    do {
      var area = try deflated.open()
      for index in 0..<length { try area.write(try deflated.piece(index)) }
    }
    let path = "\(deflated.path)/\(name)"
    #expect(try FileSystem.status(of: path) != nil)
    var bytes: [UInt8] = []
    let file = try FileDescriptor.open(path, .readWrite)
    try file.read(upTo: 1, at: ByteCount(20), into: &bytes)
    bytes[0] ^= 0x10
    try file.write(bytes.span, at: ByteCount(20))
    var area = try deflated.open()
    #expect(!area.pieces.isComplete)
    // The damage shows once the file is inflated to its end; then the file's pieces are asked for once more.
    for _ in 0..<2 {
      for index in area.pieces.missing {
        try area.write(try deflated.piece(index))
      }
    }
    try deflated.place(area)
  }

  @Test("pieces that come before their turn wait in at most 16 MiB, and the missing one is asked for (D7)")
  func outOfOrder() throws {
    let deflated = try Deflated(Packed.long)
    var area = try deflated.open()
    var refused: [Int] = []
    for index in deflated.manifest.pieces.indices where index != 2 {
      guard area.accepts(index) else {
        refused.append(index)
        continue
      }
      try area.write(try deflated.piece(index))
    }
    #expect(try !refused.isEmpty && deflated.spooled <= Spool.pieceLimit)
    let isAccepted = area.accepts(2)
    #expect(isAccepted)
    for index in area.pieces.missing {
      let isAccepted = area.accepts(index)
      #expect(isAccepted)
      try area.write(try deflated.piece(index))
      #expect(try deflated.spooled <= Spool.pieceLimit)
    }
    try deflated.place(area)
  }
}
