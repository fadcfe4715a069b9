import ContentPackage
import CoreTypes
import Files
import Glibc
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPacking

/// A source that is written to while it is read gives no package: half a file is none.
@Suite("Sources that are still being written")
struct ChangingSourceTests {
  private func append(to path: String) throws {
    let file = try FileDescriptor.open(path, .writeOnly)
    try file.write([UInt8](repeating: 7, count: 1000).span, at: try file.status().length)
  }

  /// Packs `folder`, and appends to `name` when so many bytes are done.
  private func codes(
    _ folder: Folder, appendingTo name: String, after count: Int64, following previous: Manifest? = nil
  ) throws -> [PackageValidationIssue.Code] {
    var isDone = false
    return try refusalCodes {
      _ = try Sample.builder.pack(
        folder: folder.path, to: folder.directory.path("package"), following: previous
      ) { done, _ in
        guard !isDone, done.rawValue >= count else { return }
        isDone = true
        do { try append(to: "\(folder.path)/\(name)") } catch { Issue.record(error) }
      }
    }
  }

  private func folder() throws -> Folder {
    let folder = try Folder()
    try folder.write(noise(200_000, seed: 1), to: "a.jpg")
    // Too long for memory: it is read in passes.
    try folder.write(noise(9 << 20, seed: 2), to: "b.jpg")
    try folder.write(noise(200_000, seed: 3), to: "c.jpg")
    return folder
  }

  @Test(
    "one that grows while it is read, before it is read, or after, is refused (K11)",
    arguments: ["a.jpg", "b.jpg", "c.jpg"])
  func growing(name: String) throws {
    #expect(try codes(try folder(), appendingTo: name, after: 300_000) == [.changedWhilePacking])
  }

  @Test(
    "so is one that grows between the two readings of a correction, or when all is read",
    arguments: [1, 9_800_000])
  func correction(count: Int64) throws {
    let folder = try folder()
    let older = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("older")).manifest
    #expect(
      try codes(folder, appendingTo: "a.jpg", after: count, following: older) == [.changedWhilePacking])
    #expect(try FileSystem.status(of: folder.directory.path("package")) == nil)
  }

  @Test("a single file that grows while it is read is refused (K11)")
  func singleFile() throws {
    let folder = try Folder()
    try folder.write(Array("%PDF-1.7\n".utf8) + noise(3 << 20, seed: 9), to: "issue.pdf")
    let path = "\(folder.path)/issue.pdf"
    var isDone = false
    let codes = try refusalCodes {
      _ = try Sample.builder.describe(file: path) { _, _ in
        guard !isDone else { return }
        isDone = true
        do { try append(to: path) } catch { Issue.record(error) }
      }
    }
    #expect(codes == [.changedWhilePacking])
  }
}
