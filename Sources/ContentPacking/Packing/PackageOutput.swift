import ContentPackage
import CoreTypes
import Crypto
import Dispatch
import Files
import Synchronization
import SystemCalls

/// The file that a package is written to, piece by piece, hashed on the way. Nothing of it is visible until
/// ``publish()``. Dropping it without that removes the file.
struct PackageOutput: ~Copyable {
  /// The kernel is asked to begin writing after so many bytes, so that the sync at the end has little left to
  /// do.
  private static let writebackInterval: Int64 = 8 << 20

  private var file: DurableFile
  private let hasher = PieceHasher()
  private var piece: [UInt8] = []
  /// Bytes that were appended, written or not yet.
  private(set) var length = ByteCount.zero
  private var writebackStart: Int64 = 0

  /// The file gets its name at ``publish()`` only.
  init(creating path: String) throws(SystemError) {
    file = try DurableFile(creating: path)
    piece.reserveCapacity(Self.pieceLength)
  }

  private static var pieceLength: Int { Int(PieceLayout.pieceLength.rawValue) }

  /// Collects a piece before anything is written.
  mutating func append(_ bytes: Span<UInt8>) throws(SystemError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = min(rest.count, Self.pieceLength - piece.count)
      let part = rest.extracting(first: count)
      unsafe part.withUnsafeBufferPointer { unsafe piece.append(contentsOf: $0) }
      length += ByteCount(count)
      if piece.count == Self.pieceLength { try writePiece() }
      rest = rest.extracting(droppingFirst: count)
    }
  }

  /// Makes the file visible and durable once `accept` has returned, which is given what a manifest says of it; where that throws, nothing is
  /// at the path that was not there before. Waits for the hashing thread, then syncs.
  consuming func publish<Value>(
    accepting accept: (_ digest: SHA256Digest, _ pieces: [SHA256Digest]) throws -> Value
  ) throws -> Value {
    if !piece.isEmpty { try writePiece() }
    let digests = hasher.finish()
    let value = try accept(digests.digest, digests.pieces)
    try file.publish()
    return value
  }

  /// The buffer goes to the hasher, and a spare one takes its place.
  private mutating func writePiece() throws(SystemError) {
    let full = piece
    piece = []
    try file.append(full.span)
    hasher.add(full)
    piece = hasher.makeBuffer()
    let written = file.length.rawValue
    guard written - writebackStart >= Self.writebackInterval else { return }
    let range = writebackStart..<written
    try file.withDescriptor { descriptor throws(SystemError) in
      try descriptor.startWriteback(of: range)
    }
    writebackStart = written
  }
}

/// Computes the digests of a package, of the whole and of each piece, on a thread of its own while the caller reads and
/// writes. At most ``maximumWaiting`` pieces wait. Pieces are added by one thread, in their order.
final class PieceHasher: Sendable {
  static let maximumWaiting = 4

  private struct State {
    var whole = SHA256Hasher()
    var pieces: [SHA256Digest] = []
    /// Buffers of pieces that are done, to be filled again: fresh ones cost the kernel more than the hashing.
    var spares: [[UInt8]] = []
  }

  private let queue = DispatchQueue(label: "pullbox.piece-hasher")
  private let places = DispatchSemaphore(value: PieceHasher.maximumWaiting)
  private let state = Mutex(State())

  /// Takes the next piece: 1 MiB, only the last may be shorter. Blocks while too many wait.
  func add(_ piece: [UInt8]) {
    places.wait()
    queue.async { [self] in
      state.locked { state in
        state.whole.update(piece.span)
        var hasher = SHA256Hasher()
        hasher.update(piece.span)
        state.pieces.append(hasher.finalize())
        state.spares.append(piece)
      }
      places.signal()
    }
  }

  /// An empty buffer with room for a piece.
  func makeBuffer() -> [UInt8] {
    var buffer = state.locked { $0.spares.popLast() } ?? []
    buffer.removeAll(keepingCapacity: true)
    buffer.reserveCapacity(Int(PieceLayout.pieceLength.rawValue))
    return buffer
  }

  /// Waits for the pieces that were added. To be called once, after the last piece.
  func finish() -> (digest: SHA256Digest, pieces: [SHA256Digest]) {
    queue.sync { state.locked { ($0.whole.finalize(), $0.pieces) } }
  }
}
