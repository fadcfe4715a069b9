/// Requests that found no place among those in progress and wait for one, briefly: so what comes in bursts need not be sent
/// away. Of several classes the one goes first that is further along in a delivery, but each fourth turn is that of the class
/// whose next request came first, so that none waits for as long as others are asked for more than can be answered; of a class those
/// that have their bodies, as they were admitted once; otherwise the first come. A pure value, which its owner locks.
package struct WaitingRoom {
  /// Names one that waits.
  package typealias Number = UInt64

  /// A request that waits.
  package struct Entry: Hashable {
    /// The name by which its turn, or its end, is told.
    package var number: Number
    /// Its class, which decides whose turn is next.
    package var kind: AdmissionClass
    /// Nanoseconds of a monotonic clock; then it is sent away.
    package var until: UInt64
  }

  /// How long a request waits, in nanoseconds.
  static let patience: UInt64 = 2_000_000_000

  /// Turns by precedence between two that go by age.
  static let turnsByPrecedence = 3

  /// First in, first out.
  private struct Line {
    private var entries: [Entry] = []
    private var begin = 0

    var count: Int { entries.count - begin }
    var first: Entry? { begin < entries.count ? entries[begin] : nil }

    mutating func append(_ entry: Entry) { entries.append(entry) }

    mutating func remove(_ number: Number) -> Entry? {
      guard let place = entries[begin...].firstIndex(where: { $0.number == number }) else { return nil }
      return entries.remove(at: place)
    }

    mutating func removeFirst() {
      begin += 1
      guard begin * 2 > entries.count else { return }
      entries.removeFirst(begin)
      begin = 0
    }
  }

  private struct Lines {
    var withBodies = Line()
    var others = Line()

    var count: Int { withBodies.count + others.count }
    var first: Entry? { withBodies.first ?? others.first }

    mutating func removeFirst() {
      if withBodies.first == nil { others.removeFirst() } else { withBodies.removeFirst() }
    }
  }

  private var lines: [AdmissionClass: Lines] = [:]
  private var last: Number = 0
  private var turns = 0
  /// The number of requests that wait, of all classes.
  private(set) var count = 0

  func count(of kind: AdmissionClass) -> Int { lines[kind]?.count ?? 0 }

  /// Whether one more may wait: not where as many do as may, nor where so many go before it that it would not be its turn in
  /// time. Those that have their bodies are not kept out by those that have not been read.
  func canJoin(_ kind: AdmissionClass, hasBody: Bool, limit: Int, perSecond: Double) -> Bool {
    let ahead = hasBody ? lines[kind]?.withBodies.count ?? 0 : count(of: kind)
    return ahead < limit && Double(ahead + 1) / perSecond * 1e9 <= Double(Self.patience)
  }

  /// Takes one more in; nil where it may not wait.
  mutating func join(
    _ kind: AdmissionClass, hasBody: Bool, limit: Int, perSecond: Double, now: UInt64
  ) -> Number? {
    guard canJoin(kind, hasBody: hasBody, limit: limit, perSecond: perSecond) else { return nil }
    last += 1
    count += 1
    let entry = Entry(number: last, kind: kind, until: now + Self.patience)
    if hasBody {
      lines[kind, default: Lines()].withBodies.append(entry)
    } else {
      lines[kind, default: Lines()].others.append(entry)
    }
    return last
  }

  /// Takes out the request whose turn is next among the classes that have a place; nil where none waits.
  mutating func next(where hasPlace: (AdmissionClass) -> Bool) -> Entry? {
    let first = AdmissionClass.byPrecedence.filter(hasPlace).compactMap { lines[$0]?.first }
    let isByAge = (turns + 1).isMultiple(of: Self.turnsByPrecedence + 1)
    guard let entry = isByAge ? first.min(by: { $0.number < $1.number }) : first.first else { return nil }
    turns &+= 1
    lines[entry.kind]?.removeFirst()
    count -= 1
    return entry
  }

  /// Takes one out that waits no more; nil where its turn has come, or its time is over.
  mutating func remove(_ number: Number) -> Entry? {
    for kind in AdmissionClass.allCases {
      guard
        let entry = lines[kind]?.withBodies.remove(number) ?? lines[kind]?.others.remove(number)
      else { continue }
      count -= 1
      return entry
    }
    return nil
  }

  /// Those that have waited for too long, which are sent away.
  mutating func takeExpired(now: UInt64) -> [Entry] {
    var expired: [Entry] = []
    for kind in AdmissionClass.allCases {
      while let first = lines[kind]?.withBodies.first, first.until <= now {
        lines[kind]?.withBodies.removeFirst()
        expired.append(first)
      }
      while let first = lines[kind]?.others.first, first.until <= now {
        lines[kind]?.others.removeFirst()
        expired.append(first)
      }
    }
    count -= expired.count
    return expired
  }
}
