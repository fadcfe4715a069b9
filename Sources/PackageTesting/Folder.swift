import CoreTypes
import Files
import Glibc
package import PullboxTesting
import SystemCalls

/// A folder of a test's own to put sources into.
package struct Folder {
  /// The directory around it, which is removed with this value's last copy.
  package let directory: TemporaryDirectory
  /// The absolute path of the folder.
  package let path: String

  /// Makes the folder, empty, with that name in a directory of its own.
  package init(_ name: String = "source") throws {
    directory = try TemporaryDirectory()
    path = directory.path(name)
    try FileSystem.createDirectory(path)
  }

  /// Writes a file, with the folders above it. Replaces a file that is there. The permissions are set again after the
  /// file is made, so that the mask of the process takes nothing from them.
  package func write(_ bytes: [UInt8], to name: String, permissions: UInt32 = 0o644) throws {
    let path = "\(self.path)/\(name)"
    try FileSystem.createDirectories(FileSystem.parent(of: path))
    let file = try FileDescriptor.open(
      path, .writeOnly, options: [.create, .truncate], permissions: permissions)
    try file.write(bytes.span, at: .zero)
    try SystemCall.run("fchmod") { fchmod(file.number, permissions) }
  }

  /// Writes a text in UTF-8.
  package func write(_ text: String, to name: String, permissions: UInt32 = 0o644) throws {
    try write(Array(text.utf8), to: name, permissions: permissions)
  }

  /// Makes a folder with those above it. One that is there is left as it is.
  package func makeFolder(_ name: String) throws {
    try FileSystem.createDirectories("\(path)/\(name)")
  }

  /// Makes a symbolic link; the target needs not exist.
  package func link(_ name: String, to target: String) throws {
    try SystemCall.run("symlink") { unsafe symlink(target, "\(path)/\(name)") }
  }

  /// Makes a named pipe, which no packer may open: it would wait for a writer.
  package func makePipe(_ name: String) throws {
    try SystemCall.run("mkfifo") { unsafe mkfifo("\(path)/\(name)", 0o600) }
  }
}
