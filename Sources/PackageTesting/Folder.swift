import CoreTypes
import Glibc
package import PullboxTesting
import SystemCalls

/// A folder of a test's own to put sources into.
package struct Folder {
  package let directory: TemporaryDirectory
  package let path: String

  package init(_ name: String = "source") throws {
    directory = try TemporaryDirectory()
    path = directory.path(name)
    try FileSystem.createDirectory(path)
  }

  /// Writes a file, with the folders above it.
  package func write(_ bytes: [UInt8], to name: String, permissions: UInt32 = 0o644) throws {
    let path = "\(self.path)/\(name)"
    try FileSystem.createDirectories(FileSystem.parent(of: path))
    let file = try FileDescriptor.open(
      path, .writeOnly, options: [.create, .truncate], permissions: permissions)
    try file.write(bytes.span, at: .zero)
    try SystemCall.run("fchmod") { fchmod(file.number, permissions) }
  }

  package func write(_ text: String, to name: String, permissions: UInt32 = 0o644) throws {
    try write(Array(text.utf8), to: name, permissions: permissions)
  }

  package func makeFolder(_ name: String) throws {
    try FileSystem.createDirectories("\(path)/\(name)")
  }

  package func link(_ name: String, to target: String) throws {
    try SystemCall.run("symlink") { unsafe symlink(target, "\(path)/\(name)") }
  }

  package func makePipe(_ name: String) throws {
    try SystemCall.run("mkfifo") { unsafe mkfifo("\(path)/\(name)", 0o600) }
  }
}
