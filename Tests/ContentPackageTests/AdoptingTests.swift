import ContentPacking
import CoreTypes
import Crypto
import Files
import Glibc
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage

/// An issue, placed, and a corrected version of it that takes over what did not change.
@Suite("Taking over from an older version")
struct AdoptingTests {
  private struct Versions {
    let folder: Folder
    let older: Manifest
    let newer: Manifest
    let package: [UInt8]
    var placed: String { folder.directory.path("placed") }
    var area: String { folder.directory.path("area") }

    init(_ change: (Folder) throws -> Void) throws {
      folder = try Folder()
      for page in 1...6 { try folder.write(noise(700_000, seed: UInt64(page)), to: "p\(page).jpg") }
      try folder.write(prose(90_000, seed: 9), to: "text/story.txt")
      try folder.write([], to: "empty.jpg")
      older = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("older")).manifest
      #expect(try Tool.run("cp", "-r", folder.path, folder.directory.path("placed")).status == 0)
      try change(folder)
      let output = folder.directory.path("newer")
      newer = try Sample.builder.pack(folder: folder.path, to: output, following: older).manifest
      package = try contents(of: output)
    }

    func fetch(_ count: Int = .max, into area: inout StagingArea) throws -> [Int] {
      let missing = area.pieces.missing.prefix(count)
      for index in missing {
        var piece = ReceivedPiece(index: index, layout: newer.layout)
        let range = newer.layout.range(of: index)
        let bytes = Array(package[Int(range.lowerBound)..<Int(range.upperBound)])
        _ = piece.append(bytes.span)
        try area.write(try VerifiedPiece(piece, of: newer))
      }
      return Array(missing)
    }

    func place(_ area: consuming StagingArea) throws {
      try area.finish().placeInNewFolder(at: folder.directory.path("library/next"))
      #expect(try newer.faults(at: folder.directory.path("library/next")) == [])
    }
  }

  @Test("exactly the pieces of the difference are missing, and what is placed is the newer version")
  func difference() throws {
    let versions = try Versions { try $0.write(noise(650_000, seed: 77), to: "p3.jpg") }
    var area = try StagingArea.open(at: versions.area, manifest: versions.newer)
    let kept = try area.adopt(from: versions.older, at: versions.placed)
    let difference = VersionDifference(from: versions.older, to: versions.newer)
    #expect(kept == difference.keptLength && kept > .mebibytes(2))
    #expect(try versions.fetch(into: &area) == difference.neededPieces)
    try versions.place(area)
  }

  @Test("a renamed file is taken over, a missing or damaged one is fetched")
  func renamed() throws {
    let versions = try Versions { folder in
      try FileSystem.rename("\(folder.path)/p1.jpg", to: "\(folder.path)/q1.jpg")
    }
    try FileDescriptor.open("\(versions.placed)/p2.jpg", .writeOnly).write([1].span, at: ByteCount(5000))
    try FileSystem.removeFile("\(versions.placed)/p4.jpg")
    var area = try StagingArea.open(at: versions.area, manifest: versions.newer)
    _ = try area.adopt(from: versions.older, at: versions.placed)
    let plan = UnpackPlan(versions.newer)
    let lost = versions.newer.files.indices.filter {
      ["p2.jpg", "p4.jpg"].contains(versions.newer.files[$0].path.text)
    }
    #expect(Set(try versions.fetch(into: &area)) == Set(lost.flatMap { plan.pieces(of: $0) }))
    try versions.place(area)
    // The damaged file of the older version was not written to.
    #expect(try contents(of: "\(versions.placed)/p2.jpg")[5000] == 1)
  }

  @Test("taking over after some pieces were fetched keeps those, though the older file is damaged")
  func late() throws {
    let versions = try Versions { try $0.write(noise(650_000, seed: 77), to: "p6.jpg") }
    for page in 1...3 {
      try FileDescriptor.open("\(versions.placed)/p\(page).jpg", .writeOnly)
        .write([1].span, at: ByteCount(5000))
    }
    var area = try StagingArea.open(at: versions.area, manifest: versions.newer)
    let fetched = try versions.fetch(2, into: &area)
    #expect(try area.adopt(from: versions.older, at: versions.placed) > .zero)
    #expect(try Set(versions.fetch(into: &area)).isDisjoint(with: fetched))
    try versions.place(area)
  }

  @Test("an area that is opened again keeps what was taken over")
  func reopened() throws {
    let versions = try Versions { try $0.write(noise(650_000, seed: 77), to: "p3.jpg") }
    let pieces: PieceMap
    do {
      var area = try StagingArea.open(at: versions.area, manifest: versions.newer)
      _ = try area.adopt(from: versions.older, at: versions.placed)
      pieces = area.pieces
    }
    var area = try StagingArea.open(at: versions.area, manifest: versions.newer)
    #expect(area.pieces == pieces)
    _ = try versions.fetch(into: &area)
    try versions.place(area)
  }

  @Test(
    "files are shared as clones, else as links, else copied, and fetched where no room is left for a copy (D3, R7, R23)",
    arguments: [[], [FileCall.clone], [.clone, .link]])
  func ways(_ refused: [FileCall]) throws {
    let versions = try Versions { try $0.write(noise(650_000, seed: 77), to: "p3.jpg") }
    let operations = FaultyFileOperations()
    operations.answer { call, _ in refused.contains(call) ? EPERM : nil }
    let difference = VersionDifference(from: versions.older, to: versions.newer)
    do {
      var area = try StagingArea.open(at: versions.area, manifest: versions.newer, operations: operations)
      let kept = try area.adopt(
        from: versions.older, at: versions.placed, room: refused.contains(.link) ? .zero : .gibibytes(1))
      #expect(kept == (refused.contains(.link) ? .zero : difference.keptLength))
      #expect(try area.adopt(from: versions.older, at: versions.placed) + kept == difference.keptLength)
      #expect(try versions.fetch(into: &area) == difference.neededPieces)
      try versions.place(area)
    }
    let old = try #require(try FileSystem.status(of: "\(versions.placed)/p1.jpg"))
    let new = try #require(try FileSystem.status(of: versions.folder.directory.path("library/next/p1.jpg")))
    if refused.contains(.link) { #expect(old.inode != new.inode) }
    #expect(new.permissions == 0o444 || old.inode == new.inode)
  }

  @Test("a file that was changed by its older name after it was linked is found; the others are not read")
  func changedAfterLinking() throws {
    let versions = try Versions { try $0.write(noise(650_000, seed: 77), to: "p3.jpg") }
    let operations = FaultyFileOperations()
    operations.answer { call, _ in call == .clone ? EPERM : nil }
    let older = try FileDescriptor.open("\(versions.placed)/p1.jpg", .writeOnly)
    let target = versions.folder.directory.path("library/next")
    do {
      var area = try StagingArea.open(at: versions.area, manifest: versions.newer, operations: operations)
      _ = try area.adopt(from: versions.older, at: versions.placed)
      _ = try versions.fetch(into: &area)
      let change: [UInt8] = [1, 2, 3, 4]
      try older.write(change.span, at: ByteCount(5000))
      try area.finish().placeInNewFolder(at: target)
    }
    let check = ContentCheck(versions.newer, at: target)
    let now = Timestamp(millisecondsSinceEpoch: 0)
    #expect(try check.run(.lengths, now: now).isWhole)
    let finding = try check.run(.written(shared: []), now: now)
    #expect(finding.faults == [ContentCheck.Fault(path: "p1.jpg", .damaged)])
    // The file that was fetched has one name.
    #expect(finding.bytesRead > .zero)
    #expect(finding.bytesRead + ByteCount(650_000) <= versions.newer.unpackedLength)

    // Taken over again, it is found before anything is linked.
    var again = try StagingArea.open(at: versions.area, manifest: versions.newer, operations: operations)
    _ = try again.adopt(from: versions.older, at: versions.placed)
    let fetched = try versions.fetch(into: &again)
    #expect(!fetched.isEmpty)
    try FileSystem.removeRecursively(target)
    try versions.place(again)
  }

  @Test(
    "a file that was changed by an older name that is gone by now is found, also by the process after",
    arguments: [false, true])
  func changedByNameThatIsGone(isResumed: Bool) throws {
    let versions = try Versions { try $0.write(noise(650_000, seed: 77), to: "p3.jpg") }
    let operations = FaultyFileOperations()
    operations.answer { call, _ in call == .clone ? EPERM : nil }
    let older = try FileDescriptor.open("\(versions.placed)/p1.jpg", .writeOnly)
    let target = versions.folder.directory.path("library/next")
    let shared: Set<Int>
    do {
      var area = try StagingArea.open(at: versions.area, manifest: versions.newer, operations: operations)
      _ = try area.adopt(from: versions.older, at: versions.placed)
      if isResumed { area = try StagingArea.open(at: versions.area, manifest: versions.newer) }
      _ = try versions.fetch(into: &area)
      let change: [UInt8] = [1, 2, 3, 4]
      try older.write(change.span, at: ByteCount(5000))
      try FileSystem.removeRecursively(versions.placed)
      let content = try area.finish()
      shared = content.shared
      try content.placeInNewFolder(at: target)
    }
    let paths = Set(shared.map { versions.newer.files[$0].path.text })
    #expect(paths == ["p1.jpg", "p2.jpg", "p4.jpg", "p5.jpg", "p6.jpg", "text/story.txt"])
    let check = ContentCheck(versions.newer, at: target)
    let now = Timestamp(millisecondsSinceEpoch: 0)
    #expect(try check.run(.written(shared: []), now: now).isWhole, "the number of names says nothing")
    #expect(
      try check.run(.written(shared: shared), now: now).faults == [
        ContentCheck.Fault(path: "p1.jpg", .damaged)
      ])
  }

  @Test("a check asks for each file once, and opens those that it reads")
  func costOfCheck() throws {
    let versions = try Versions { _ in }
    let files = versions.older.files
    let operations = FaultyFileOperations()
    let check = ContentCheck(versions.older, at: versions.placed, operations: operations)
    let now = Timestamp(millisecondsSinceEpoch: 1 << 42)
    let folders = files.count { $0.path.segments.count > 1 }
    _ = try check.run(.written(shared: []), now: now)
    #expect(operations.steps.count { $0 == .status } == files.count)
    #expect(operations.steps.count { $0 == .open } == 1 + folders)
    let stamps = try check.run(.everything, now: now).stamps
    let before = operations.steps.count
    _ = try check.run(.changes(since: stamps), now: now)
    #expect(operations.steps.count - before == 1 + folders + files.count)
  }

  @Test("an older file that cannot be read is fetched", arguments: [FileCall.read, .open])
  func unreadable(_ call: FileCall) throws {
    let versions = try Versions { try $0.write(noise(650_000, seed: 77), to: "p3.jpg") }
    let operations = FaultyFileOperations()
    var area = try StagingArea.open(at: versions.area, manifest: versions.newer, operations: operations)
    operations.answer { asked, name in asked == call && (name.isEmpty || name == "p1.jpg") ? EIO : nil }
    _ = try? area.adopt(from: versions.older, at: versions.placed)
    operations.answer(nil)
    var again = try StagingArea.open(at: versions.area, manifest: versions.newer)
    _ = try versions.fetch(into: &again)
    try versions.place(again)
  }

  @Test("where there is nothing to take over, everything is missing")
  func nothing() throws {
    let versions = try Versions { try $0.write(noise(650_000, seed: 77), to: "p3.jpg") }
    var area = try StagingArea.open(at: versions.area, manifest: versions.newer)
    #expect(try area.adopt(from: versions.older, at: versions.folder.directory.path("nowhere")) == .zero)
    #expect(area.pieces.verifiedCount == 0)
  }

  @Test("of finished files, pieces are taken over")
  func singleFile() throws {
    let folder = try Folder()
    var bytes = noise(3 << 20, seed: 9)
    try folder.write(bytes, to: "issue.pdf")
    let older = try Sample.builder.describe(file: "\(folder.path)/issue.pdf").manifest
    try FileSystem.createDirectory(folder.directory.path("placed"))
    #expect(try Tool.run("cp", "\(folder.path)/issue.pdf", folder.directory.path("placed")).status == 0)
    bytes[1 << 20] ^= 1
    try folder.write(bytes, to: "issue.pdf")
    let newer = try Sample.builder.describe(file: "\(folder.path)/issue.pdf").manifest
    var area = try StagingArea.open(at: folder.directory.path("area"), manifest: newer)
    #expect(try area.adopt(from: older, at: folder.directory.path("placed")) == .mebibytes(2))
    #expect(area.pieces.missing == [1])
  }
}
