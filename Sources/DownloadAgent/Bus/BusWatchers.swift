import MessageBus

/// Those who asked for the agent's objects and are told of changes, and how much of that each has not read yet: a question that a reader
/// answers comes behind the signals before it, so that its answer says that these were read. One that falls behind misses signals of its
/// own and no other's, and is told how the objects stand when it reads on. Pure.
struct BusWatchers {
  private struct Watcher {
    let user: UInt32?
    /// Bytes that it may not have read.
    var unread = 0
    /// How many of them the question under way stands behind; nil without one.
    var asked: Int?
    /// The objects of which it missed signals.
    var missed: Set<BusPath> = []
  }

  /// Bytes that wait for one watcher, at most.
  static let boundOfWatcher = 256 << 10
  /// Bytes after which it is asked whether it reads.
  static let askAfter = 32 << 10
  /// Watchers at one time.
  static let maximum = 64
  /// Those of one user.
  static let maximumOfUser = 16

  private var watchers: [BusName: Watcher] = [:]

  /// Whether none is there.
  var isEmpty: Bool { watchers.isEmpty }

  /// Whether that connection watches.
  func contains(_ name: BusName) -> Bool { watchers[name] != nil }

  /// Adds a watcher, or keeps one that is there. False where there are too many, or too many of its user.
  mutating func add(_ name: BusName, user: UInt32?) -> Bool {
    if watchers[name] != nil { return true }
    guard watchers.count < Self.maximum,
      watchers.values.count(where: { $0.user == user }) < Self.maximumOfUser
    else { return false }
    watchers[name] = Watcher(user: user)
    return true
  }

  /// False where it was not there.
  mutating func remove(_ name: BusName) -> Bool { watchers.removeValue(forKey: name) != nil }

  /// Counts a signal of so many bytes about an object. Returns those to whom it is sent, and those who are then to be asked whether they
  /// have read.
  mutating func send(
    _ length: Int, about path: BusPath, to one: BusName? = nil
  ) -> (recipients: [BusName], asked: [BusName]) {
    var recipients: [BusName] = []
    var asked: [BusName] = []
    for name in one.map({ [$0] }) ?? watchers.keys.sorted(by: { $0.description < $1.description }) {
      guard var watcher = watchers[name] else { continue }
      if watcher.unread + length > Self.boundOfWatcher && watcher.unread > 0 || !watcher.missed.isEmpty {
        watcher.missed.insert(path)
      } else {
        watcher.unread += length
        recipients.append(name)
      }
      if watcher.asked == nil, watcher.unread >= Self.askAfter || !watcher.missed.isEmpty {
        watcher.asked = watcher.unread
        asked.append(name)
      }
      watchers[name] = watcher
    }
    return (recipients, asked)
  }

  /// The signal could not be sent to a watcher after all.
  mutating func missed(_ path: BusPath, by name: BusName) { watchers[name]?.missed.insert(path) }

  /// The watcher has answered. Returns the objects of which it is to be told anew, in order.
  mutating func answered(_ name: BusName) -> [BusPath] {
    guard var watcher = watchers[name] else { return [] }
    watcher.unread -= watcher.asked ?? 0
    watcher.asked = nil
    let missed = watcher.missed.sorted()
    watcher.missed = []
    watchers[name] = watcher
    return missed
  }
}
