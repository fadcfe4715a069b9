extension PieceMap {
  /// Runs of pieces that are still to be fetched, in order, neighbours joined.
  public var missingRuns: [Range<Int>] { runs(verified: false) }

  /// Runs of pieces that are verified, in order, neighbours joined.
  public var verifiedRuns: [Range<Int>] { runs(verified: true) }

  /// The bytes of the package still to be fetched, as the ranges of requests.
  public var missingByteRanges: [Range<Int64>] { missingRuns.map { layout.range(of: $0) } }

  /// The first run of missing pieces at or after `piece`, at most `maximumCount` long; nil when none is missing there.
  public func nextMissingRun(from piece: Int, maximumCount: Int = .max) -> Range<Int>? {
    var start = piece
    while start < layout.count, isVerified(start) { start += 1 }
    guard start < layout.count else { return nil }
    var end = start + 1
    while end < layout.count, end - start < maximumCount, !isVerified(end) { end += 1 }
    return start..<end
  }

  private func runs(verified: Bool) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var start: Int?
    for piece in 0..<layout.count {
      if isVerified(piece) == verified {
        start = start ?? piece
      } else if let first = start {
        runs.append(first..<piece)
        start = nil
      }
    }
    if let first = start { runs.append(first..<layout.count) }
    return runs
  }
}
