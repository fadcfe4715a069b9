package import Crypto

/// Decides which pieces of which packages are fetched, and when, for all readers of a ``PackageCache``: a value without I/O and clock.
///
/// A reader waits for pieces and is released as soon as these are verified. For its first missing piece a fetch begins of the run of
/// missing pieces from there to the end of the block; another reader of the same pieces waits for the same fetch. While readers will go
/// on to the next block, that one is fetched as well, after all that readers wait for. ``maximumFetches`` run at a time, over all
/// packages, and readers come in the order in which they asked.
///
/// Bytes that do not come are asked for once more, after a pause. If they do not come then, the readers that wait for them fail, and a
/// reader that asks later begins anew. If no piece of any package has come since that fetch began, the place is away, and so fail those who wait
/// behind ``maximumFetches``: each of them would wait as long again. Where little comes, and keeps them all busy, who has waited behind them for
/// ``patience`` fails as well. A package that is not found twice, or whose piece is other bytes twice, is set aside: it is not
/// fetched any more until it is restored.
package struct BlockPlan: Sendable {
  /// Fetches at a time, those that pause included.
  package static let maximumFetches = 16
  /// Before the second try of a fetch, where the place does not ask for another pause.
  static let pause = Duration.milliseconds(500)
  /// The longest pause before a second try; a reader that would wait longer fails.
  static let longestPause = Duration.seconds(5)
  /// So long a reader waits at least for one of ``maximumFetches`` to be free, and twice as long at most.
  package static let patience = Duration.seconds(10)

  /// A piece or a block of a package, by its number.
  private struct Part: Hashable {
    /// The digest of the package.
    let digest: SHA256Digest
    /// The number of the piece or the block.
    let number: Int
  }

  /// A wait for pieces.
  private struct Reader {
    /// The package that it reads.
    let digest: SHA256Digest
    /// The pieces that it waits for.
    let pieces: Range<Int>
    /// The first of them that is not verified.
    var awaited = 0
    /// The turn of ``patience`` in which it asked.
    var turn: UInt64 = 0
  }

  /// A fetch that runs or pauses.
  private struct Fetch {
    /// The package that it fetches.
    let digest: SHA256Digest
    /// The pieces that it has not brought, in order. Those that it has may be gone again, and on their way by another fetch.
    var rest: [Int]
    /// Why the same pieces did not come the first time; nil in a first try.
    var failure: PackageCacheError?
    /// The pieces that had come, of all packages, when the first try began.
    let verified: UInt64
  }

  /// A block that a reader will come to.
  private struct BlockAhead: Hashable {
    /// The block.
    let block: Part
    /// The piece behind the last one that the reader will read.
    let end: Int
    /// The reader that waits while this was planned; nil for one that has come to the block before.
    let reader: ReaderIdentifier?
  }

  /// The pieces of every known package.
  package private(set) var maps: [SHA256Digest: BlockMap] = [:]
  /// The packages that are not fetched, with the reasons.
  private var setAside: [SHA256Digest: PackageCacheError] = [:]
  /// The readers that wait.
  private var readers: [ReaderIdentifier: Reader] = [:]
  /// The readers whose first piece that is not verified is that one.
  private var awaiting: [Part: [ReaderIdentifier]] = [:]
  /// Missing pieces that readers wait for, in the order in which they asked.
  private var queue: [Part] = []
  /// The pieces in ``queue``, so that none is there twice.
  private var queued: Set<Part> = []
  /// Turns of ``patience`` that are over; one runs while readers wait in the queue.
  private var turns: UInt64 = 0
  private var hasTurn = false
  /// The blocks to be fetched when no reader waits for a piece.
  private var blocksAhead: [BlockAhead] = []
  /// Marked blocks, with the piece behind the last one that a reader will read.
  private var marks: [Part: Int] = [:]
  /// The fetches that run or pause.
  private var fetches: [FetchIdentifier: Fetch] = [:]
  /// The number of the last fetch.
  private var fetchCount: UInt64 = 0
  /// The pieces that came and were right, of all packages.
  private var verifiedCount: UInt64 = 0
  /// Whether the cache was closed.
  private var hasEnded = false
  /// The actions of the event that is being handled.
  private var actions: [Action] = []

  /// With no package.
  package init() {}

  /// Fetches that run or pause.
  package var runningFetches: Int { fetches.count }
  /// Readers that wait.
  package var waitingReaders: Int { readers.count }

  /// The reason for which the package is not fetched; nil unless it was set aside.
  package func fault(of digest: SHA256Digest) -> PackageCacheError? { setAside[digest] }

  /// Returns the actions in the order in which they are to be carried out.
  package mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .known(let digest, let map): maps[digest] = map
    case .forgotten(let digest):
      fail(digest, PackageCacheError(.notFound, "the package was removed"))
      maps[digest] = nil
      setAside[digest] = nil
    case .restored(let digest):
      setAside[digest] = nil
      maps[digest]?.forgetMismatches()
    case .wanted(let reader, let digest, let pieces, let end):
      want(reader, Reader(digest: digest, pieces: pieces), end: end)
    case .left(let reader): leave(reader)
    case .reached(let digest, let block):
      if let end = marks.removeValue(forKey: Part(digest: digest, number: block)) {
        readAhead(Part(digest: digest, number: block + 1), to: end, for: nil)
      }
    case .verified(let fetch, let piece): verify(piece, by: fetch)
    case .mismatched(let fetch, let piece): mismatch(piece, by: fetch)
    case .fetched(let fetch): end(fetch, nil)
    case .failed(let fetch, let error): end(fetch, error)
    case .checked(let digest, let piece, let isGood):
      guard maps[digest]?[piece] == .checking else { break }
      settle(Part(digest: digest, number: piece), as: isGood ? .verified : .missing)
    case .evictionBegan(let digest, let block):
      precondition(maps[digest]?.isEvictable(block) == true, "nothing of the block is on its way")
      for piece in pieces(of: Part(digest: digest, number: block)) { maps[digest]?[piece] = .leaving }
      marks[Part(digest: digest, number: block)] = nil
    case .evictionEnded(let digest, let block):
      for piece in pieces(of: Part(digest: digest, number: block))
      where maps[digest]?[piece] == .leaving {
        settle(Part(digest: digest, number: piece), as: .missing)
      }
    case .waited: endTurn()
    case .ended: endAll()
    }
    beginFetches()
    beginTurn()
    defer { actions = [] }
    return actions
  }

  /// The pieces of a block; none of a package that is not known.
  private func pieces(of block: Part) -> Range<Int> {
    maps[block.digest]?.layout.pieces(of: block.number) ?? 0..<0
  }

  // MARK: Readers

  /// Begins a wait; a reader of pieces that are there is released at once.
  private mutating func want(_ identifier: ReaderIdentifier, _ reader: Reader, end: Int) {
    guard !hasEnded else {
      return actions.append(.fail(identifier, PackageCacheError(.unavailable, "the cache was closed")))
    }
    guard let map = maps[reader.digest] else {
      return actions.append(.fail(identifier, PackageCacheError(.notFound, "the package was removed")))
    }
    readers[identifier] = reader
    readers[identifier]?.turn = turns
    advance(identifier)
    guard let awaited = readers[identifier]?.awaited else { return }
    let next = Part(digest: reader.digest, number: map.layout.block(of: awaited) + 1)
    readAhead(next, to: end, for: identifier)
  }

  /// Releases the reader, or has it wait for its first piece that is not there.
  private mutating func advance(_ identifier: ReaderIdentifier) {
    guard var reader = readers[identifier], let map = maps[reader.digest] else { return }
    guard let awaited = reader.pieces.first(where: { map[$0] != .verified }) else {
      readers[identifier] = nil
      return actions.append(.release(identifier))
    }
    // What is there of a package that was set aside is sent all the same.
    if let error = setAside[reader.digest] {
      readers[identifier] = nil
      return actions.append(.fail(identifier, error))
    }
    reader.awaited = awaited
    readers[identifier] = reader
    let piece = Part(digest: reader.digest, number: awaited)
    awaiting[piece, default: []].append(identifier)
    bring(piece)
  }

  /// Ends a wait. A fetch for it goes on, but blocks ahead are not fetched for it any more.
  private mutating func leave(_ identifier: ReaderIdentifier) {
    guard let reader = readers.removeValue(forKey: identifier) else { return }
    let piece = Part(digest: reader.digest, number: reader.awaited)
    awaiting[piece]?.removeAll { $0 == identifier }
    if awaiting[piece]?.isEmpty == true { awaiting[piece] = nil }
    blocksAhead.removeAll { $0.reader == identifier }
  }

  /// Lets those that wait for the piece go on, or fail.
  private mutating func wake(_ piece: Part, _ error: PackageCacheError? = nil) {
    for identifier in awaiting.removeValue(forKey: piece) ?? [] {
      if let error {
        readers[identifier] = nil
        actions.append(.fail(identifier, error))
      } else {
        advance(identifier)
      }
    }
  }

  /// Sees to it that the piece, for which readers wait, is on its way.
  private mutating func bring(_ piece: Part, isFirst: Bool = false) {
    guard let map = maps[piece.digest] else { return }
    switch map[piece.number] {
    case .missing:
      guard queued.insert(piece).inserted else { return }
      if isFirst { queue.insert(piece, at: 0) } else { queue.append(piece) }
    case .unchecked:
      let run = map.run(from: piece.number)
      for number in run { maps[piece.digest]?[number] = .checking }
      actions.append(.check(piece.digest, run))
    case .checking, .fetching, .verified, .leaving: break
    }
  }

  /// A piece that was on its way is there, or missing.
  private mutating func settle(_ piece: Part, as state: BlockMap.PieceState, isFirst: Bool = false) {
    maps[piece.digest]?[piece.number] = state
    if state == .verified {
      wake(piece)
    } else if awaiting[piece] != nil {
      bring(piece, isFirst: isFirst)
    }
  }

  // MARK: Turns

  private mutating func beginTurn() {
    guard !hasTurn, !queue.isEmpty else { return }
    hasTurn = true
    actions.append(.wait)
  }

  /// Fails who was there before this turn began, and is in the queue still.
  private mutating func endTurn() {
    hasTurn = false
    let error = PackageCacheError(.unavailable, "what others wait for takes too long to come")
    for piece in queue where maps[piece.digest]?[piece.number] == .missing {
      for identifier in awaiting[piece] ?? [] where (readers[identifier]?.turn).map({ $0 < turns }) == true {
        leave(identifier)
        actions.append(.fail(identifier, error))
      }
    }
    turns += 1
  }

  // MARK: Fetches

  /// Plans the block and marks it, where the reader will come so far. Marked again, a block keeps the farther end.
  private mutating func readAhead(_ block: Part, to end: Int, for reader: ReaderIdentifier?) {
    guard let first = pieces(of: block).first, first < end, setAside[block.digest] == nil else { return }
    marks[block] = max(end, marks[block] ?? 0)
    actions.append(.mark(block.digest, block: block.number))
    let ahead = BlockAhead(block: block, end: end, reader: reader)
    if !blocksAhead.contains(where: { $0.block == block && $0.end >= end }) { blocksAhead.append(ahead) }
  }

  /// Begins as many fetches as may run: first for readers that wait, then for blocks ahead.
  private mutating func beginFetches() {
    while fetches.count < Self.maximumFetches, !hasEnded {
      if let piece = queue.first {
        queue.removeFirst()
        queued.remove(piece)
        if awaiting[piece] != nil, maps[piece.digest]?[piece.number] == .missing { begin(piece) }
      } else if let ahead = blocksAhead.first {
        blocksAhead.removeFirst()
        guard let map = maps[ahead.block.digest], setAside[ahead.block.digest] == nil else { continue }
        let first = pieces(of: ahead.block).first { $0 < ahead.end && map[$0] == .missing }
        if let first { begin(Part(digest: ahead.block.digest, number: first)) }
      } else {
        return
      }
    }
  }

  /// Begins to fetch from the piece, which is missing, to the end of its block.
  private mutating func begin(
    _ piece: Part, after failure: PackageCacheError? = nil, since verified: UInt64? = nil
  ) {
    guard let run = maps[piece.digest]?.run(from: piece.number) else { return }
    for number in run { maps[piece.digest]?[number] = .fetching }
    fetchCount += 1
    let identifier = FetchIdentifier(rawValue: fetchCount)
    fetches[identifier] = Fetch(
      digest: piece.digest, rest: Array(run), failure: failure, verified: verified ?? verifiedCount)
    let pause = failure.map { $0.retryAfter ?? Self.pause } ?? .zero
    actions.append(.fetch(identifier, piece.digest, run, after: pause))
  }

  /// Notes a piece that came. One that the fetch was not to bring any more is not counted.
  private mutating func verify(_ piece: Int, by identifier: FetchIdentifier) {
    guard let fetch = fetches[identifier], let index = fetch.rest.firstIndex(of: piece) else { return }
    fetches[identifier]?.rest.remove(at: index)
    verifiedCount += 1
    settle(Part(digest: fetch.digest, number: piece), as: .verified)
  }

  /// Notes other bytes. The second time the package is set aside.
  private mutating func mismatch(_ piece: Int, by identifier: FetchIdentifier) {
    guard let fetch = fetches[identifier], fetch.rest.contains(piece) else { return }
    if maps[fetch.digest]?.noteMismatch(piece) == false {
      putAside(fetch.digest, PackageCacheError(.damaged, "piece \(piece) has other bytes, twice"))
    }
  }

  /// Ends a fetch. Pieces that it has not brought are missing again; who waits for them gets another try or the error.
  private mutating func end(_ identifier: FetchIdentifier, _ error: PackageCacheError?) {
    guard let fetch = fetches.removeValue(forKey: identifier), let map = maps[fetch.digest] else { return }
    var error = error
    if error == nil, !fetch.rest.allSatisfy({ map.isMismatched($0) }) {
      error = PackageCacheError(.damaged, "fewer bytes came than were asked for")
    }
    for piece in fetch.rest { maps[fetch.digest]?[piece] = .missing }
    let awaited = fetch.rest.map { Part(digest: fetch.digest, number: $0) }.filter { awaiting[$0] != nil }
    guard let error else {
      // Other bytes: once more, before what others wait for.
      for piece in awaited.reversed() { bring(piece, isFirst: true) }
      return
    }
    guard let first = awaited.first else { return }
    // A store that says something of one package has answered.
    let isSilent = !error.isOfPackage && fetch.failure?.isOfPackage == false
    switch verdict(error, of: fetch) {
    case .again:
      begin(first, after: error, since: fetch.verified)
      for piece in awaited.dropFirst().reversed() { bring(piece, isFirst: true) }
    case .fail(let error):
      for piece in awaited { wake(piece, error) }
      guard error.code == .unavailable, isSilent, fetch.verified == verifiedCount else { return }
      for piece in queue { wake(piece, error) }
    case .setAside: putAside(fetch.digest, error)
    }
  }

  /// The consequence of a fetch that failed.
  private enum Verdict {
    /// The same pieces are asked for once more.
    case again
    /// Those who wait for the pieces fail.
    case fail(PackageCacheError)
    /// The package is not fetched any more.
    case setAside
  }

  /// The consequence by the error, and by that of the first try where this is the second.
  private func verdict(_ error: PackageCacheError, of fetch: Fetch) -> Verdict {
    // Another try finds the disk as it is.
    guard error.isOfPackage || error.code == .unavailable else { return .fail(error) }
    guard let first = fetch.failure else {
      return (error.retryAfter ?? .zero) <= Self.longestPause ? .again : .fail(error)
    }
    guard error.isOfPackage else { return .fail(error) }
    // Once may be an answer of something on the way.
    return first.isOfPackage ? .setAside : .fail(PackageCacheError(.unavailable, error.message))
  }

  /// Sets a package aside and lets all who wait for it fail.
  private mutating func putAside(_ digest: SHA256Digest, _ error: PackageCacheError) {
    setAside[digest] = error
    // Before any reader learns of it.
    actions.append(.setAside(digest, error))
    fail(digest, error)
  }

  /// Ends what is on its way for the package, and the waits for it.
  private mutating func fail(_ digest: SHA256Digest, _ error: PackageCacheError) {
    for (identifier, fetch) in fetches where fetch.digest == digest {
      fetches[identifier] = nil
      for piece in fetch.rest { maps[digest]?[piece] = .missing }
      actions.append(.cancel(identifier))
    }
    for piece in awaiting.keys where piece.digest == digest { wake(piece, error) }
    blocksAhead.removeAll { $0.block.digest == digest }
    for block in marks.keys where block.digest == digest { marks[block] = nil }
  }

  /// Ends all fetches and waits for good.
  private mutating func endAll() {
    hasEnded = true
    for digest in maps.keys { fail(digest, PackageCacheError(.unavailable, "the cache was closed")) }
  }
}
