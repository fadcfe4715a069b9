import CoreTypes
import Files
import Glibc
import PackageTesting
import PullboxTesting
import SystemCalls

@testable import ContentPackage

/// A staging area and a library of a test's own.
struct Staging {
  let directory: TemporaryDirectory
  let sample: Sample

  init() throws {
    directory = try TemporaryDirectory()
    sample = try Sample.shared.get()
  }

  var areaPath: String { directory.path("staging") }
  var placePath: String { directory.path("library/com.example.sample/1.0") }

  /// Opens the area as a process does that knows nothing of an earlier one.
  func open(_ operations: any FileOperations = SystemFileOperations()) throws -> StagingArea {
    try StagingArea.open(at: areaPath, manifest: sample.manifest, operations: operations)
  }

  /// Writes `indices`, in this order, into an area that is opened for it; answers the map.
  @discardableResult
  func write(_ indices: [Int]) throws -> PieceMap {
    var area = try open()
    for index in indices { try area.write(try sample.verifiedPiece(index)) }
    return area.pieces
  }

  /// Fetches what is missing, places it, and answers where the files differ from the source.
  func finish() throws -> [String] {
    var area = try open()
    for index in area.pieces.missing { try area.write(try sample.verifiedPiece(index)) }
    try area.finish().placeInNewFolder(at: placePath)
    return try differences(in: placePath)
  }

  /// The sample's files that are not in `path` as they were packed, and anything else that is there.
  func differences(in path: String) throws -> [String] {
    var differences: [String] = []
    for file in Sample.files where try !contents(of: "\(path)/\(file.path)").hasSameBytes(as: file.bytes) {
      differences.append(file.path)
    }
    let expected = Set(Sample.files.map(\.path))
    return differences + (try paths(in: path, prefix: "").filter { !expected.contains($0) })
  }

  private func paths(in path: String, prefix: String) throws -> [String] {
    try FileSystem.list(path).flatMap { entry in
      entry.kind == .directory
        ? try paths(in: "\(path)/\(entry.name)", prefix: "\(prefix)\(entry.name)/")
        : ["\(prefix)\(entry.name)"]
    }
  }
}

/// All orders of `elements`.
func permutations(_ elements: [Int]) -> [[Int]] {
  guard elements.count > 1 else { return [elements] }
  return elements.indices.flatMap { index in
    var rest = elements
    let first = rest.remove(at: index)
    return permutations(rest).map { [first] + $0 }
  }
}

extension PieceMap {
  var missing: [Int] { (0..<layout.count).filter { !isVerified($0) } }
  var present: [Int] { (0..<layout.count).filter { isVerified($0) } }
}

extension Manifest {
  /// The files at `path` that are not the manifest's.
  func faults(at path: String) throws -> [String] {
    try ContentCheck(self, at: path).run(.everything, now: Timestamp(millisecondsSinceEpoch: 0)).faults.map(
      \.path)
  }
}

extension StagedContent {
  /// Places it where the directory above may be missing.
  consuming func placeInNewFolder(at path: String) throws {
    try FileSystem.createDirectories(FileSystem.parent(of: path))
    try place(at: path)
  }
}
