import ContentPackage

/// The pieces of a package that readers wait for, and the order in which missing pieces are asked for because of that: those that are
/// wanted now, then those ahead of the page that was opened last, then the rest as the server has them. Pure.
struct PieceOrder: Hashable, Sendable {
  /// Pieces that are asked for ahead of the page that was opened last, counted with its own.
  static let windowLength = 16
  /// So many of these have a run cut short that brings others; those behind them wait for its end.
  static let nearLength = 4
  /// A piece that a run brings within so many pieces is waited for.
  static let soonLength = 2

  /// For each open request the pieces that it waits for, in the order in which they were made.
  var wanted: [Range<Int>] = []
  /// The pieces ahead, in the order in which they are read; each once.
  var ahead: [Int] = []

  /// Whether there is no reader: the server's order counts then.
  var isEmpty: Bool { wanted.isEmpty && ahead.isEmpty }

  /// The missing pieces to be asked for in one request; nil when none is missing. The run goes on for as long as the pieces that are to
  /// come next lie next to each other, so that it ends early only where reading jumps. `position` is where the run before ended.
  func nextRun(in pieces: PieceMap, from position: Int) -> Range<Int>? {
    var urgent = urgentPieces.lazy.filter { pieces.isMissing($0) }.makeIterator()
    guard let first = urgent.next() else {
      return pieces.nextMissingRun(from: position) ?? pieces.nextMissingRun(from: 0)
    }
    var end = first + 1
    while let next = urgent.next() {
      // One that is asked for twice is in the run already.
      if (first..<end).contains(next) { continue }
      guard next == end else { return first..<end }
      end += 1
    }
    return pieces.nextMissingRun(from: first)
  }

  /// Whether the run is cut short while it brings `piece`: another one is wanted more, and does not come soon. `lost` are pieces that were
  /// there and have to come again, `others` are those that other connections bring soon.
  func cuts(
    _ run: Range<Int>, at piece: Int, in pieces: PieceMap, lost: Set<Int> = [],
    besides others: [Range<Int>] = []
  ) -> Bool {
    // What the run has brought may be on its way to the disk.
    let isMissing = { (index: Int) in
      // An answer that begins before the run has a piece of before it.
      pieces.isMissing(index) && (!(run.lowerBound <= index && index < piece) || lost.contains(index))
        && !others.contains { $0.contains(index) }
    }
    let comesSoon = { (index: Int) in
      (piece...piece + Self.soonLength).contains(index) && run.contains(index)
    }
    if let first = wanted.lazy.joined().first(where: isMissing) {
      return !wanted.contains { $0.contains(piece) } && !comesSoon(first)
    }
    let near = ahead.prefix(Self.nearLength)
    guard let first = near.first(where: isMissing) else { return false }
    return !wanted.contains { $0.contains(piece) } && !near.contains(piece) && !comesSoon(first)
  }

  /// The first piece that readers want, or have ahead of them, and that is missing; nil where none is.
  func firstUrgent(where isMissing: (Int) -> Bool) -> Int? { urgentPieces.first(where: isMissing) }

  private var urgentPieces: some Sequence<Int> {
    [AnySequence(wanted.lazy.joined()), AnySequence(ahead)].lazy.joined()
  }
}

/// The order in which the files of a package are read: that of its manifest, and behind it the others by path.
struct ReadingSequence: Sendable {
  private let files: [Int]
  /// Where each file stands in ``files``.
  private let places: [Int]

  init(_ manifest: Manifest) {
    let known = Dictionary(
      manifest.files.enumerated().map { ($1.path, $0) }, uniquingKeysWith: { first, _ in first })
    let read = (manifest.readingOrder ?? []).compactMap { known[$0] }
    var files: [Int] = []
    var places: [Int?] = manifest.files.map { _ in nil }
    for file in read + manifest.files.indices where places[file] == nil {
      places[file] = files.count
      files.append(file)
    }
    self.files = files
    self.places = places.map { $0 ?? 0 }
  }

  /// The pieces from the byte at `offset` of that file on, in the order in which they are read; `count` at most, each once.
  func pieces(from offset: Int64, of file: Int, in plan: UnpackPlan, count: Int) -> [Int] {
    var pieces: [Int] = []
    var seen: Set<Int> = []
    for (number, index) in files[places[file]...].enumerated() {
      let range = number == 0 ? plan.pieces(of: index, from: offset) : plan.pieces(of: index)
      for piece in range where seen.insert(piece).inserted {
        pieces.append(piece)
        if pieces.count == count { return pieces }
      }
    }
    return pieces
  }
}
