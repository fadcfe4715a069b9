import ContentPacking
import CoreTypes
import Files
import Glibc
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage

/// On file systems that are mounted for the purpose, where this process may.
@Suite("Staging on other file systems", .enabled(if: SmallDisk.isAvailable))
struct MountTests {
  private func write(_ sample: Sample, to area: inout StagingArea) throws {
    for index in area.pieces.missing {
      try area.write(try sample.verifiedPiece(index))
    }
  }

  @Test("tmpfs: a full disk stops it, and with room again it goes on with what is there (K1, D6)")
  func full() throws {
    let disk = try SmallDisk(.mebibytes(16))
    let sample = try Sample.shared.get()
    let written: Int
    do {
      var area = try StagingArea.open(at: disk.path("staging"), manifest: sample.manifest)
      try area.write(try sample.verifiedPiece(0))
      try disk.fill()
      var isFull = false
      do {
        try write(sample, to: &area)
      } catch let error as SystemError {
        isFull = error.isOutOfSpace
      }
      #expect(isFull)
      written = area.pieces.verifiedCount
    }
    try disk.clear()
    var area = try StagingArea.open(at: disk.path("staging"), manifest: sample.manifest)
    #expect(area.pieces.verifiedCount >= written && written >= 1)
    try write(sample, to: &area)
    try area.finish().placeInNewFolder(at: disk.path("library/1.0"))
    #expect(try sample.manifest.faults(at: disk.path("library/1.0")) == [])
    #expect(try FileSystem.status(of: disk.path("staging")) == nil)
  }

  @Test("a volume that is read-only for a while loses nothing (R11)") func readOnly() throws {
    let disk = try SmallDisk(.mebibytes(16))
    let sample = try Sample.shared.get()
    do {
      var area = try StagingArea.open(at: disk.path("staging"), manifest: sample.manifest)
      for index in 0..<3 { try area.write(try sample.verifiedPiece(index)) }
    }
    let path = disk.directory.path
    try SystemCall.run("mount") { unsafe mount(nil, path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) }
    let error = #expect(throws: SystemError.self) {
      _ = try StagingArea.open(at: disk.path("staging"), manifest: sample.manifest)
    }
    #expect(error?.number == EROFS)
    try SystemCall.run("mount") { unsafe mount(nil, path, nil, UInt(MS_REMOUNT), nil) }
    var area = try StagingArea.open(at: disk.path("staging"), manifest: sample.manifest)
    #expect(area.pieces.missing == [3])
    try write(sample, to: &area)
    try area.finish().placeInNewFolder(at: disk.path("library/1.0"))
    #expect(try sample.manifest.faults(at: disk.path("library/1.0")) == [])
  }

  @Test("overlay: staged and placed, and another version takes it over") func overlay() throws {
    let disk = try SmallDisk(.mebibytes(48))
    for name in ["lower", "upper", "work", "merged"] { try FileSystem.createDirectory(disk.path(name)) }
    let options = "lowerdir=\(disk.path("lower")),upperdir=\(disk.path("upper")),workdir=\(disk.path("work"))"
    let merged = disk.path("merged")
    try SystemCall.run("mount", subject: merged) { unsafe mount("overlay", merged, "overlay", 0, options) }
    defer { _ = unsafe umount2(merged, Int32(MNT_DETACH)) }
    let sample = try Sample.shared.get()
    var area = try StagingArea.open(at: merged + "/staging", manifest: sample.manifest)
    try write(sample, to: &area)
    try area.finish().placeInNewFolder(at: merged + "/library/1.0")
    #expect(try sample.manifest.faults(at: merged + "/library/1.0") == [])
    var next = try StagingArea.open(at: merged + "/staging", manifest: sample.manifest)
    #expect(try next.adopt(from: sample.manifest, at: merged + "/library/1.0") > .mebibytes(3))
    try write(sample, to: &next)
    try next.finish().placeInNewFolder(at: merged + "/library/1.1")
    #expect(try sample.manifest.faults(at: merged + "/library/1.1") == [])
  }

  @Test(
    "exFAT: staged and placed, gone on with after the medium was away, and taken over by another version (D3)",
    .enabled(if: FormattedDisk.Kind.exFAT.isAvailable))
  func exFAT() async throws {
    let disk = try await FormattedDisk(.exFAT)
    let sample = try Sample.shared.get()
    do {
      var area = try StagingArea.open(at: disk.path("staging"), manifest: sample.manifest)
      for index in 0..<2 { try area.write(try sample.verifiedPiece(index)) }
    }
    try await disk.remount()
    var area = try StagingArea.open(at: disk.path("staging"), manifest: sample.manifest)
    #expect(area.pieces.verifiedCount == 2)
    try write(sample, to: &area)
    try FileSystem.createDirectory(disk.path("library"))
    try area.finish().placeInNewFolder(at: disk.path("library/1.0"))
    #expect(try sample.manifest.faults(at: disk.path("library/1.0")) == [])
    var next = try StagingArea.open(at: disk.path("staging"), manifest: sample.manifest)
    let free = ByteCount.mebibytes(32)
    #expect(try next.adopt(from: sample.manifest, at: disk.path("library/1.0"), room: free) > .mebibytes(3))
    try write(sample, to: &next)
    try next.finish().placeInNewFolder(at: disk.path("library/1.1"))
    #expect(try sample.manifest.faults(at: disk.path("library/1.1")) == [])
    #expect(try FileSystem.list(disk.mountPoint).map(\.name) == ["library"])
  }
}
