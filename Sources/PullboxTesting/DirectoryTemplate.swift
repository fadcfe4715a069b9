internal import CoreTypes
internal import Files
internal import SystemCalls

/// The files of a directory that takes long to make, such as one with a database or with keys. A process of tests makes it once, and
/// each test gets a copy. It is held in memory, so that nothing of it is left when the process ends.
public struct DirectoryTemplate: Sendable {
  /// The contents of the files by their names.
  private var files: [String: [UInt8]] = [:]
  /// The directories within by their names.
  private var directories: [String: DirectoryTemplate] = [:]

  /// Reads everything below `path` but what has one of `names`; nothing may write there meanwhile. Blocks. Throws `SystemError`, also
  /// for a file of more than 64 MiB.
  public init(reading path: String, leavingOut names: Set<String> = []) throws {
    for entry in try FileSystem.list(path) where !names.contains(entry.name) {
      let child = "\(path)/\(entry.name)"
      if try FileSystem.isDirectory(child) {
        directories[entry.name] = try DirectoryTemplate(reading: child, leavingOut: names)
      } else {
        files[entry.name] = try FileSystem.read(child, upTo: .mebibytes(64))
      }
    }
  }

  /// Makes the directory at `path` unless it is there, and the files in it, for their owner alone. Blocks. Throws `SystemError`, also
  /// where one of the files is there already.
  public func copy(to path: String) throws {
    try FileSystem.createDirectory(path, permissions: 0o700)
    for (name, bytes) in files {
      let file = try FileDescriptor.open(
        "\(path)/\(name)", .writeOnly, options: [.create, .exclusive], permissions: 0o600)
      try file.write(bytes.span, at: .zero)
    }
    for (name, directory) in directories { try directory.copy(to: "\(path)/\(name)") }
  }
}
