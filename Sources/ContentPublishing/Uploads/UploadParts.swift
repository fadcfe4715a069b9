import BlobStore
package import CoreTypes
import Crypto
package import Database
import DeliveryRecords
package import PackageStorage
import PullboxAPI
package import ServiceRuntime

/// The bytes of uploads that any of several nodes goes on with. They are received into a file of the node, and put into the store in
/// parts; what has a row counts. A node that goes on with an upload fetches the parts that its own file lacks.
///
/// One request at a time holds an upload, by a lease. Every row of a part is written while the lease is had, so that a request from
/// which another one has taken it adds nothing any more.
package struct UploadParts: Sendable {
  /// For how long a request that dies with its node keeps others away, unless the node is declared dead before.
  static let leaseDuration: Duration = .seconds(120)
  /// For how long a package may be on its way into the store: longer than the longest put may take. Until then no other request gets
  /// the upload.
  static let publication: Duration = .seconds(2700)
  /// How old the count of all packages may be, which nodes make by lists of their own.
  static let measureAge: Duration = .seconds(60)
  /// The same for the page of metrics, which is asked for all the time.
  static let longestMeasureAge: Duration = .seconds(600)
  /// How often a request says that it lives.
  static let renewal: Duration = .seconds(30)

  let database: Database
  let shelf: any UploadPartShelf
  /// Bytes of a part, at most; only the last part of an upload is shorter.
  let partLength: ByteCount
  /// Names the process in leases.
  private let process: String
  /// The clock that leases go by.
  let clock: any WallClock
  /// Times the renewals of holds.
  let timer: any MonotonicClock
  let log: Log

  /// Creates the parts of uploads in `shelf`.
  ///
  /// - Parameters:
  ///   - process: names this process in leases, and no other one.
  ///   - clock: the clock of all nodes, that of the database.
  ///   - partLength: bytes of a part, at most; the same at all nodes.
  package init(
    database: Database, shelf: any UploadPartShelf, process: String, clock: any WallClock,
    timer: any MonotonicClock,
    partLength: ByteCount = .mebibytes(16), log: Log
  ) {
    self.database = database
    self.shelf = shelf
    self.partLength = partLength
    self.process = process
    self.clock = clock
    self.timer = timer
    self.log = log
  }

  /// A request's hold on an upload among all nodes.
  struct Hold: Hashable, Sendable {
    let upload: String
    /// Names the request, and no other one.
    let holder: String

    var lease: String { "upload \(upload)" }
    /// Held while the bytes become a package.
    var publication: String { "publication \(upload)" }
    /// The name by which other nodes learn that it was taken.
    var news: String { "\(upload)/\(holder.split(separator: " ").last ?? "")" }
  }

  /// Takes the upload for a request. Throws `upload-locked` where another one has it and is not to be ended, as none is that makes a
  /// package of it, and ``DatabaseError``.
  func hold(
    _ upload: String, onConflict policy: UploadService.LockConflictPolicy
  ) async throws -> Hold {
    let hold = Hold(upload: upload, holder: "\(process) \(RandomBytes.token(bits: 64))")
    let now = clock.now()
    let isTaken = try await database.write(locking: [.upload(upload)]) { connection in
      guard
        try !LeaseTable.isHeld(hold.publication, takenFor: Self.publication, at: now, in: connection)
      else { return false }
      if try LeaseTable.take(
        hold.lease, for: hold.holder, until: now + Self.leaseDuration, at: now, in: connection)
      {
        return true
      }
      guard policy == .preempt else { return false }
      try LeaseTable.seize(
        hold.lease, for: hold.holder, until: now + Self.leaseDuration, in: connection)
      try connection.noteChange(of: .uploads, names: [hold.news])
      return true
    }
    guard isTaken else { throw Problem(.uploadLocked, retryAfterSeconds: 1) }
    return hold
  }

  /// Keeps every other request away until ``endPublication(_:)``. Throws `upload-locked` where another request has taken the upload, and
  /// ``DatabaseError``.
  func beginPublication(_ hold: Hold) async throws {
    let now = clock.now()
    let isHeld = try await database.write(locking: [.upload(hold.upload)]) { connection in
      try LeaseTable.extend(hold.lease, of: hold.holder, until: now + Self.leaseDuration, in: connection)
        && LeaseTable.take(
          hold.publication, for: hold.holder, until: now + Self.publication, at: now, in: connection)
    }
    guard isHeld else { throw Self.taken }
  }

  /// The package is there, or is not to be.
  func endPublication(_ hold: Hold) async {
    await letGo(of: hold, hold.publication)
  }

  /// Lets the hold last. Throws `upload-locked` where another request has taken the upload, and ``DatabaseError``.
  func renew(_ hold: Hold) async throws {
    let until = clock.now() + Self.leaseDuration
    let isHeld = try await database.write(locking: []) {
      try LeaseTable.extend(hold.lease, of: hold.holder, until: until, in: $0)
    }
    guard isHeld else { throw Self.taken }
  }

  /// Lets go of the upload, unless another request has taken it. A failure is logged: the lease ends by itself.
  func release(_ hold: Hold) async {
    await letGo(of: hold, hold.lease)
  }

  private func letGo(of hold: Hold, _ lease: String) async {
    do {
      do {
        try await remove(lease, of: hold)
      } catch is CancellationError {
        // The request was cancelled while its write waited; one of a task that is cancelled already is served.
        try await remove(lease, of: hold)
      }
    } catch {
      log.warning(
        "an upload could not be let go", ["upload": LogValue(hold.upload), "error": LogValue(error)])
    }
  }

  private func remove(_ lease: String, of hold: Hold) async throws {
    try await database.write(locking: []) {
      try LeaseTable.remove(lease, of: hold.holder, in: $0)
    }
  }

  private static let taken = Problem(
    .uploadLocked, "another request took the upload over", retryAfterSeconds: 1)

  /// Lets the file have the bytes of all parts and no others: takes off what is no part's, and fetches what is missing. Returns the
  /// parts. `known` are those that the file is known to have. Throws what the file, the store and the database throw; the file has
  /// some parts then.
  func complete(_ file: BlobWriter, known: [UploadPart]?, under hold: Hold) async throws -> [UploadPart] {
    let upload = file.identifier
    let parts = try await database.read { try UploadPartTable.all(of: upload, in: $0) }
    guard zip(parts, [.zero] + parts.map(\.end)).allSatisfy({ $0.start == $1 }) else {
      throw BlobStoreError(.unreadable, "the parts of \(upload) do not follow each other")
    }
    var held = known.map { zip($0, parts).prefix { $0 == $1 }.map(\.1) } ?? []
    // Another node may have put the same bytes again in a longer part; and a process that ended may have left some that no client was told of.
    let length = await file.offset
    for part in parts[held.count...] {
      guard part.end <= length, try await file.digest(of: part.start..<part.end) == part.digest else { break }
      held.append(part)
    }
    try await file.truncate(to: held.last?.end ?? .zero)
    for part in parts[held.count...] {
      let found = try await bytes(of: part, of: upload)
      // A request that has taken the upload may have replaced the part.
      try await renew(hold)
      guard let found, SHA256Digest.of(found) == part.digest else {
        throw BlobStoreError(
          .unreadable, "the store has lost bytes of \(upload) from \(part.start.rawValue) on")
      }
      try await file.append(found, at: part.start)
    }
    if held.count < parts.count { try await file.synchronize() }
    return parts
  }

  /// Nil for a part that is not there.
  private func bytes(of part: UploadPart, of upload: String) async throws(BlobStoreError) -> [UInt8]? {
    do throws(BlobStoreError) {
      return try await shelf.part(UploadPartName(upload: upload, part: part.name), length: part.length)
    } catch {
      guard error.code == .notFound else { throw error }
      return nil
    }
  }

  /// Puts what the file has behind `parts`, as ``UploadPartPlan`` has it, and changes these to all that are there. When it throws, the
  /// parts that were put before count. Throws `upload-locked` where another request has taken the upload.
  func put(_ file: BlobWriter, behind parts: inout [UploadPart], under hold: Hold) async throws {
    let end = await file.offset
    while parts.last?.end ?? .zero < end {
      let plan = UploadPartPlan(behind: parts, upTo: end, partLength: partLength)
      let range = plan.range
      let part = UploadPart(
        start: range.lowerBound, length: range.upperBound - range.lowerBound,
        digest: try await file.digest(of: range),
        name: "\(range.lowerBound.rawValue)-\(RandomBytes.token(bits: 64))")
      let name = UploadPartName(upload: hold.upload, part: part.name)
      try await shelf.putPart(name, range, of: file, digest: part.digest)
      let until = clock.now() + Self.leaseDuration
      let isHeld = try await database.write(locking: [.upload(hold.upload)]) { connection in
        guard try LeaseTable.extend(hold.lease, of: hold.holder, until: until, in: connection) else {
          return false
        }
        try UploadPartTable.set(part, of: hold.upload, in: connection)
        return true
      }
      guard isHeld else {
        await remove([part], of: hold.upload)
        throw Self.taken
      }
      let replaced = Array(parts[plan.kept...])
      parts.replaceSubrange(plan.kept..., with: [part])
      await remove(replaced, of: hold.upload)
    }
  }

  /// Removes the objects of parts that have no rows any more. What cannot be removed is logged, and is a stray.
  func remove(_ parts: [UploadPart], of upload: String) async {
    for part in parts {
      do throws(BlobStoreError) {
        try await shelf.removePart(UploadPartName(upload: upload, part: part.name))
      } catch {
        log.warning(
          "a part of an upload stays in the store for now",
          ["upload": LogValue(upload), "error": LogValue(error)])
      }
    }
  }

  /// Those of the objects that no row names.
  func strays(among names: [UploadPartName], of upload: String) async throws -> [UploadPartName] {
    let parts = try await database.read { try UploadPartTable.all(of: upload, in: $0) }
    let kept = Set(parts.map(\.name))
    return names.filter { !kept.contains($0.part) }
  }
}
