import AgentRecords
import Commerce
package import ContentLibrary
package import ContentPackage
import CoreTypes
import Files
package import HTTPServer
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// Opens placed files for sending. A file is not opened that was not compared with its manifest, or has changed since; what changes it while
/// it is sent is not seen.
package struct PlacedFiles: Sendable {
  let library: Library

  /// The files of that library.
  package init(library: Library) {
    self.library = library
  }

  /// A file as it was opened.
  private struct Opened: Sendable {
    let file: SharedDescriptor
    /// Its properties then.
    let stamp: FileStamp
  }

  /// Opens the file of that number in the manifest. Throws `content-damaged` for one that is not as it was published, and
  /// `library-offline`.
  package func open(_ index: Int, of manifest: Manifest) async throws -> SharedDescriptor {
    guard let opened = try await look(at: index, of: manifest) else { throw Self.damaged(manifest) }
    let known = try await BlockingPool.shared.run { [library] in
      try library.knownStamps(of: manifest)?.stamps[index]
    }
    if known == opened.stamp { return opened.file }
    guard try await Self.online({ try await library.isWhole(manifest) }) else { throw Self.damaged(manifest) }
    // What was compared is what is open.
    guard let again = try await look(at: index, of: manifest), again.stamp == opened.stamp else {
      throw Self.damaged(manifest)
    }
    return again.file
  }

  /// Nil where no file of the right length is there.
  private func look(at index: Int, of manifest: Manifest) async throws -> Opened? {
    let file = manifest.files[index]
    let path = library.directory(of: manifest.product, version: manifest.version)
    return try await Self.online {
      try await BlockingPool.shared.run { [library] in
        try library.requireOnline()
        do throws(SystemError) {
          let directory = try Directory(opening: path, operations: library.operations)
          let descriptor = try directory.openFile(at: file.path)
          let status = try descriptor.status()
          guard status.kind == .regular, status.length == file.length else { return nil }
          let stamp = FileStamp(inode: status.inode, changed: status.changed)
          return Opened(file: try SharedDescriptor(descriptor), stamp: stamp)
        } catch {
          guard error.isFileMissing || error.isUnreadable || error.isNoRegularFile else { throw error }
          return nil
        }
      }
    }
  }

  /// Returns where all files are as they were compared last; otherwise compares those that are not. Throws `content-damaged` where one is
  /// not as it was published, and `library-offline`.
  func requireWhole(_ manifest: Manifest) async throws {
    let path = library.directory(of: manifest.product, version: manifest.version)
    let isUnchanged = try await Self.online {
      try await BlockingPool.shared.run { [library] in
        try library.requireOnline()
        guard let stamps = try library.knownStamps(of: manifest)?.stamps else { return false }
        do throws(SystemError) {
          let directory = try Directory(opening: path, operations: library.operations)
          for (file, stamp) in zip(manifest.files, stamps) {
            guard let stamp, let status = try directory.statusOfFile(at: file.path),
              stamp == FileStamp(inode: status.inode, changed: status.changed)
            else { return false }
          }
          return true
        } catch {
          guard error.isFileMissing || error.isUnreadable || error.isNoRegularFile else { throw error }
          return false
        }
      }
    }
    guard !isUnchanged else { return }
    guard try await Self.online({ try await library.isWhole(manifest) }) else { throw Self.damaged(manifest) }
  }

  private static func damaged(_ manifest: Manifest) -> Problem {
    Problem(
      .contentDamaged, "\(manifest.product) \(manifest.version) is not as it was published: pullbox repair")
  }

  /// Turns what is wrong in an archive that was compared with its manifest into `content-damaged`.
  static func reading<Value>(
    _ manifest: Manifest, _ body: () async throws -> Value
  ) async throws -> Value {
    do {
      return try await body()
    } catch is PackageValidationError {
      throw damaged(manifest)
    }
  }

  /// Turns ``LibraryOfflineError`` into `library-offline`.
  package static func online<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch let error as LibraryOfflineError {
      throw Problem(.libraryOffline, error.reason)
    }
  }
}
