import CoreTypes
import PullboxTesting

/// Packages are cut into pieces of this length.
let pieceLength: Int64 = 1 << 20

extension PackageProxy {
  /// Package bytes that went to clients since ``forwarded`` was `before`.
  func forwarded(since before: [Range<Int64>]) -> [Range<Int64>] {
    let now = forwarded
    var added = Array(now.dropFirst(before.count))
    // Its last range may have grown.
    if let last = before.last, last.upperBound < now[before.count - 1].upperBound {
      added.append(last.upperBound..<now[before.count - 1].upperBound)
    }
    return added
  }

  /// Package bytes that went to clients, once no more go: those that were under way to a client that ended are noted a moment later.
  func forwardedInTheEnd() async throws -> [Range<Int64>] {
    var before = forwarded
    while true {
      try await SystemMonotonicClock().sleep(for: .milliseconds(50))
      let now = forwarded
      guard now != before else { return now }
      before = now
    }
  }

  /// How often a byte of each piece went to a client: the most over the bytes of the piece.
  func timesForwarded(pieces: Int) -> [Int] {
    var bounds: [(offset: Int64, change: Int)] = []
    for range in forwarded {
      bounds.append((range.lowerBound, 1))
      bounds.append((range.upperBound, -1))
    }
    // Ends before beginnings at the same place: ranges that touch do not overlap.
    bounds.sort { ($0.offset, $0.change) < ($1.offset, $1.change) }
    var times = [Int](repeating: 0, count: pieces)
    var depth = 0
    var position: Int64 = 0
    for bound in bounds {
      if depth > 0, bound.offset > position {
        for piece in Int(position / pieceLength)...Int((bound.offset - 1) / pieceLength) where piece < pieces
        {
          times[piece] = max(times[piece], depth)
        }
      }
      depth += bound.change
      position = bound.offset
    }
    return times
  }
}
