import BlobStore
import Database
import DeliveryRecords
import PullboxAPI
import RecordTransfer
import ServiceRuntime
import SystemCalls

/// Why a server's state could not be backed up, restored, checked or moved. Operators read it on the command line.
struct StateCareError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of failures. Of them only `damaged` has an exit code of its own, 6; the others are a plain
  /// failure.
  enum Code: Hashable, Sendable {
    /// There is no backup, or none of that name.
    case noBackup
    /// The directory has something in it already.
    case notEmpty
    /// Another process works on it.
    case inUse
    /// There is no server's state in the directory, or in the database.
    case noState
    /// The server of the database does not take this program.
    case unreachable
    /// The records were moved away, or have not all come.
    case moved
    /// The stored bytes are not those that were written.
    case damaged
  }

  /// The kind of the failure, which decides on the exit code.
  let code: Code
  /// A sentence without a full stop.
  let message: String

  /// Makes an error whose description is `message` alone.
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
    case let error as RecordTransferError where error.code == .differs: .integrity
    case is UsageError: .usage
    case is ConfigurationError: .configuration
    default: .failed
    }
  }
}
