import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Files
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

/// A library of a test's own, without an agent around it.
struct LibraryFixture {
  let directory: TemporaryDirectory
  let paths: StatePaths
  let database: AgentDatabase
  let library: Library
  let lines = Locked<[String]>([])

  static let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)

  /// With a library at `root`, which is a directory of its own unless given.
  init(
    root: String? = nil, isLooking: Bool = true, reserve: ByteCount = .mebibytes(32), quota: ByteCount? = nil,
    clock: any WallClock = SystemWallClock(), pauses: any MonotonicClock = SystemMonotonicClock(),
    operations: any FileOperations = SystemFileOperations()
  ) throws {
    directory = try TemporaryDirectory()
    paths = StatePaths(state: directory.path("state"), library: root ?? directory.path("library"))
    try FileSystem.createDirectories(paths.state)
    let log = Log(level: .warning, format: .json) { [lines] line in
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    database = try AgentDatabase(path: paths.database, log: log)
    library = Library(
      paths: paths, database: database, reserve: reserve, quota: quota, clock: clock, pauses: pauses,
      operations: operations, log: log)
    if isLooking { try #require(try library.look() == .online) }
  }

  func path(_ package: FixturePackage, _ file: String = "") -> String {
    let directory = library.directory(of: package.manifest.product, version: package.manifest.version)
    return file.isEmpty ? directory : "\(directory)/\(file)"
  }

  /// Places the package's files as a download does, long enough ago that their times say something: those of its sections that `manifest`
  /// speaks of, all unless given.
  @discardableResult
  func place(
    _ package: FixturePackage, by manifest: Manifest? = nil, at time: Timestamp = now
  ) async throws -> LibraryItem {
    let manifest = manifest ?? package.manifest
    let paths = Set(manifest.files.map(\.path.text))
    return try await library.place(manifest, at: time) { target in
      for (path, bytes) in package.files where paths.contains(path) {
        try FileSystem.createDirectories(FileSystem.parent(of: "\(target)/\(path)"))
        try DurableFile.write(bytes.span, to: "\(target)/\(path)")
      }
      return []
    }
  }

  func held(_ package: FixturePackage) async throws -> LibraryItem? {
    try await library.held(package.terms)
  }

  func flip(_ path: String, at offset: Int) throws {
    let file = try FileDescriptor.open(path, .readWrite)
    var bytes: [UInt8] = []
    try file.read(upTo: 1, at: ByteCount(offset), into: &bytes)
    bytes[0] ^= 1
    try file.write(bytes.span, at: ByteCount(offset))
  }
}
