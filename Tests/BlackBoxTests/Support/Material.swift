import CoreTypes
import Crypto
import Files
import PullboxTesting
import SystemCalls

/// Test packages of exact size.
enum Material {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private struct Recipe: Hashable {
    let length: Int64
    let seed: Int
  }

  /// The files of a mebibyte or less that were made so far: most tests want one of the same few.
  private static let made = Locked<[Recipe: [UInt8]]>([:])

  /// A single file (`.cbz`) of exactly that many bytes.
  static func file(_ name: String, length: Int64, seed: Int = 1, in directory: TemporaryDirectory)
    async throws -> String
  {
    let path = directory.path(name)
    let recipe = Recipe(length: length, seed: seed)
    if let bytes = made.current[recipe] {
      let file = try FileDescriptor.open(path, .writeOnly, options: [.create, .truncate])
      try file.write(bytes.span, at: .zero)
      return path
    }
    try await generate(["--size", "\(length)", "--seed", "\(seed)", path], in: directory)
    if length <= 1 << 20 {
      let bytes = try FileSystem.read(path, upTo: .mebibytes(1))
      made.withLock { $0[recipe] = bytes }
    }
    return path
  }

  /// A folder of images that together have that many bytes, with a product description.
  static func folder(
    _ name: String, product: String, length: Int64, images: Int, seed: Int = 1,
    in directory: TemporaryDirectory
  ) async throws -> String {
    let path = directory.path(name)
    try await generate(
      ["--size", "\(length)", "--files", "\(images)", "--seed", "\(seed)", "--product", product, path],
      in: directory)
    return path
  }

  private static func generate(_ arguments: [String], in directory: TemporaryDirectory) async throws {
    let outcome = try await Executables.run(
      "/usr/bin/python3", ["-B", Executables.root + "/content/generate", "package"] + arguments, in: directory
    )
    guard outcome.succeeded else { throw Failure(description: outcome.errors) }
  }

  /// Relative paths of the regular files below `path` with their bytes' digests; of a file, one entry with an empty path.
  static func digests(of path: String) throws -> [String: SHA256Digest] {
    var digests: [String: SHA256Digest] = [:]
    for file in try files(below: path) {
      digests[String(file.dropFirst(path.count + 1))] = try digest(ofFile: file)
    }
    return digests
  }

  /// The regular files below `path`, or `path` itself.
  static func files(below path: String) throws -> [String] {
    guard let status = try FileSystem.status(of: path) else {
      throw Failure(description: "\(path) is not there")
    }
    guard status.kind == .directory else { return [path] }
    return try FileSystem.list(path).flatMap { try files(below: "\(path)/\($0.name)") }
  }

  static func digest(ofFile path: String) throws -> SHA256Digest {
    let file = try FileDescriptor.open(path, .readOnly)
    var hasher = SHA256Hasher()
    var offset: Int64 = 0
    while true {
      var bytes: [UInt8] = []
      try file.read(upTo: 1 << 20, at: .init(offset), into: &bytes)
      guard !bytes.isEmpty else { return hasher.finalize() }
      hasher.update(bytes.span)
      offset += Int64(bytes.count)
    }
  }
}
