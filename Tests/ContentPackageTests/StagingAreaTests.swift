import ContentPacking
import CoreTypes
import Crypto
import Dispatch
import Files
import Glibc
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage

@Suite("Staging and placing")
struct StagingAreaTests {
  @Test("all orders of the pieces give the same files")
  func orders() throws {
    let count = try Sample.shared.get().manifest.pieces.count
    #expect(count == 4)
    for order in permutations(Array(0..<count)) {
      let staging = try Staging()
      let pieces = try staging.write(order)
      #expect(pieces.isComplete)
      #expect(try staging.finish() == [], "\(order)")
    }
  }

  @Test("pieces that are begun are written in their order, two at a time, and count once they are")
  func begun() throws {
    let staging = try Staging()
    var area = try staging.open()
    var finished: [Int] = []
    for index in 0..<4 {
      finished += try area.begin(try staging.sample.verifiedPiece(index)).map(\.index)
      #expect(finished == Array(0..<finished.count))
      #expect(area.pieces.verifiedCount == finished.count)
      #expect(finished.count >= index - 1)
    }
    // One that is being written is not begun again.
    finished += try area.begin(try staging.sample.verifiedPiece(3)).map(\.index)
    #expect(Set(finished) == [0, 1, 2, 3])
    #expect(try area.finishWrites().isEmpty)
    try area.finish().placeInNewFolder(at: staging.placePath)
    #expect(try staging.differences(in: staging.placePath) == [])
  }

  @Test("after a write that failed nothing is being written, and what is there by then is found")
  func failedInProgress() throws {
    let staging = try Staging()
    let operations = FaultyFileOperations()
    do {
      var area = try staging.open(operations)
      let writes = Locked(0)
      operations.answer { call, _ in
        guard call == .write else { return nil }
        return writes.withLock { writes in
          writes += 1
          return writes == 3 ? EIO : nil
        }
      }
      #expect(throws: SystemError.self) {
        for index in 0..<4 { _ = try area.begin(try staging.sample.verifiedPiece(index)) }
        _ = try area.finishWrites()
      }
      let steps = operations.steps.count
      #expect(try area.finishWrites().isEmpty)
      #expect(operations.steps.count == steps)
    }
    operations.answer(nil)
    let there = try staging.write([0, 1, 2, 3])
    #expect(there.isComplete)
    #expect(try staging.finish() == [])
  }

  @Test("placed files are 0444, folders 0755, whatever the umask, and nothing of the staging is left")
  func permissions() async {
    // The umask belongs to the process: one that no other test runs in.
    await #expect(processExitsWith: .success) {
      let staging = try Staging()
      umask(0o077)
      #expect(try staging.finish() == [])
      for (path, permissions) in [
        ("001.jpg", 0o444), ("story.txt", 0o444), ("empty.jpg", 0o444), ("chapter", 0o755),
        ("chapter/deep/er", 0o755), ("", 0o755),
      ] as [(String, UInt32)] {
        #expect(
          try FileSystem.status(of: "\(staging.placePath)/\(path)")?.permissions == permissions, "\(path)")
      }
      #expect(try FileSystem.status(of: staging.areaPath) == nil)
    }
  }

  @Test("nothing is overwritten: a place that is taken stays as it is, and the content stays staged")
  func taken() throws {
    let staging = try Staging()
    try FileSystem.createDirectories(staging.placePath)
    let file = try FileDescriptor.open("\(staging.placePath)/mine", .writeOnly, options: .create)
    try file.write([1].span, at: .zero)
    try staging.write([0, 1, 2, 3])
    let error = try #require(throws: SystemError.self) {
      _ = try staging.open().finish().placeInNewFolder(at: staging.placePath)
    }
    #expect(error.isFileInTheWay)
    #expect(try contents(of: "\(staging.placePath)/mine") == [1])
    #expect(try staging.differences(in: "\(staging.areaPath)/tree") == [])
  }

  @Test("a finished file is placed under its name, byte by byte")
  func singleFile() throws {
    let folder = try Folder()
    let bytes = noise(2_500_000, seed: 9)
    try folder.write(bytes, to: "Issue 1.cbz")
    let manifest = try Sample.builder.describe(file: "\(folder.path)/Issue 1.cbz").manifest
    var area = try StagingArea.open(at: folder.directory.path("staging"), manifest: manifest)
    for index in [2, 0, 1] {
      var piece = ReceivedPiece(index: index, layout: manifest.layout)
      let range = manifest.layout.range(of: index)
      let part = Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
      _ = piece.append(part.span)
      try area.write(try VerifiedPiece(piece, of: manifest))
    }
    try area.finish().placeInNewFolder(at: folder.directory.path("library/issue"))
    #expect(try contents(of: folder.directory.path("library/issue/Issue 1.cbz")) == bytes)
  }

  @Test("bytes that do not unpack to the manifest's file are refused and never become visible")
  func lyingManifest() throws {
    let staging = try Staging()
    var draft = staging.sample.manifest.draft
    let index = try #require(
      draft.files.firstIndex { $0.path.text == "ComicInfo.xml" || $0.method == .deflated })
    let file = draft.files[index]
    draft.files[index] = ManifestFile(
      path: file.path, offset: file.offset, storedLength: file.storedLength, length: file.length,
      method: file.method, digest: .of([0]))
    let manifest = try Manifest(draft, limits: .standard)
    var area = try StagingArea.open(at: staging.areaPath, manifest: manifest)
    let plan = UnpackPlan(manifest)
    let pieces = Array(plan.pieces(of: index))
    for piece in pieces.dropLast() {
      try area.write(try VerifiedPiece(staging.sample.receivedPiece(piece), of: manifest))
    }
    let last = try VerifiedPiece(staging.sample.receivedPiece(try #require(pieces.last)), of: manifest)
    var codes: [PackageValidationIssue.Code] = []
    do {
      try area.write(last)
    } catch let refusal as PackageValidationError {
      codes = refusal.faults.map(\.code)
    }
    #expect(codes == [.fileDigestMismatch])
    #expect(!area.pieces.isVerified(last.index))
  }

  @Test("a link that somebody put into the staging area is not followed")
  func link() throws {
    let staging = try Staging()
    _ = try staging.open()
    let outside = staging.directory.path("outside")
    try FileSystem.createDirectory(outside)
    try SystemCall.run("symlink") { unsafe symlink(outside, "\(staging.areaPath)/tree/chapter") }
    var area = try staging.open()
    var failures = 0
    for index in 0..<4 {
      do {
        try area.write(try staging.sample.verifiedPiece(index))
      } catch is SystemError {
        failures += 1
      }
    }
    #expect(failures > 0)
    #expect(try FileSystem.list(outside).isEmpty)
  }

  @Test("thousands of small files need no more than 64 descriptors")
  func manyFiles() async {
    // Descriptors are counted for a process: one that no other test runs in.
    await #expect(processExitsWith: .success) {
      let folder = try Folder()
      for index in 0..<300 { try folder.write(noise(4000, seed: UInt64(index + 1)), to: "p\(index).jpg") }
      let output = folder.directory.path("package")
      let manifest = try Sample.builder.pack(folder: folder.path, to: output).manifest
      let package = try contents(of: output)
      let before = try FileSystem.list("/proc/self/fd").count
      var area = try StagingArea.open(at: folder.directory.path("staging"), manifest: manifest)
      for index in manifest.pieces.indices {
        var piece = ReceivedPiece(index: index, layout: manifest.layout)
        let range = manifest.layout.range(of: index)
        let part = Array(package[Int(range.lowerBound)..<Int(range.upperBound)])
        _ = piece.append(part.span)
        try area.write(try VerifiedPiece(piece, of: manifest))
      }
      #expect(try FileSystem.list("/proc/self/fd").count <= before + OpenFiles.limit)
      try area.finish().placeInNewFolder(at: folder.directory.path("placed"))
      #expect(try manifest.faults(at: folder.directory.path("placed")).isEmpty)
    }
  }

  /// Two pages of half a piece each, so that most pieces hold long parts of two files.
  private struct Pages {
    let folder: Folder
    let manifest: Manifest
    let package: [UInt8]

    init() throws {
      folder = try Folder()
      for page in 0..<4 { try folder.write(noise(700_001, seed: UInt64(page + 1)), to: "p\(page).jpg") }
      let output = folder.directory.path("package")
      manifest = try Sample.builder.pack(folder: folder.path, to: output).manifest
      package = try contents(of: output)
    }

    func piece(_ index: Int) throws -> VerifiedPiece {
      var piece = ReceivedPiece(index: index, layout: manifest.layout)
      let range = manifest.layout.range(of: index)
      _ = piece.append(Array(package[Int(range.lowerBound)..<Int(range.upperBound)]).span)
      return try VerifiedPiece(piece, of: manifest)
    }

    func open(_ operations: any FileOperations = SystemFileOperations()) throws -> StagingArea {
      try StagingArea.open(at: folder.directory.path("staging"), manifest: manifest, operations: operations)
    }
  }

  /// Holds the first long write until another one is under way.
  private final class MeetingWrites: FileOperations {
    private let system = SystemFileOperations()
    private let underWay = Locked(0)
    private let second = DispatchSemaphore(value: 0)
    let hasMet = Locked(false)

    func willMake(_ call: FileCall, of subject: String) {}

    func write(
      _ bytes: Span<UInt8>, to file: borrowing FileDescriptor, at offset: ByteCount
    ) throws(SystemError) {
      if bytes.count >= 128 << 10 {
        let isSecond = underWay.withLock { count in
          count += 1
          return count == 2
        }
        if isSecond { second.signal() }
        if !hasMet.current {
          let result = second.wait(timeout: .now() + .seconds(20))
          hasMet.withLock { $0 = $0 || result == .success }
          second.signal()
        }
      }
      try system.write(bytes, to: file, at: offset)
    }
  }

  @Test("long parts of two files in one piece are written at the same time")
  func twoAtOnce() throws {
    let pages = try Pages()
    let operations = MeetingWrites()
    var area = try pages.open(operations)
    try area.write(try pages.piece(0))
    #expect(operations.hasMet.current)
    for index in 1..<pages.manifest.pieces.count { try area.write(try pages.piece(index)) }
    let target = pages.folder.directory.path("library/pages")
    try area.finish().placeInNewFolder(at: target)
    #expect(try pages.manifest.faults(at: target) == [])
  }

  @Test(
    "whichever write of a piece fails, none is under way any more, and the piece does not count",
    arguments: 0..<8)
  func failingBesideAnother(write: Int) throws {
    let pages = try Pages()
    let operations = FaultyFileOperations()
    let writes = Locked(0)
    do {
      var area = try pages.open(operations)
      operations.answer { call, _ in
        guard call == .write else { return nil }
        return writes.withLock { writes in
          writes += 1
          return writes == write + 1 ? EIO : nil
        }
      }
      let error = #expect(throws: SystemError.self) {
        for index in 0..<pages.manifest.pieces.count { try area.write(try pages.piece(index)) }
      }
      #expect(error?.number == EIO)
      let made = operations.steps.count
      operations.answer(nil)
      var again = try pages.open()
      #expect(operations.steps.count == made)
      for index in again.pieces.missing { try again.write(try pages.piece(index)) }
      let target = pages.folder.directory.path("library/pages")
      try again.finish().placeInNewFolder(at: target)
      #expect(try pages.manifest.faults(at: target) == [])
    }
  }
}
