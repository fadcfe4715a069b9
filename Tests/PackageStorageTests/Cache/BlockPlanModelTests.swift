import CoreTypes
import Crypto
import PullboxTesting
import Testing

@testable import PackageStorage

/// Random events against a model that knows no order: only what is there, who waits, and what runs.
@Suite("The plan of fetches, by a model")
struct BlockPlanModelTests {
  private struct Piece: Hashable, Comparable {
    let digest: SHA256Digest
    let number: Int

    static func < (left: Piece, right: Piece) -> Bool {
      (left.number, left.digest.hexadecimal) < (right.number, right.digest.hexadecimal)
    }
  }

  private struct Fetch {
    let digest: SHA256Digest
    /// The pieces that have not come yet.
    var rest: [Int]
    /// Those that came with other bytes: they are asked for again once the fetch has ended.
    var mismatched: [Int] = []

    func brings(_ piece: Piece) -> Bool {
      digest == piece.digest && (rest.contains(piece.number) || mismatched.contains(piece.number))
    }
  }

  private struct Broken: Error, CustomStringConvertible {
    let description: String
  }

  private struct Model {
    static let digests = (0..<3).map { SHA256Digest.of([UInt8($0)]) }
    static let lengths = [1, 21, 64]

    var plan = BlockPlan()
    var random: SplitMix
    var present: Set<Piece> = []
    var waiting: [BlockPlan.ReaderIdentifier: Set<Piece>] = [:]
    var fetches: [BlockPlan.FetchIdentifier: Fetch] = [:]
    var checks: [Piece] = []
    var marks: Set<Piece> = []
    var hasTurn = false
    var leaving: Set<Piece> = []
    var mismatches: [Piece: Int] = [:]
    var isSetAside: Set<SHA256Digest> = []
    var readerCount: UInt64 = 0
    var failures = 0
    var released = 0
    var setAside = 0

    init(seed: UInt64) throws {
      random = SplitMix(seed: seed)
      for (digest, length) in zip(Self.digests, Self.lengths) {
        var map = BlockMap(BlockLayout(packageLength: .mebibytes(Int64(length))))
        for piece in 0..<length where random.next() % 4 == 0 { map[piece] = .unchecked }
        try take(plan.handle(.known(digest, map)))
      }
    }

    func isGood(_ piece: Piece) -> Bool { (piece.number + 1) % 7 != 0 }

    mutating func take(_ actions: [BlockPlan.Action]) throws {
      for action in actions {
        switch action {
        case .fetch(let identifier, let digest, let pieces, _):
          let layout = BlockLayout(packageLength: .mebibytes(Int64(length(of: digest))))
          try require(
            !pieces.isEmpty && layout.block(of: pieces.lowerBound) == layout.block(of: pieces.upperBound - 1),
            "a fetch lies in one block")
          for number in pieces {
            let piece = Piece(digest: digest, number: number)
            try require(!present.contains(piece), "what is there is not fetched")
            try require(!leaving.contains(piece), "what is leaving is not fetched")
            try require(!checks.contains(piece), "what is checked is not fetched")
            try require(
              !fetches.values.contains { $0.brings(piece) },
              "no piece is fetched twice at a time")
          }
          try require(!isSetAside.contains(digest), "what was set aside is not fetched")
          fetches[identifier] = Fetch(digest: digest, rest: Array(pieces))
        case .cancel(let identifier): fetches[identifier] = nil
        case .check(let digest, let pieces): checks += pieces.map { Piece(digest: digest, number: $0) }
        case .wait:
          try require(!hasTurn, "one turn runs at a time")
          hasTurn = true
        case .mark(let digest, let block): marks.insert(Piece(digest: digest, number: block))
        case .release(let reader):
          let pieces = waiting.removeValue(forKey: reader)
          try require(pieces?.isSubset(of: present) == true, "a reader is released when its pieces are there")
          released += 1
        case .fail(let reader, _):
          try require(waiting.removeValue(forKey: reader) != nil, "a reader fails once")
          failures += 1
        case .setAside(let digest, _):
          isSetAside.insert(digest)
          setAside += 1
        }
      }
      try require(fetches.count <= BlockPlan.maximumFetches, "no more than 16 fetches run")
      try require(plan.runningFetches == fetches.count, "the plan counts its fetches")
      try require(plan.waitingReaders == waiting.count, "the plan counts its readers")
      for pieces in waiting.values {
        try require(!pieces.isSubset(of: present), "a reader whose pieces are there is released")
        guard fetches.count < BlockPlan.maximumFetches else { continue }
        let missing = pieces.subtracting(present)
        try require(
          missing.contains { piece in
            checks.contains(piece) || leaving.contains(piece) || fetches.values.contains { $0.brings(piece) }
          }, "something that a reader waits for is on its way")
      }
    }

    func length(of digest: SHA256Digest) -> Int {
      Self.digests.firstIndex(of: digest).map { Self.lengths[$0] } ?? 0
    }

    func require(_ condition: Bool, _ rule: String) throws {
      if !condition { throw Broken(description: rule) }
    }

    mutating func step() throws {
      switch random.next() % 100 {
      case 0..<35: try want()
      case 35..<65: try bring()
      case 65..<72: try check()
      case 72..<80: try evict()
      case 80..<86: try endEviction()
      case 86..<91: try leave()
      case 91..<96: try reach()
      case 96: try restore()
      case 97:
        guard hasTurn else { return }
        hasTurn = false
        try take(plan.handle(.waited))
      default: try fail()
      }
    }

    mutating func want() throws {
      let index = Int(random.next() % 3)
      let (digest, length) = (Self.digests[index], Self.lengths[index])
      let first = Int(random.next() % UInt64(length))
      let end = first + 1 + Int(random.next() % UInt64(length - first))
      let pieces = first..<min(end, first + 1 + Int(random.next() % 3))
      readerCount += 1
      let reader = BlockPlan.ReaderIdentifier(rawValue: readerCount)
      waiting[reader] = Set(pieces.map { Piece(digest: digest, number: $0) })
      try take(plan.handle(.wanted(reader, digest, pieces, end: end)))
    }

    /// The next piece of a fetch comes, right or wrong, or the fetch ends.
    mutating func bring() throws {
      guard
        let identifier = fetches.keys.min(by: {
          ($0.rawValue % 5, $0.rawValue) < ($1.rawValue % 5, $1.rawValue)
        }),
        let fetch = fetches[identifier]
      else { return }
      guard let number = fetch.rest.first else {
        fetches[identifier] = nil
        return try take(plan.handle(.fetched(identifier)))
      }
      let piece = Piece(digest: fetch.digest, number: number)
      fetches[identifier]?.rest.removeFirst()
      // What came wrong once is likely to come wrong again: an origin that lies goes on lying.
      if random.next() % (mismatches[piece] == nil ? 40 : 3) == 0 {
        mismatches[piece, default: 0] += 1
        fetches[identifier]?.mismatched.append(number)
        let isSecond = mismatches[piece] == 2
        let actions = plan.handle(.mismatched(identifier, piece: number))
        try require(
          actions.contains { if case .setAside(fetch.digest, _) = $0 { true } else { false } } == isSecond,
          "other bytes twice set a package aside")
        try take(actions)
      } else {
        present.insert(piece)
        mismatches[piece] = nil
        try take(plan.handle(.verified(identifier, piece: number)))
      }
    }

    mutating func fail() throws {
      guard let identifier = fetches.keys.min(by: { $0.rawValue < $1.rawValue }) else { return }
      fetches[identifier] = nil
      let codes: [PackageCacheError.Code] = [.unavailable, .notFound, .damaged, .outOfSpace, .storage]
      let code = codes[Int(random.next() % UInt64(codes.count))]
      try take(plan.handle(.failed(identifier, PackageCacheError(code, "a test"))))
    }

    mutating func check() throws {
      guard !checks.isEmpty else { return }
      let piece = checks.remove(at: Int(random.next() % UInt64(checks.count)))
      if isGood(piece) { present.insert(piece) }
      try take(plan.handle(.checked(piece.digest, piece: piece.number, isGood: isGood(piece))))
    }

    mutating func evict() throws {
      let digest = Self.digests[Int(random.next() % 3)]
      guard let map = plan.maps[digest], let block = (0..<map.layout.count).first(where: map.isEvictable)
      else { return }
      for number in map.layout.pieces(of: block) {
        let piece = Piece(digest: digest, number: number)
        present.remove(piece)
        leaving.insert(piece)
      }
      try take(plan.handle(.evictionBegan(digest, block: block)))
    }

    mutating func endEviction() throws {
      guard let piece = leaving.min() else { return }
      let layout = BlockLayout(packageLength: .mebibytes(Int64(length(of: piece.digest))))
      let block = layout.block(of: piece.number)
      for number in layout.pieces(of: block) { leaving.remove(Piece(digest: piece.digest, number: number)) }
      try take(plan.handle(.evictionEnded(piece.digest, block: block)))
    }

    mutating func leave() throws {
      guard let reader = waiting.keys.min(by: { $0.rawValue < $1.rawValue }) else { return }
      waiting[reader] = nil
      try take(plan.handle(.left(reader)))
    }

    mutating func reach() throws {
      guard let block = marks.min() else { return }
      marks.remove(block)
      try take(plan.handle(.reached(block.digest, block: block.number)))
    }

    mutating func restore() throws {
      guard let digest = Self.digests.first(where: isSetAside.contains) else { return }
      isSetAside.remove(digest)
      mismatches = mismatches.filter { $0.key.digest != digest }
      try take(plan.handle(.restored(digest)))
    }

    /// Lets everything end that has begun.
    mutating func settle() throws {
      while !checks.isEmpty || !leaving.isEmpty || !fetches.isEmpty {
        try check()
        try endEviction()
        try bring()
      }
    }
  }

  @Test("whatever comes in whatever order, each reader is told once, and nothing is fetched twice or lost")
  func random() throws {
    var (failures, released, setAside) = (0, 0, 0)
    for seed in ExhaustiveShare.environment.elements(of: Array(UInt64(1)...64)) {
      do {
        var model = try Model(seed: seed)
        for _ in 0..<1000 { try model.step() }
        try model.settle()
        #expect(model.waiting.isEmpty, "seed \(seed): all who wait are told in the end")
        failures += model.failures
        released += model.released
        setAside += model.setAside
      } catch let broken as Broken {
        Issue.record("seed \(seed): \(broken)")
      }
    }
    // Each of them was tried.
    #expect(failures > 50)
    #expect(released > 1000)
    #expect(setAside > 5)
  }
}
