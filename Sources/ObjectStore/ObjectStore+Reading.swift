public import CoreTypes
public import HTTPClient
import Synchronization

/// Receives the bytes of an object as they arrive. Everything is called on the client's thread, which all its transfers share:
/// nothing here may block. After the call has returned nothing is called any more.
public protocol ObjectReceiver: AnyObject, Sendable {
  /// Called before each try. The handle steers that try: a receiver that has answered ``BodyDecision/pause`` resumes by the last one.
  func start(_ handle: TransferHandle)
  /// Called once, before the first byte.
  func receive(_ part: ObjectPart)
  /// Called with the next bytes, each of which comes once, whatever the number of tries. The span is gone after the call.
  func receive(_ bytes: Span<UInt8>) -> BodyDecision
}

extension ObjectReceiver {
  /// Does not keep the handle.
  public func start(_ handle: TransferHandle) {}
  /// Does not look at it.
  public func receive(_ part: ObjectPart) {}
}

/// The place in an object of bytes that follow.
public struct ObjectPart: Hashable, Sendable {
  /// The range that was asked for, or that of the whole object.
  public var range: Range<Int64>
  /// Those of the whole object.
  public var attributes: ObjectAttributes

  /// A part from its members.
  public init(range: Range<Int64>, attributes: ObjectAttributes) {
    self.range = range
    self.attributes = attributes
  }
}

extension ObjectStore {
  /// Hands a range of an object to `receiver`: all of it, or an error (``ObjectStoreError/Code/outOfRange`` for an object that ends
  /// before). A try that breaks off is taken up where it ended; an object that was replaced meanwhile ends the call as
  /// ``ObjectStoreError/Code/objectChanged``. Canceling the task, or a handle, ends it at once.
  @discardableResult
  public func get(
    _ key: ObjectKey, range: Range<Int64>, within limit: Duration, to receiver: any ObjectReceiver
  ) async throws(ObjectStoreError) -> ObjectAttributes {
    guard range.lowerBound >= 0, !range.isEmpty else {
      throw ObjectStoreError(
        code: .invalidRequest, message: "the range is empty, or begins before the object")
    }
    return try await read(key, PartReceiver(.range(range), target: receiver), within: limit)
  }

  /// Hands a whole object to `receiver`; ``ObjectStoreError/Code/tooLarge`` where it is longer than `maximum`, before any byte.
  @discardableResult
  public func get(
    _ key: ObjectKey, upTo maximum: ByteCount, within limit: Duration, to receiver: any ObjectReceiver
  ) async throws(ObjectStoreError) -> ObjectAttributes {
    try await read(key, PartReceiver(.whole(maximum), target: receiver), within: limit)
  }

  /// The bytes of a range of an object, in memory.
  public func bytes(
    of key: ObjectKey, range: Range<Int64>, within limit: Duration
  ) async throws(ObjectStoreError) -> [UInt8] {
    let receiver = CollectingObjectReceiver()
    try await get(key, range: range, within: limit, to: receiver)
    return receiver.bytes
  }

  /// The bytes of a whole object of at most `maximum`, in memory.
  public func bytes(
    of key: ObjectKey, upTo maximum: ByteCount, within limit: Duration
  ) async throws(ObjectStoreError) -> [UInt8] {
    let receiver = CollectingObjectReceiver()
    try await get(key, upTo: maximum, within: limit, to: receiver)
    return receiver.bytes
  }

  /// Reads by as many tries as the time allows. Each asks for what is left of the range; that of a whole object asks
  /// without a range until the first head has come.
  private func read(
    _ key: ObjectKey, _ receiver: PartReceiver, within limit: Duration
  ) async throws(ObjectStoreError) -> ObjectAttributes {
    try await retry(within: limit) { remaining throws(TryFailure) in
      if let attributes = receiver.completed { return attributes }
      var call = StoreCall(method: "GET", key: key, longestAnswer: nil)
      if let range = receiver.begin() {
        call.headers = [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")]
      }
      do throws(HTTPClientError) {
        _ = try await self.client.stream(self.request(for: call, within: remaining), to: receiver)
      } catch {
        throw receiver.failure(error)
      }
      guard let attributes = receiver.completed else {
        throw .malformed("the object's bytes are fewer than the answer promised")
      }
      return attributes
    }
  }
}

/// Checks every answer to a read against what was asked for, and hands on bytes that fit; one for all tries of a call.
private final class PartReceiver: TransferReceiver {
  /// The bytes that a call wants.
  enum Extent {
    /// That range, all of it.
    case range(Range<Int64>)
    /// The object, of at most that length.
    case whole(ByteCount)
  }

  /// The state over all tries.
  private struct State {
    /// Known with the first head that fits.
    var part: ObjectPart?
    /// Bytes handed on, over all tries.
    var received: Int64 = 0
    /// The range that this try asks for; nil for the whole object.
    var asked: Range<Int64>?
    /// Why this try has to end, where it is not the transfer's own fault.
    var fault: ObjectStoreError?
    /// The transfer of this try, by which a fault ends it.
    var handle: TransferHandle?
  }

  /// The bytes that are wanted.
  private let extent: Extent
  /// The receiver of bytes that fit.
  private let target: any ObjectReceiver
  /// Guards the state: the client's thread and the task of the call come to it.
  private let state = Mutex(State())

  /// A receiver before the first try.
  init(_ extent: Extent, target: any ObjectReceiver) {
    self.extent = extent
    self.target = target
  }

  /// Not nil once all bytes were handed on.
  var completed: ObjectAttributes? {
    state.locked { state in
      guard let part = state.part, state.received == Int64(part.range.count) else { return nil }
      return part.attributes
    }
  }

  /// Begins a try: returns the range to ask for, nil for the whole object.
  func begin() -> Range<Int64>? {
    state.locked { state in
      state.fault = nil
      if let part = state.part {
        state.asked = part.range.lowerBound + state.received..<part.range.upperBound
      } else if case .range(let range) = extent {
        state.asked = range
      }
      return state.asked
    }
  }

  /// Returns the meaning of a transfer's error.
  func failure(_ error: HTTPClientError) -> TryFailure {
    if let fault = state.locked({ $0.fault }) { return TryFailure(fault) }
    return TryFailure(error, method: "GET")
  }

  func start(_ handle: TransferHandle) {
    state.locked { $0.handle = handle }
    target.start(handle)
  }

  func receive(head: ResponseHead) -> HeadDecision {
    // The body says why.
    guard (200..<300).contains(head.status) else { return .refuse }
    do throws(ObjectStoreError) {
      let found = try part(of: head)
      let isFirst = state.locked { state in
        defer { state.part = state.part ?? found }
        return state.part == nil
      }
      if isFirst { target.receive(found) }
      return .accept
    } catch {
      end(with: error)
      return .refuse
    }
  }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    let count = Int64(bytes.count)
    let fits = state.locked { state in
      state.part.map { state.received + count <= Int64($0.range.count) } ?? false
    }
    guard fits else {
      end(
        with: ObjectStoreError(
          code: .malformedAnswer, message: "the object's bytes are more than the answer promised"))
      return .stop
    }
    let decision = target.receive(bytes)
    if decision == .consumed { state.locked { $0.received += count } }
    return decision
  }

  /// The body of an answer that is wrong already is not waited for.
  private func end(with fault: ObjectStoreError) {
    let handle = state.locked { state in
      state.fault = fault
      return state.handle
    }
    handle?.cancel()
  }

  /// The part that an answer brings: with the same range in each try, since only the rest of it is asked for again.
  private func part(of head: ResponseHead) throws(ObjectStoreError) -> ObjectPart {
    let (asked, known) = state.locked { ($0.asked, $0.part) }
    let found: ObjectPart
    if let asked { found = try Self.range(asked, of: head) } else { found = try whole(of: head) }
    guard let known else { return found }
    guard found.attributes.length == known.attributes.length,
      found.attributes.entityTag == known.attributes.entityTag
    else {
      throw ObjectStoreError(code: .objectChanged, message: "the object was replaced while it was read")
    }
    return known
  }

  /// The part by an answer to a request for a range: 206 with `Content-Range` (RFC 9110 §14.4), and with that range
  /// exactly.
  private static func range(_ asked: Range<Int64>, of head: ResponseHead) throws(ObjectStoreError)
    -> ObjectPart
  {
    func malformed(_ message: String) -> ObjectStoreError {
      ObjectStoreError(code: .malformedAnswer, message: message, status: head.status)
    }
    guard head.status == 206 else {
      throw malformed("the store does not answer with the range, but with \(head.status)")
    }
    guard let content = head.contentRange, let range = content.range, let length = content.completeLength
    else {
      throw malformed("the answer does not tell which range of how much it brings")
    }
    guard asked.upperBound <= length else {
      throw ObjectStoreError(
        code: .outOfRange,
        message: "the object has \(length) bytes, and the range ends at \(asked.upperBound)",
        status: head.status)
    }
    guard range == asked else {
      throw malformed("the answer brings the range \(range), not \(asked)")
    }
    guard head.contentLength == ByteCount(asked.count) else {
      throw malformed("the answer's length is not that of the range")
    }
    return ObjectPart(range: asked, attributes: ObjectAttributes(length: ByteCount(length), head))
  }

  /// The part by an answer with the whole object: 200 with a length, which is compared with the bound before any byte is
  /// taken.
  private func whole(of head: ResponseHead) throws(ObjectStoreError) -> ObjectPart {
    guard head.status == 200, let length = head.contentLength else {
      throw ObjectStoreError(
        code: .malformedAnswer, message: "the answer does not tell the object's length", status: head.status)
    }
    if case .whole(let maximum) = extent, length > maximum {
      throw ObjectStoreError(code: .tooLarge, message: "the object has \(length), more than \(maximum)")
    }
    return ObjectPart(range: 0..<length.rawValue, attributes: ObjectAttributes(length: length, head))
  }
}

/// Keeps the bytes in memory; the call's own bound limits them.
private final class CollectingObjectReceiver: ObjectReceiver {
  /// The bytes, appended on the client's thread.
  private let collected = Mutex<[UInt8]>([])

  /// The bytes so far.
  var bytes: [UInt8] { collected.locked { $0 } }

  /// Takes all bytes at once, and never pauses.
  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    collected.locked { collected in
      unsafe bytes.withUnsafeBufferPointer { unsafe collected.append(contentsOf: $0) }
    }
    return .consumed
  }
}
