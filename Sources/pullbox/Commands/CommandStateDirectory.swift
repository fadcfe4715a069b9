import PullboxKit
import ServiceRuntime
import SystemCalls

/// Where this program keeps what outlives a run: `$XDG_STATE_HOME/pullbox`, else `~/.local/state/pullbox`.
struct CommandStateDirectory: Sendable {
  let path: String

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

  var ledger: UploadResumeFile { UploadResumeFile(path: path + "/uploads.json") }

  /// A directory of this run's own for packages that are being made; removed at the end. What runs left that were killed
  /// is removed first. Blocks.
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

/// Held by one run, for as long as this object lives.
final class WorkDirectory: Sendable {
  let path: String
  private let lock: LockFile

  init(path: String, lock: consuming LockFile) {
    self.path = path
    self.lock = lock
  }
}
