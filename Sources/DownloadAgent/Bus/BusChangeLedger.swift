import CoreTypes
import MessageBus

/// Remembers what those who watch were told of each object, and makes signals of what is different: a change of progress alone waits until a
/// second has passed since the last signal of its object. Pure.
struct BusChangeLedger {
  private struct Entry {
    /// The object as it is.
    var object: BusObject
    /// Its properties as they were told.
    var told: [String: BusValue]
    /// When that was; nil for what was told in an answer.
    var toldAt: MonotonicInstant?

    /// The properties that are different.
    var changes: [String: BusValue] { object.properties.filter { told[$0.key] != $0.value } }
  }

  /// The least time between two signals of a download's progress.
  static let pause: Duration = .seconds(1)
  /// Objects at most. Downloads and transactions that are over make room for others, and watchers are told that they are gone; where none is
  /// over, news of further objects is not told.
  static let bound = 4096

  private var entries: [BusPath: Entry] = [:]
  /// The objects with progress that waits.
  private var waiting: Set<BusPath> = []

  /// The objects were told in an answer.
  mutating func begin(_ objects: [BusObject]) {
    // What is over is taken in where there is room.
    for object in objects.filter({ !$0.isOver }) + objects.filter(\.isOver)
    where entries[object.path] == nil && entries.count < Self.bound {
      entries[object.path] = Entry(object: object, told: object.properties)
    }
  }

  /// The objects that there are, after a time in which no change was heard. Returns the signals that are to be sent at once.
  mutating func renew(_ objects: [BusObject], at now: MonotonicInstant) -> [BusSignal] {
    let there = Set(objects.map(\.path))
    let removals = entries.keys.filter { !there.contains($0) }.sorted().compactMap { remove($0) }
    return removals + objects.flatMap { note($0, at: now) }
  }

  /// The object is so from now on. Returns the signals that are to be sent at once.
  mutating func note(_ object: BusObject, at now: MonotonicInstant) -> [BusSignal] {
    if entries[object.path] != nil { return change(object, at: now).map { [$0] } ?? [] }
    var signals: [BusSignal] = []
    if entries.count >= Self.bound, let over = oldestThatIsOver, let removal = remove(over) {
      signals.append(removal)
    }
    guard entries.count < Self.bound else { return [] }
    entries[object.path] = Entry(object: object, told: object.properties, toldAt: now)
    return signals + [Self.added(object)]
  }

  private var oldestThatIsOver: BusPath? {
    entries.values.filter(\.object.isOver).min { left, right in
      (left.toldAt?.nanoseconds ?? 0, left.object.path) < (right.toldAt?.nanoseconds ?? 0, right.object.path)
    }?.object.path
  }

  /// Nil for an object that is as it was told, and for progress that waits.
  private mutating func change(_ object: BusObject, at now: MonotonicInstant) -> BusSignal? {
    guard var entry = entries[object.path] else { return nil }
    entry.object = object
    let changes = entry.changes
    let isProgress = changes.keys.allSatisfy(BusObject.progress.contains)
    guard !changes.isEmpty else {
      entries[object.path] = entry
      waiting.remove(object.path)
      return nil
    }
    if isProgress, let toldAt = entry.toldAt, now - toldAt < Self.pause {
      entries[object.path] = entry
      waiting.insert(object.path)
      return nil
    }
    return tell(&entry, changes, at: now)
  }

  /// The object is gone. Returns the signal that says so; nil for one that was never told of.
  mutating func remove(_ path: BusPath) -> BusSignal? {
    waiting.remove(path)
    guard let entry = entries.removeValue(forKey: path) else { return nil }
    return Self.removed(path, entry.object.interface)
  }

  /// When the first progress that waits is to be told; nil where none waits.
  var nextTime: MonotonicInstant? {
    waiting.compactMap { entries[$0]?.toldAt }.min().map { $0 + Self.pause }
  }

  /// The signals of progress that has waited long enough.
  mutating func due(at now: MonotonicInstant) -> [BusSignal] {
    var signals: [BusSignal] = []
    for path in waiting.sorted() {
      guard var entry = entries[path], let toldAt = entry.toldAt, now - toldAt >= Self.pause else { continue }
      signals.append(tell(&entry, entry.changes, at: now))
    }
    return signals
  }

  /// The signal that tells one who missed signals how an object stands: all of it, or that it has gone. Nil for the agent itself.
  func whole(_ path: BusPath) -> BusSignal? {
    if let entry = entries[path] { return Self.added(entry.object) }
    return BusObject.interface(at: path).map { Self.removed(path, $0) }
  }

  private mutating func tell(
    _ entry: inout Entry, _ changes: [String: BusValue], at now: MonotonicInstant
  ) -> BusSignal {
    entry.told = entry.object.properties
    entry.toldAt = now
    entries[entry.object.path] = entry
    waiting.remove(entry.object.path)
    return .propertiesChanged(of: entry.object.interface, at: entry.object.path, changes)
  }

  private static func removed(_ path: BusPath, _ interface: BusInterface) -> BusSignal {
    BusSignal(
      "InterfacesRemoved", of: .objectManager, at: BusObject.root,
      arguments: [.path(path), .strings([interface.description])])
  }

  private static func added(_ object: BusObject) -> BusSignal {
    BusSignal(
      "InterfacesAdded", of: .objectManager, at: BusObject.root,
      arguments: [.path(object.path), object.interfaces])
  }
}

extension BusSignal {
  /// The object that a signal of the ledger tells of: an object manager tells of others.
  var subject: BusPath { arguments.first?.objectPath ?? path }
}
