import Digests
public import Measures
import SystemCalls

/// Hashes a stream of bytes as a whole and piece by piece while it passes.
public struct PieceDigests: Sendable {
  public static let pieceLength = ByteCount.mebibytes(1)

  private var whole = SHA256Hasher()
  private var piece = SHA256Hasher()
  private var finished: [SHA256Digest] = []
  public private(set) var length = ByteCount.zero

  public init() {}

  /// Of the first `length` bytes of `file`; fewer when it ends before. Blocks while all of it is read.
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

  public mutating func update(_ bytes: Span<UInt8>) {
    whole.update(bytes)
    let pieceLength = PieceDigests.pieceLength.rawValue
    var position = 0
    while position < bytes.count {
      let count = min(bytes.count - position, Int(pieceLength - length.rawValue % pieceLength))
      piece.update(bytes.extracting(position..<position + count))
      position += count
      length += ByteCount(count)
      if length.rawValue % pieceLength == 0 {
        finished.append(piece.finalize())
        piece = SHA256Hasher()
      }
    }
  }

  /// Of everything so far; more may follow.
  public func finalize() -> ReceivedBlob {
    let isPieceBegun = length.rawValue % PieceDigests.pieceLength.rawValue != 0
    return ReceivedBlob(
      digest: whole.finalize(), length: length,
      pieces: isPieceBegun ? finished + [piece.finalize()] : finished)
  }
}
