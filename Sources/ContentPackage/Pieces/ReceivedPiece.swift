import Crypto

/// The bytes of one piece as they came from the network; nothing in them is to be believed yet.
public struct ReceivedPiece: Sendable {
  /// Which piece, counted from 0.
  public let index: Int
  /// The bytes that have come so far, from the front of the piece.
  public private(set) var bytes: [UInt8]
  /// The bytes this piece has when it is whole.
  public let length: Int

  /// An empty piece to be filled by ``append(_:)``. `reusing` gives a buffer of an earlier piece back.
  public init(index: Int, layout: PieceLayout, reusing buffer: consuming [UInt8] = []) {
    self.index = index
    length = layout.length(of: index)
    // Moved: with a second owner the buffer would be made anew.
    bytes = consume buffer
    bytes.removeAll(keepingCapacity: true)
    bytes.reserveCapacity(length)
  }

  /// Bytes that the piece still lacks.
  public var missingCount: Int { length - bytes.count }
  /// Whether all of the piece's bytes have come.
  public var isWhole: Bool { missingCount == 0 }

  /// Takes from the front of `received` what the piece still misses; answers how many bytes that was.
  public mutating func append(_ received: Span<UInt8>) -> Int {
    let count = min(missingCount, received.count)
    let taken = received.extracting(first: count)
    unsafe taken.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
    return count
  }
}

/// The bytes of one piece, known to be those the manifest lists: the only kind that is ever written.
public struct VerifiedPiece: Sendable {
  /// Which piece, counted from 0.
  public let index: Int
  /// All of the piece's bytes.
  public let bytes: [UInt8]

  /// Throws ``PieceMismatch`` when `piece` is not whole or its SHA-256 is not the manifest's.
  public init(_ piece: consuming ReceivedPiece, of manifest: Manifest) throws(PieceMismatch) {
    guard manifest.pieces.indices.contains(piece.index) else {
      throw PieceMismatch(index: piece.index, reason: .unknown)
    }
    guard piece.bytes.count == manifest.layout.length(of: piece.index) else {
      throw PieceMismatch(index: piece.index, reason: .notWhole)
    }
    var hasher = SHA256Hasher()
    hasher.update(piece.bytes.span)
    guard hasher.finalize() == manifest.pieces[piece.index] else {
      throw PieceMismatch(index: piece.index, reason: .otherBytes)
    }
    index = piece.index
    bytes = piece.bytes
  }

  /// Its bytes alone: where the piece had no other owner, nor do they.
  public consuming func takeBytes() -> [UInt8] { bytes }
}

/// Why a received piece does not count.
public struct PieceMismatch: Error, Hashable, Sendable {
  /// A reason why a piece does not count.
  public enum Reason: Hashable, Sendable {
    /// The package has no piece of this index.
    case unknown
    /// Bytes are missing.
    case notWhole
    /// The SHA-256 is not the manifest's.
    case otherBytes
  }

  /// Which piece, counted from 0.
  public let index: Int
  /// The reason why this piece does not count.
  public let reason: Reason
}

extension PieceMismatch: CustomStringConvertible {
  /// A sentence for logs.
  public var description: String {
    switch reason {
    case .unknown: "piece \(index): the package has no such piece"
    case .notWhole: "piece \(index): bytes are missing"
    case .otherBytes: "piece \(index): the bytes are not those the manifest lists"
    }
  }
}
