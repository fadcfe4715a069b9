import BlobStore
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import PackageStorage
import PullboxAPI
import ServiceRuntime

/// Uploads that several nodes go on with.
extension UploadService {
  /// Runs `body` while no other request touches the upload, of this node or of others.
  func withLock<Value: Sendable>(
    _ id: String, onConflict policy: LockConflictPolicy, _ body: () async throws -> Value
  ) async throws -> Value {
    try await withLocalLock(id, onConflict: policy) { () in
      guard let parts = self.parts else { return try await body() }
      let hold = try await parts.hold(id, onConflict: policy)
      self.locks[id]?.hold = hold
      let renewing = Task { await self.keep(hold, of: parts) }
      let result: Result<Value, any Error>
      do {
        result = .success(try await body())
      } catch {
        result = .failure(error)
      }
      renewing.cancel()
      await renewing.value
      await parts.release(hold)
      return try result.get()
    }
  }

  /// Runs `body`, which makes a package of the upload, while no other request touches it: also none that would end others.
  func withPublication<Value: Sendable>(
    of id: String, _ body: () async throws -> Value
  ) async throws -> Value {
    try await withLock(id, onConflict: .fail) { () in
      guard let parts = self.parts, let hold = self.locks[id]?.hold else { return try await body() }
      try await parts.beginPublication(hold)
      let result: Result<Value, any Error>
      do {
        result = .success(try await body())
      } catch {
        result = .failure(error)
      }
      await parts.endPublication(hold)
      return try result.get()
    }
  }

  /// Runs `body` unless a request touches the upload, of this node or of others: false then.
  func withFreeLock(_ id: String, _ body: () async throws -> Bool) async throws -> Bool {
    do {
      return try await withLock(id, onConflict: .fail, body)
    } catch let problem as Problem where problem.code == .uploadLocked {
      return false
    }
  }

  /// The upload's file with the bytes of all parts. The caller holds the upload's lock.
  func sharedBlob(of upload: Upload, in parts: UploadParts) async throws -> BlobWriter {
    let entry = open.first { $0.id == upload.id }
    // What fails on the way leaves a file of which nothing is known.
    forget(upload.id)
    do {
      let blob: BlobWriter
      if let entry {
        blob = entry.blob
      } else if try await blobs.receivedLength(of: upload.id) != nil {
        blob = try await blobs.resume(upload.id, limit: UploadLimits.maximumLength)
      } else {
        blob = try await blobs.begin(
          upload.id, expectedLength: upload.length, limit: UploadLimits.maximumLength)
      }
      guard let hold = locks[upload.id]?.hold else { preconditionFailure("the upload is not held") }
      remember(blob, parts: try await parts.complete(blob, known: entry?.parts, under: hold))
      return blob
    } catch {
      throw Self.problem(error)
    }
  }

  /// Puts into the store what the file has. What cannot be put counts for nothing, and is taken off the file. Nothing where uploads are
  /// one server's. The caller holds the upload's lock.
  func share(_ blob: BlobWriter) async throws {
    guard let parts else { return }
    let id = blob.identifier
    guard let hold = locks[id]?.hold, let index = open.firstIndex(where: { $0.id == id }) else {
      // What was put before failed, and could not be taken off the file either.
      throw BlobStoreError(.inputOutput, "it is not known what \(id) has")
    }
    // Unstructured, so that what has arrived is put also where its request was cancelled.
    let known = open[index].parts
    let (held, failure) = await Task { () -> ([UploadPart], (any Error)?) in
      var held = known
      do {
        try await parts.put(blob, behind: &held, under: hold)
        return (held, nil)
      } catch {
        return (held, error)
      }
    }.value
    note(held, of: id)
    if let failure {
      do {
        try await blob.truncate(to: held.last?.end ?? .zero)
      } catch {
        // The next request compares the file with the parts, and takes off what is none.
        forget(id)
      }
      throw failure
    }
  }

  private func note(_ parts: [UploadPart], of id: String) {
    guard let index = open.firstIndex(where: { $0.id == id }) else { return }
    open[index].parts = parts
  }

  /// Lets the hold last until the task is cancelled, however slowly its request goes on.
  private func keep(_ hold: UploadParts.Hold, of parts: UploadParts) async {
    while (try? await parts.timer.sleep(for: UploadParts.renewal)) != nil { await check(hold, of: parts) }
  }

  /// Lets the hold last, or ends its request where another one has taken the upload.
  private func check(_ hold: UploadParts.Hold, of parts: UploadParts) async {
    do {
      try await parts.renew(hold)
    } catch is Problem {
      // A later request of this node may have the upload by now.
      if locks[hold.upload]?.hold == hold { preempt(hold.upload) }
    } catch is CancellationError {
    } catch {
      parts.log.warning("it is not known who holds an upload", ["error": LogValue(error)])
    }
  }

  /// The upload's bytes are a package: its parts are of no use any more.
  func removeParts(of id: String) async throws {
    guard let parts else { return }
    let now = clock.now()
    let removed = try await database.write(locking: [.upload(id)]) { connection in
      // It counts as reserved until the lists of packages have it.
      try UploadTable.touch(id, at: now, in: connection)
      return try UploadPartTable.removeAll(of: id, in: connection)
    }
    await parts.remove(removed, of: id)
  }

  /// How many bytes the upload has, for lists.
  func listedOffset(of upload: Upload) async throws -> ByteCount {
    if upload.digest != nil { return upload.length ?? .zero }
    guard parts != nil else { return quota.reservations[upload.id]?.received ?? .zero }
    return try await database.read { try UploadPartTable.length(of: upload.id, in: $0) }
  }

  /// How many bytes this node's file has of an upload that any node goes on with; nil where uploads are one server's.
  func lengthHere(of id: String) async throws -> ByteCount? {
    guard parts != nil else { return nil }
    if let blob = open.first(where: { $0.id == id })?.blob { return await blob.offset }
    return try await blobs.receivedLength(of: id) ?? .zero
  }

  /// Keeps room on this node's disk for what its file lacks of the upload. Nothing where uploads are one server's. Throws `out-of-space`.
  func reserveRest(of upload: Upload) async throws {
    guard let received = try await lengthHere(of: upload.id), let length = upload.length, received < length
    else { return }
    let room = StorageQuota.Available(free: try await blobs.freeSpace(), stored: nil)
    let refusal = quota.grant(.init(total: length, received: received), to: upload.id, in: room)
    if let refusal { throw Problem(.outOfSpace, refusal) }
  }

  /// Nil where the quota of all nodes has room for the upload, which is kept for it then; else why it has not.
  func sharedRefusal(
    of reservation: StorageQuota.Reservation, for id: String, within bound: ByteCount, of parts: UploadParts
  ) async throws -> String? {
    let now = clock.now()
    do {
      try await measure(parts, ifOlderThan: UploadParts.measureAge)
    } catch {
      throw Self.problem(error)
    }
    let stored = shelf.storedLength ?? .zero
    return try await database.write(locking: [.uploadRoom, .upload(id)]) { connection in
      let taken = stored + (try UploadTable.reserved(besides: id, at: now, in: connection))
      if let refusal = StorageQuota.refusal(of: reservation, where: taken, of: bound) { return refusal }
      try UploadTable.setReserved(reservation.share, of: id, in: connection)
      return nil
    }
  }

  /// Counts the packages of all nodes where that was done longer ago. Throws ``BlobStoreError``.
  func measure(_ parts: UploadParts, ifOlderThan age: Duration) async throws {
    let (now, before) = (clock.now(), measured)
    guard before.map({ now - $0 >= age || now < $0 }) ?? true else { return }
    // Others that ask meanwhile take the count that is there.
    measured = now
    do {
      try await parts.shelf.measure()
    } catch {
      measured = before
      throw error
    }
  }

  /// Puts into the store what this node received before uploads were shared: it has files of uploads that have no part.
  func adoptFiles(in parts: UploadParts) async {
    do {
      for (id, length) in try await blobs.listIncoming() where length > .zero {
        _ = try await withFreeLock(id) { () in
          let upload = try await self.database.read { connection -> Upload? in
            guard try UploadPartTable.length(of: id, in: connection) == .zero else { return nil }
            return try UploadTable.find(id, in: connection)
          }
          guard let upload, upload.digest == nil else { return false }
          let blob = try await self.blobs.resume(id, limit: UploadLimits.maximumLength)
          self.remember(blob)
          try await self.share(blob)
          return true
        }
      }
    } catch {
      parts.log.warning(
        "uploads of before cannot be gone on with at other nodes", ["error": LogValue(error)])
    }
  }

  /// Ends requests whose uploads others have taken, at whatever node, until the task is cancelled.
  package func runSharing() async {
    guard let parts else { return }
    let reader = database.reader(of: .uploads)
    await adoptFiles(in: parts)
    while let news = await reader.next() { await process(news, of: parts) }
  }

  /// Ends the requests from which others have taken their uploads, as news may say.
  func process(_ news: ChangeNews, of parts: UploadParts) async {
    let holds = locks.values.compactMap(\.hold).filter { hold in
      switch news {
      case .of(let names): names.contains { $0 != hold.news && $0.hasPrefix("\(hold.upload)/") }
      case .ofAnything: true
      }
    }
    for hold in holds { await check(hold, of: parts) }
  }

  private func preempt(_ id: String) {
    locks[id]?.isPreempted = true
    locks[id]?.receiving?.cancel()
  }

  /// Removes what uploads have left behind: files of this node, and with `isForAll` what lies in the store and no row names. Throws
  /// what the store and the database throw.
  package func removeLeftovers(isForAll: Bool) async throws {
    guard let parts else {
      // Those of nodes that shared uploads before: an upload of one server has none.
      guard isForAll, let store = shelf as? any UploadPartShelf else { return }
      for name in try await store.listParts() { try await store.removePart(name) }
      return
    }
    for id in try await blobs.listIncoming().keys { _ = try await removeStray(id) }
    if isForAll { try await removeStrayParts(from: parts) }
  }

  /// Removes the objects that no row names. An upload is held meanwhile: no request is about to write a row for what it has put, and one from
  /// which the upload was taken does not. So no clock has a say in it, neither the store's nor this machine's.
  private func removeStrayParts(from parts: UploadParts) async throws {
    for (upload, names) in Dictionary(grouping: try await parts.shelf.listParts(), by: \.upload) {
      guard try await !parts.strays(among: names, of: upload).isEmpty else { continue }
      _ = try await withFreeLock(upload) { () in
        for name in try await parts.strays(among: names, of: upload) {
          try await parts.shelf.removePart(name)
        }
        return true
      }
    }
  }
}
