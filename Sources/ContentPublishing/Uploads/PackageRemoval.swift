import CoreTypes
import Crypto
import Database
import DeliveryRecords

/// The removal of one package: a lease, from the moment at which it is condemned until its file is gone. ``PackageLocks`` keeps
/// uploads of the same bytes away in this process, and the lease those of others. One that a process left behind ends by
/// itself; what it condemned is then removed by the next collection, or kept by an upload.
struct PackageRemoval: Sendable {
  /// For how long a removal keeps others away: the removal of a file takes less.
  static let longest: Duration = .seconds(120)

  /// For how long a package of the same bytes waits until the removal is over, and how often it looks.
  static let wait: Duration = .seconds(10)
  static let pause: Duration = .milliseconds(250)

  private let digest: SHA256Digest
  /// Names this removal, and no other one.
  private let holder = RandomBytes.token(bits: 64)

  /// Creates the removal without beginning it.
  init(of digest: SHA256Digest) {
    self.digest = digest
  }

  /// Begins it, in the write that condemns the package and locks it. False where another process removes it. Throws
  /// ``DatabaseError``.
  func begin(at now: Timestamp, in connection: borrowing Connection) throws -> Bool {
    try LeaseTable.take(
      Self.name(digest), for: holder, until: now + Self.longest, at: now, in: connection)
  }

  /// The file is gone, or stays. Throws ``DatabaseError``.
  func end(in connection: borrowing Connection) throws {
    try LeaseTable.remove(Self.name(digest), of: holder, in: connection)
  }

  /// Whether some process removes the package. To be asked in a write that locks it. Throws ``DatabaseError``.
  static func isRunning(
    of digest: SHA256Digest, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try LeaseTable.isHeld(name(digest), takenFor: longest, at: now, in: connection)
  }

  private static func name(_ digest: SHA256Digest) -> String { "removal \(digest.hexadecimal)" }
}
