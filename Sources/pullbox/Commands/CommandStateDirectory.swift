import Files
import PullboxKit
import PullboxOperatorKit
import ServiceRuntime
import SystemCalls

/// Where this program keeps what outlives a run: `$XDG_STATE_HOME/pullbox`, else `~/.local/state/pullbox`.
struct CommandStateDirectory: Sendable {
  /// Absolute. Without `XDG_STATE_HOME` and `HOME` it is a directory that all users share.
  let path: String

  /// A relative path in the environment counts as none, as the XDG Base Directory Specification says.
  init(environment: [String: String] = ProcessEnvironment.variables) {
    if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") {
      path = state + "/pullbox"
    } else if let home = environment["HOME"], home.hasPrefix("/") {
      path = home + "/.local/state/pullbox"
    } else {
      path = "/var/tmp/pullbox"
    }
  }

  /// The key that this user's packages are signed with.
  var signingKey: PublisherKeyFile { PublisherKeyFile(path: path + "/signing-key.pem") }

  /// Uploads that are not over, with mode 0600.
  var ledger: UploadResumeFile { UploadResumeFile(path: path + "/uploads.json") }

  /// A directory of this run's own for packages that are being made; removed at the end. What runs left that were killed
  /// is removed first. Blocks. The directory has mode 0700. A signal that ends this run removes it too.
  func makeWorkDirectory() throws -> WorkDirectory {
    let parent = path + "/packages"
    try FileSystem.createDirectories(parent, permissions: 0o700)
    for entry in try FileSystem.list(parent) where entry.kind == .directory {
      let directory = "\(parent)/\(entry.name)"
      // Held by the run that works there, free when it is gone.
      if try LockFile.acquire("\(directory)/lock") != nil { try FileSystem.removeRecursively(directory) }
    }
    let directory = "\(parent)/\(String(UInt64.random(in: .min ... .max), radix: 36))"
    try FileSystem.createDirectory(directory, permissions: 0o700)
    InterruptHandler.removeAtEnd(directory)
    guard let lock = try LockFile.acquire("\(directory)/lock") else {
      throw CommandFailure(.failed, "\(directory) is in use by another process")
    }
    return WorkDirectory(path: directory, lock: lock)
  }
}

/// Held by one run, for as long as this object lives. The lock keeps later runs from removing the directory.
/// Keep the object to the end of the use of what lies there, with `withExtendedLifetime` where no later line
/// names it.
final class WorkDirectory: Sendable {
  /// The absolute path of the directory.
  let path: String
  /// The lock on the file `lock` in it, which goes with this object.
  private let lock: LockFile

  /// A directory that is there, with its lock taken over from the caller.
  init(path: String, lock: consuming LockFile) {
    self.path = path
    self.lock = lock
  }
}
