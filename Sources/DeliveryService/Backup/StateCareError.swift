import BlobStore
import Database
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// Why a state directory could not be backed up, restored or checked.
struct StateCareError: Error, Hashable, Sendable, CustomStringConvertible {
  enum Code: Hashable, Sendable {
    /// There is no backup, or none of that name.
    case noBackup
    /// The directory has something in it already.
    case notEmpty
    /// Another process works on it.
    case inUse
    /// There is no server's state in the directory.
    case noState
    /// The stored bytes are not those that were written.
    case damaged
  }

  let code: Code
  /// A sentence without a full stop.
  let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  var description: String { message }
}

extension ExitCode {
  /// Returns the exit code of a command that met `error`.
  static func of(_ error: any Error) -> ExitCode {
    switch error {
    case let error as SystemError where error.isOutOfSpace: .noSpace
    case let error as BlobStoreError where error.code == .outOfSpace: .noSpace
    case let error as DatabaseError where error.code == .outOfSpace: .noSpace
    case let error as BlobStoreError where error.code == .digestMismatch: .integrity
    case let error as DatabaseError where error.code == .corrupt: .integrity
    case let error as StateCareError where error.code == .damaged: .integrity
    case is UsageError: .usage
    case is ConfigurationError: .configuration
    default: .failed
    }
  }
}
