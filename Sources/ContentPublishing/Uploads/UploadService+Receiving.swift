import BlobStore
package import CoreTypes
import Crypto
import Database
package import DeliveryModel
import DeliveryRecords
package import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The outcome of receiving a request's bytes.
struct ReceivedBody: Sendable {
  /// The file's length.
  var offset: ByteCount
  /// The error that ended the bytes before they were complete.
  var failure: (any Error)?
  /// The failure is one that the upload does not survive.
  var endsUpload = false
}

extension UploadService {
  /// After so many bytes of a request its client is told how far they are safe, where it wants to know.
  static let progressStep = ByteCount.mebibytes(16)
  /// By how much the reservation of an upload of unknown length grows.
  private static let step = ByteCount.mebibytes(8)

  /// Takes the bytes of one request until they end or the connection does: what arrived is kept either way,
  /// unless it had to add up to a checksum. `progress` is called now and then with the offset up to which the
  /// bytes are on the device and wait for no checksum. Answers how the upload stands then.
  ///
  /// Throws the policy's refusal, `upload-unknown`, `upload-expired`, `upload-locked` under
  /// ``LockConflictPolicy/fail``, `unavailable` where too many requests add bytes, `out-of-space`,
  /// `checksum-mismatch`, and `digest-mismatch` for a whole that is another than was announced: the upload is
  /// forgotten then. What was received before an error is kept otherwise.
  ///
  /// - Parameters:
  ///   - body: the content of the request, read until its end.
  ///   - rules: the protocol's rules for this request.
  ///   - policy: what becomes of the request while another one holds the upload.
  package func append(
    _ body: RequestBody, to id: String, under rules: some AppendPolicy,
    onConflict policy: LockConflictPolicy,
    progress: (@Sendable (ByteCount) async -> Void)? = nil
  ) async throws -> (upload: Upload, state: UploadState) {
    try await withLock(id, onConflict: policy) { () in
      let upload = try await self.find(id)
      let state = try await self.state(of: upload)
      switch rules.decide(state) {
      case .refuse(let error): throw error
      case .abandon(let error):
        try await self.remove(id)
        throw error
      case .repeatAnswer: return (upload, state)
      case .receive(let length, let end):
        if state.isComplete { return (upload, state) }
        return try await self.whileRunning { () in
          try await self.receive(
            body, for: upload, from: state.offset, length: length, end: end, under: rules, progress: progress)
        }
      }
    }
  }

  /// Receives the bytes of a request that the rules let in, and writes down how the upload stands. The caller
  /// holds the upload's lock.
  private func receive(
    _ body: RequestBody, for found: Upload, from start: ByteCount, length: ByteCount?, end: CompletionRule,
    under rules: some AppendPolicy, progress: (@Sendable (ByteCount) async -> Void)?
  ) async throws -> (upload: Upload, state: UploadState) {
    var upload = found
    let id = upload.id
    // The next request may come to another node: room on this disk is kept while bytes come.
    defer { if parts != nil { quota.release(id) } }
    // At a node that goes on, what its file lacks is still to come as well.
    let room = StorageQuota.Reservation(
      total: length ?? start + (body.expectedLength ?? .zero), received: try await lengthHere(of: id) ?? start
    )
    if parts != nil { try await reserve(room, for: id) }
    let blob = try await blob(of: upload)
    let offset = await blob.offset
    // The state was found before the file was read: it differs only if another process has changed the file.
    guard offset == start else {
      throw Problem(
        .uploadOffsetMismatch, "the upload stands at \(offset.rawValue)", expectedOffset: offset.rawValue)
    }
    if parts == nil { try await reserve(room, for: id) } else { quota.note(offset, of: id) }
    if let length, upload.length == nil {
      try await database.write(locking: [.upload(id)]) { try UploadTable.setLength(length, of: id, in: $0) }
      upload.length = length
    }
    let received = try await write(
      body, into: blob, length: length, under: rules, progress: progress)
    if received.endsUpload, let failure = received.failure {
      try await remove(id)
      throw failure
    }
    if parts == nil {
      quota.shrink(id, to: .init(total: length ?? received.offset, received: received.offset))
    }
    var failure = received.failure
    var isEnded = end == .here || (end == .atLength && received.offset == length)
    if failure == nil, isEnded { failure = rules.refusalToEnd(at: received.offset, length: length) }
    isEnded = isEnded && failure == nil
    if isEnded, let expected = upload.wholeDigest {
      let digest = await blob.received.digest
      guard digest == expected else {
        try await remove(id)
        throw Problem(.digestMismatch, "all bytes together have the SHA-256 \(digest)")
      }
    }
    let (now, ends, isAddressed) = (clock.now(), isEnded, failure == nil)
    upload.touched = now
    if isEnded { (upload.length, upload.awaitsEnd) = (received.offset, false) }
    let reserved = parts != nil && limits.quota != nil ? max(length ?? .zero, received.offset) : nil
    do {
      try await database.write(locking: [.upload(id)]) { connection in
        if let reserved { try UploadTable.setReserved(reserved, of: id, in: connection) }
        try UploadTable.touch(id, at: now, in: connection)
        if isAddressed { try UploadTable.setAddressed(id, in: connection) }
        if ends { try UploadTable.setEnd(received.offset, of: id, in: connection) }
      }
    } catch {
      failure = failure ?? error
    }
    if let failure { throw Self.problem(failure) }
    return (
      upload, UploadState(offset: received.offset, length: upload.length, isComplete: isEnded)
    )
  }

  /// The bytes, as far as they come, and on the device. Throws when what came before them is in doubt.
  private func write(
    _ body: RequestBody, into blob: BlobWriter, length: ByteCount?, under rules: some AppendPolicy,
    progress: (@Sendable (ByteCount) async -> Void)?
  ) async throws -> ReceivedBody {
    let checksum = rules.checksum
    if let checksum { try await Self.asProblem { try await blob.expect(checksum) } }
    // Unstructured so that a request that preempts this one can end it, and it alone.
    let isChecked = checksum != nil
    let task = Task {
      await read(
        body, into: blob, length: length, under: rules,
        isCounted: !isChecked && (progress != nil || parts != nil), progress: progress)
    }
    registerReceiver(task, of: blob.identifier)
    var received = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    do {
      if checksum == nil {
        // What arrived stays, whatever ended the request.
        try await blob.synchronize()
      } else if received.failure != nil {
        try await blob.rollBack()
      } else if try await !blob.verifyChecksum() {
        received.failure = Problem(.checksumMismatch)
      }
      try await share(blob)
    } catch {
      received.failure = received.failure ?? error
    }
    received.offset = await blob.offset
    return received
  }

  /// Copies the body to the file, chunk by chunk, and reserves room ahead. Where they are `isCounted`, bytes are made safe on the way:
  /// they wait for no verdict. Never throws: an error is in what is
  /// returned.
  private func read(
    _ body: RequestBody, into blob: BlobWriter, length: ByteCount?, under rules: some AppendPolicy,
    isCounted: Bool, progress: (@Sendable (ByteCount) async -> Void)?
  ) async -> ReceivedBody {
    let end = length ?? UploadLimits.maximumLength
    var position = await blob.offset
    var announced = position
    do {
      for try await bytes in body {
        let next = position + ByteCount(bytes.count)
        if next > end {
          guard let length else { throw Problem(.uploadTooLarge, "a package ends at \(end.rawValue)") }
          let overrun = rules.overrun(of: length)
          return ReceivedBody(offset: position, failure: overrun.error, endsUpload: overrun.endsUpload)
        }
        if next > quota.reservations[blob.identifier]?.total ?? .zero {
          try await reserve(
            StorageQuota.Reservation(total: min(end, next + Self.step), received: position),
            for: blob.identifier)
        }
        position = try await blob.append(bytes, at: position)
        quota.note(position, of: blob.identifier)
        if isCounted, position - announced >= parts?.partLength ?? Self.progressStep {
          try await blob.synchronize()
          try await share(blob)
          await progress?(position)
          announced = position
        }
      }
      return ReceivedBody(offset: position, failure: nil)
    } catch {
      return ReceivedBody(offset: position, failure: error)
    }
  }

  /// Runs `body` and throws its error as the client is told of it.
  static func asProblem<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch {
      throw problem(error)
    }
  }

  /// The refusal that a client is given for what went wrong here. An error that is none of a client's matter is
  /// returned as it is.
  package static func problem(_ error: any Error) -> any Error {
    switch error {
    case let error as BlobStoreError:
      switch error.code {
      case .tooLarge: Problem(.uploadTooLarge, error.message)
      case .outOfSpace: Problem(.outOfSpace, error.message)
      case .inUse: Problem(.uploadLocked, retryAfterSeconds: 1)
      case .notFound: Problem(.uploadUnknown)
      case .wrongOffset:
        Problem(.uploadOffsetMismatch, error.message, expectedOffset: error.offset?.rawValue)
      default: error
      }
    case let error as DatabaseError where error.code == .outOfSpace:
      Problem(.outOfSpace, "the disk is full")
    case let error as RequestBodyError where error.code == .cancelled:
      Problem(.uploadLocked, "another request took the upload over", retryAfterSeconds: 1)
    case let error as RequestBodyError:
      error.problem(readingUpTo: UploadLimits.maximumLength)
    default: error
    }
  }
}
