/// The bytes of one piece as they came from the network; nothing in them is to be believed yet.
public struct ReceivedPiece: Sendable {
  public let index: Int
  public private(set) var bytes: [UInt8]
  /// The bytes this piece has when it is whole.
  public let length: Int

  /// An empty piece to be filled by ``append(_:)``. `reusing` gives a buffer of an earlier piece back.
  public init(index: Int, layout: PieceLayout, reusing buffer: consuming [UInt8] = []) {
    self.index = index
    length = layout.length(of: index)
    bytes = buffer
    bytes.removeAll(keepingCapacity: true)
    bytes.reserveCapacity(length)
  }

  public var missingCount: Int { length - bytes.count }
  public var isWhole: Bool { missingCount == 0 }

  /// Takes from the front of `received` what the piece still misses; answers how many bytes that was.
  public mutating func append(_ received: Span<UInt8>) -> Int {
    let count = min(missingCount, received.count)
    let taken = received.extracting(first: count)
    unsafe taken.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
    return count
  }
}
