package import BlobStore
package import CoreTypes
import Crypto
package import Database
package import DeliveryModel
import DeliveryRecords
import HTTPServer
package import PackageStorage
package import PullboxAPI
package import ServiceAPI

/// Receives uploads, whatever protocol their requests speak: an ``AppendPolicy`` has the protocol's rules.
/// One request at a time holds an upload, so that two clients never mix bytes; the others are refused
/// `upload-locked`, or preempt it, as their protocol has it. Each upload is a row of ``UploadTable`` and an
/// incoming file of the blob store; ``StorageQuota`` reserves its length from the start.
///
///     let upload = try await uploads.create(NewUpload(length: length), owner: "ada")
///     let append = TusAppend(offset: .zero)
///     let (_, state) = try await uploads.append(body, to: upload.id, under: append, onConflict: .fail)
///     let (_, package) = try await uploads.takeOver(upload.id)   // complete: its bytes become a package
///
/// Among several nodes the bytes lie in the store, in parts (``UploadParts``); the incoming file is then a copy of them, with what is
/// being received.
///
/// An upload is open while bytes may be added, complete once it has its length and its end, and taken over once
/// its bytes have a digest. It leaves when a client terminates it, when its time is over, and when its package
/// is refused. The actor decides between two suspensions; an upload's lock holds over them.
package actor UploadService {
  /// Incoming files that stay open between requests, so that their digests need not be computed again.
  package static let maximumOpen = 16

  /// The treatment of a request for an upload that another request holds.
  package enum LockConflictPolicy: Sendable {
    /// Goes away: `upload-locked`.
    case fail
    /// Ends the other one; what it had sent stays.
    case preempt
  }

  /// The request that holds an upload.
  struct UploadLock {
    /// The lease that keeps the requests of other nodes away.
    var hold: UploadParts.Hold?
    /// Its body, where it is one that adds bytes.
    var receiving: Task<ReceivedBody, Never>?
    var isPreempted = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  /// An incoming file that is open between requests.
  struct OpenFile {
    let id: String
    let blob: BlobWriter
    /// The parts that the file is known to have; none where uploads are one server's.
    var parts: [UploadPart] = []
  }

  package let database: Database
  /// The incoming files of this machine.
  package nonisolated let blobs: BlobStore
  /// Where complete packages go.
  package let shelf: any PackageShelf
  /// The bytes that all nodes go on with; nil where uploads are one server's.
  package nonisolated let parts: UploadParts?
  /// Shared with the garbage collector.
  package let packageLocks: PackageLocks
  /// Measures the lifetimes.
  package nonisolated let clock: LifetimeClock
  package nonisolated let limits: UploadLimits
  /// The room that open uploads have reserved.
  package var quota: StorageQuota
  /// When the packages of all nodes were counted last.
  var measured: Timestamp?
  /// Open files, the least recently used first.
  var open: [OpenFile] = []
  var locks: [String: UploadLock] = [:]
  /// Requests whose bytes are received now.
  private var running = 0

  /// Creates the service over uploads of which `reservations` are known;
  /// ``open(database:blobs:shelf:parts:packageLocks:clock:limits:)`` finds them. Without a `shelf` the packages lie
  /// beside the incoming files.
  package init(
    database: Database, blobs: BlobStore, shelf: (any PackageShelf)? = nil, parts: UploadParts? = nil,
    packageLocks: PackageLocks = PackageLocks(), clock: LifetimeClock, limits: UploadLimits,
    reservations: [String: StorageQuota.Reservation] = [:]
  ) {
    self.database = database
    self.blobs = blobs
    self.shelf = shelf ?? blobs
    self.parts = parts
    self.packageLocks = packageLocks
    self.clock = clock
    self.limits = limits
    quota = StorageQuota(quota: limits.quota, reservations: reservations)
  }

  /// With the reservations of the uploads that an earlier run left open; those whose creation it left undone,
  /// so that no client knows them, are forgotten, and so are those whose bytes nodes had in parts, where there are none any more. Blocks.
  package static func open(
    database: Database, blobs: BlobStore, shelf: (any PackageShelf)? = nil, parts: UploadParts? = nil,
    packageLocks: PackageLocks = PackageLocks(), clock: LifetimeClock, limits: UploadLimits
  ) throws -> UploadService {
    // Other nodes may be creating some now.
    let cutoff = database.isShared ? clock.now() - .seconds(3600) : Timestamp(millisecondsSinceEpoch: .max)
    try database.writeBlocking(locking: []) { connection in
      try UploadTable.removeUnaddressed(createdBefore: cutoff, in: connection)
      // Nodes that shared uploads before have left them in a store.
      if parts == nil { try UploadPartTable.abandon(in: connection) }
    }
    let lengths = try blobs.incomingLengthsBlocking()
    let uploads = try database.readBlocking { try UploadTable.all(in: $0) }
    var reservations: [String: StorageQuota.Reservation] = [:]
    // All nodes reserve in the database, and each has room for a file while its bytes come.
    for upload in uploads where upload.digest == nil && parts == nil {
      let received = lengths[upload.id] ?? .zero
      reservations[upload.id] = StorageQuota.Reservation(total: upload.length ?? received, received: received)
    }
    return UploadService(
      database: database, blobs: blobs, shelf: shelf, parts: parts, packageLocks: packageLocks,
      clock: clock, limits: limits, reservations: reservations)
  }

  /// Begins an upload. Throws `upload-too-large` and `out-of-space` before a byte was taken.
  package func create(_ newUpload: NewUpload, owner: String) async throws -> Upload {
    if let length = newUpload.length ?? newUpload.contentLength, length > UploadLimits.maximumLength {
      throw Problem(.uploadTooLarge, "\(length.rawValue) bytes were announced")
    }
    let upload = Upload(newUpload, owner: owner, at: clock.now())
    let reservation = StorageQuota.Reservation(
      total: newUpload.length ?? newUpload.contentLength ?? .zero, received: .zero)
    if parts == nil { try await reserve(reservation, for: upload.id) }
    do {
      try await database.write(locking: [.upload(upload.id)]) { try UploadTable.insert(upload, in: $0) }
      // Its row says what all nodes keep for it.
      if parts != nil { try await reserve(reservation, for: upload.id) }
      let blob = try await blobs.begin(
        upload.id, expectedLength: newUpload.length, limit: UploadLimits.maximumLength)
      remember(blob)
      // The next request may come to another node.
      if parts != nil { quota.release(upload.id) }
    } catch {
      quota.release(upload.id)
      try await database.write(locking: [.upload(upload.id)]) { try UploadTable.remove(upload.id, in: $0) }
      throw Self.problem(error)
    }
    return upload
  }

  /// The upload and how far it is. One whose bytes were taken over already is at its end. Throws
  /// `upload-unknown`, `upload-expired` and `upload-locked`.
  func status(of id: String, onConflict policy: LockConflictPolicy) async throws -> (
    upload: Upload, state: UploadState
  ) {
    try await withLock(id, onConflict: policy) { () in
      let upload = try await self.find(id)
      return (upload, try await self.state(of: upload))
    }
  }

  /// Open uploads behind `after` and how many bytes each holds, the oldest first. Throws ``DatabaseError``.
  package func page(after: UploadCursor?, limit: Int) async throws -> Page<UploadRecord> {
    let uploads = try await database.read {
      try UploadTable.page(after: after, limit: limit + 1, in: $0)
    }
    var items: [UploadRecord] = []
    for upload in uploads.prefix(limit) {
      items.append(record(of: upload, at: try await listedOffset(of: upload)))
    }
    let last = uploads.count > limit ? uploads[limit - 1] : nil
    return Page(
      items: items, next: last.map { UploadCursor(created: $0.created, id: $0.id).description })
  }

  /// Forgets the upload and its bytes. Throws `upload-unknown`, `upload-expired` and `upload-locked`.
  func terminate(_ id: String, onConflict policy: LockConflictPolicy) async throws {
    try await withLock(id, onConflict: policy) { () in
      _ = try await self.find(id)
      try await self.remove(id)
    }
  }

  /// Forgets an upload whose creation failed before its client was told the address.
  func withdraw(_ id: String) async throws {
    try await withLock(id, onConflict: .preempt) { () in
      guard try await self.database.read({ try UploadTable.find(id, in: $0) }) != nil else { return }
      try await self.remove(id)
    }
  }

  /// Forgets the upload when no request holds it and its time has passed; whether it did. The audit log has it
  /// with the upload's owner.
  package func removeExpired(_ id: String, by actor: String) async throws -> Bool {
    guard locks[id] == nil else { return false }
    return try await withFreeLock(id) { () in
      let ((now, steps), lifetime) = (self.clock.look(), self.limits.lifetime)
      let isShared = self.parts != nil
      let removed = try await self.database.write(locking: [.upload(id)]) { connection -> [UploadPart]? in
        guard let upload = try UploadTable.find(id, in: connection),
          steps.end(of: lifetime, since: upload.touched) <= now
        else {
          return nil
        }
        let parts = isShared ? try UploadPartTable.removeAll(of: id, in: connection) : []
        try UploadTable.remove(id, in: connection)
        try AuditTable.add(
          AuditEntry(at: now, actor: actor, action: "upload.expire", subject: id, detail: upload.owner),
          in: connection)
        return parts
      }
      guard let removed else { return false }
      try await self.removeBytes(of: id, parts: removed)
      return true
    }
  }

  /// Removes an incoming file that belongs to no upload, or to one whose bytes are a package by now; whether it did.
  func removeStray(_ id: String) async throws -> Bool {
    guard locks[id] == nil else { return false }
    return try await withLocalLock(id, onConflict: .fail) { () in
      let upload = try await self.database.read { try UploadTable.find(id, in: $0) }
      guard upload == nil || (self.parts != nil && upload?.digest != nil) else { return false }
      self.forget(id)
      return try await self.blobs.removeIncoming(id)
    }
  }

  /// When the upload is forgotten if no request adds to it; later by as much as the wall clock was set forward
  /// meanwhile.
  package nonisolated func expiry(of upload: Upload) -> Timestamp {
    clock.look().steps.end(of: limits.lifetime, since: upload.touched)
  }

  /// How long the upload will be kept if no request adds to it.
  package nonisolated func remaining(of upload: Upload) -> Duration { expiry(of: upload) - clock.now() }

  /// Returns the upload as lists show it.
  package nonisolated func record(of upload: Upload, at offset: ByteCount) -> UploadRecord {
    UploadRecord(
      upload: upload.id, owner: upload.owner, name: UploadMetadata(upload.metadata)?["filename"],
      length: upload.length, offset: offset, created: upload.created, expires: expiry(of: upload))
  }

  /// Throws `upload-unknown`, `upload-expired`.
  package func find(_ id: String) async throws -> Upload {
    guard let upload = try await database.read({ try UploadTable.find(id, in: $0) }) else {
      throw Problem(.uploadUnknown)
    }
    guard clock.now() < expiry(of: upload) else { throw Problem(.uploadExpired) }
    return upload
  }

  /// Returns how the upload stands. The caller holds its lock. Throws `upload-unknown` where its file is gone.
  package func state(of upload: Upload) async throws -> UploadState {
    if upload.digest != nil, let length = upload.length {
      return UploadState(offset: length, length: length, isComplete: true)
    }
    let offset = try await offset(of: upload)
    return UploadState(
      offset: offset, length: upload.length, isComplete: !upload.awaitsEnd && upload.length == offset)
  }

  /// Without reading what is there: a client that only asks waits for nothing.
  private func offset(of upload: Upload) async throws -> ByteCount {
    if parts != nil {
      return try await database.read { try UploadPartTable.length(of: upload.id, in: $0) }
    }
    if let blob = open.first(where: { $0.id == upload.id })?.blob { return await blob.offset }
    guard let length = try await blobs.receivedLength(of: upload.id) else { throw Problem(.uploadUnknown) }
    return length
  }

  /// Forgets the upload and its bytes. The caller holds its lock.
  package func remove(_ id: String) async throws {
    let isShared = parts != nil
    let removed = try await database.write(locking: [.upload(id)]) { connection in
      let parts = isShared ? try UploadPartTable.removeAll(of: id, in: connection) : []
      try UploadTable.remove(id, in: connection)
      return parts
    }
    try await removeBytes(of: id, parts: removed)
  }

  private func removeBytes(of id: String, parts removed: [UploadPart]) async throws {
    defer { quota.release(id) }
    await parts?.remove(removed, of: id)
    if let blob = open.first(where: { $0.id == id })?.blob {
      forget(id)
      try await blob.discard()
    } else {
      _ = try await blobs.removeIncoming(id)
    }
  }

  /// Runs `body` while no other request of this node touches the upload.
  func withLocalLock<Value: Sendable>(
    _ id: String, onConflict policy: LockConflictPolicy, _ body: () async throws -> Value
  ) async throws -> Value {
    while locks[id] != nil {
      guard policy == .preempt else { throw Problem(.uploadLocked, retryAfterSeconds: 1) }
      locks[id]?.isPreempted = true
      locks[id]?.receiving?.cancel()
      await withCheckedContinuation { locks[id]?.waiting.append($0) }
    }
    locks[id] = UploadLock()
    defer { locks.removeValue(forKey: id)?.waiting.forEach { $0.resume() } }
    return try await body()
  }

  /// Runs `body`, which receives bytes, unless too many do already: `unavailable`.
  func whileRunning<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
    guard running < limits.running else {
      throw Problem(.unavailable, "\(running) uploads are running", retryAfterSeconds: 5)
    }
    running += 1
    defer { running -= 1 }
    return try await body()
  }

  /// Lets a request that preempts this one end its body.
  func registerReceiver(_ receiving: Task<ReceivedBody, Never>, of id: String) {
    locks[id]?.receiving = receiving
    if locks[id]?.isPreempted == true { receiving.cancel() }
  }

  /// The upload's file, open. The caller holds the upload's lock.
  package func blob(of upload: Upload) async throws -> BlobWriter {
    if let parts { return try await sharedBlob(of: upload, in: parts) }
    if let index = open.firstIndex(where: { $0.id == upload.id }) {
      let entry = open.remove(at: index)
      open.append(entry)
      return entry.blob
    }
    do {
      let blob = try await blobs.resume(upload.id, limit: UploadLimits.maximumLength)
      remember(blob)
      return blob
    } catch {
      throw Self.problem(error)
    }
  }

  /// Lets go of the open file. The bytes stay.
  package func forget(_ id: String) {
    open.removeAll { $0.id == id }
  }

  /// Throws `out-of-space`; expired uploads give up their reservations first.
  package func reserve(_ reservation: StorageQuota.Reservation, for id: String) async throws {
    guard try await refusal(of: reservation, for: id) != nil else { return }
    for upload in try await database.read({ try UploadTable.all(in: $0) })
    where expiry(of: upload) <= clock.now() {
      _ = try await removeExpired(upload.id, by: AuditTable.serverActor)
    }
    if let reason = try await refusal(of: reservation, for: id) { throw Problem(.outOfSpace, reason) }
  }

  private func refusal(of reservation: StorageQuota.Reservation, for id: String) async throws -> String? {
    let free = try await blobs.freeSpace()
    let stored = parts == nil ? shelf.storedLength : nil
    let refusal = quota.grant(reservation, to: id, in: StorageQuota.Available(free: free, stored: stored))
    guard refusal == nil, let parts, let bound = quota.quota else { return refusal }
    return try await sharedRefusal(of: reservation, for: id, within: bound, of: parts)
  }

  func remember(_ blob: BlobWriter, parts: [UploadPart] = []) {
    open.append(OpenFile(id: blob.identifier, blob: blob, parts: parts))
    while open.count > Self.maximumOpen, let index = open.firstIndex(where: { locks[$0.id] == nil }) {
      open.remove(at: index)
    }
  }
}
