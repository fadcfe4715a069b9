public import CoreTypes
import Crypto
import SystemCalls

/// Hashes a stream of bytes as a whole and piece by piece while it passes.
public struct PieceDigests: Sendable {
  /// Bytes of every piece but the last: 1,048,576.
  public static let pieceLength = ByteCount.mebibytes(1)

  private var whole = SHA256Hasher()
  private var piece = PieceHasherState()
  private var finished: [SHA256Digest] = []
  /// Bytes that were hashed so far.
  public private(set) var length = ByteCount.zero

  /// Starts with no bytes.
  public init() {}

  /// The digests of the first `length` bytes of `file`; of fewer when it ends before. Blocks while all of it is read.
  init(reading file: borrowing FileDescriptor, upTo length: ByteCount) throws(SystemError) {
    var buffer: [UInt8] = []
    while self.length < length {
      buffer.removeAll(keepingCapacity: true)
      let count = min(PieceDigests.pieceLength, length - self.length)
      try file.read(upTo: Int(count.rawValue), at: self.length, into: &buffer)
      if buffer.isEmpty { return }
      update(buffer.span)
    }
  }

  /// Hashes the next bytes of the file; they may be any number and cross pieces.
  public mutating func update(_ bytes: Span<UInt8>) {
    whole.update(bytes)
    finished += piece.update(bytes)
    length += ByteCount(bytes.count)
  }

  /// Does the same as ``update(_:)``, with both digests computed on threads of `pool` while `work` runs on the caller's. When `work`
  /// throws, nothing is added, and the digests are not waited for. Blocks; not from a thread of `pool`.
  mutating func update<Failure: Error>(
    _ bytes: [UInt8], on pool: BlockingPool, beside work: () throws(Failure) -> Void
  ) throws(Failure) {
    let (whole, piece) = (whole, piece)
    let nextWhole = pool.start { () throws(Never) -> SHA256Hasher in
      var whole = whole
      whole.update(bytes.span)
      return whole
    }
    let nextPiece = pool.start { () throws(Never) -> (PieceHasherState, [SHA256Digest]) in
      var piece = piece
      let finished = piece.update(bytes.span)
      return (piece, finished)
    }
    try work()
    self.whole = nextWhole.get()
    let (next, nowFinished) = nextPiece.get()
    self.piece = next
    finished += nowFinished
    length += ByteCount(bytes.count)
  }

  /// The digests of everything so far; more may follow.
  public func finalize() -> BlobDescription {
    BlobDescription(
      digest: whole.finalize(), length: length,
      pieces: piece.isBegun ? finished + [piece.digest] : finished)
  }
}

/// The piece that a stream of bytes is in the middle of.
struct PieceHasherState: Sendable {
  private var hasher = SHA256Hasher()
  /// Bytes of the piece so far; less than a whole piece.
  private var length = 0

  var isBegun: Bool { length > 0 }
  /// The digest of the piece so far; more bytes may follow.
  var digest: SHA256Digest { hasher.finalize() }

  /// Answers the digests of the pieces that end within `bytes`.
  mutating func update(_ bytes: Span<UInt8>) -> [SHA256Digest] {
    let pieceLength = Int(PieceDigests.pieceLength.rawValue)
    var finished: [SHA256Digest] = []
    var position = 0
    while position < bytes.count {
      let count = min(bytes.count - position, pieceLength - length)
      hasher.update(bytes.extracting(position..<position + count))
      position += count
      length += count
      if length == pieceLength {
        finished.append(hasher.finalize())
        self = PieceHasherState()
      }
    }
    return finished
  }
}
