package import CoreTypes

/// Values by key, as many as a bound of entries and one of bytes allow; what was used lately stays. A pure value, which
/// its owner locks.
///
///     var cache = RecentlyUsedCache<SHA256Digest, Receipt>(maximumCount: 1000, maximumLength: .mebibytes(16))
///     cache.insert(receipt, for: digest, length: 5000)
///     cache.value(for: digest)
///
/// There are two generations. What is inserted or found goes into the newer one; when that has half of what is
/// allowed, the older one is dropped and the newer one takes its place. So each operation costs one or two
/// look-ups, and a value that was used within the last half of the bound is always there.
package struct RecentlyUsedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// One half of the values.
  private struct Generation {
    /// The values with the lengths that their owner says.
    var entries: [Key: (value: Value, length: ByteCount)] = [:]
    /// The sum of the lengths.
    var length = ByteCount.zero

    /// Takes the value of a key out with its length.
    mutating func remove(_ key: Key) -> (value: Value, length: ByteCount)? {
      guard let entry = entries.removeValue(forKey: key) else { return nil }
      length = length - entry.length
      return entry
    }
  }

  /// Entries of both generations, at most.
  private let maximumCount: Int
  /// The total length of both generations, at most.
  private let maximumLength: ByteCount
  /// The generation of values that were inserted or found lately.
  private var newer = Generation()
  /// The generation before; dropped when the newer one is full.
  private var older = Generation()

  /// - Parameters:
  ///   - maximumCount: entries that are kept, at least 2.
  ///   - maximumLength: what their owner says they take, together. A value that says more than half is not kept.
  package init(maximumCount: Int, maximumLength: ByteCount) {
    precondition(maximumCount >= 2)
    self.maximumCount = maximumCount
    self.maximumLength = maximumLength
  }

  /// The number of values; a key is in one generation alone.
  package var count: Int { newer.entries.count + older.entries.count }

  /// The total length of the values, as their owner states it.
  package var length: ByteCount { newer.length + older.length }

  /// The value, which is used by that.
  package mutating func value(for key: Key) -> Value? {
    if let entry = newer.entries[key] { return entry.value }
    guard let entry = older.remove(key) else { return nil }
    add(entry.value, for: key, length: entry.length)
    return entry.value
  }

  /// Keeps `value` instead of what the key had; `length` is what it takes.
  package mutating func insert(_ value: Value, for key: Key, length: ByteCount) {
    remove(key)
    guard length.rawValue <= maximumLength.rawValue / 2 else { return }
    add(value, for: key, length: length)
  }

  /// Drops the value of the key, if there is one.
  package mutating func remove(_ key: Key) {
    if newer.remove(key) == nil { _ = older.remove(key) }
  }

  /// Changes the value that was inserted or found last for the key, in its place.
  package mutating func update(_ key: Key, _ change: (inout Value) -> Void) {
    guard var entry = newer.entries.removeValue(forKey: key) else { return }
    change(&entry.value)
    newer.entries[key] = entry
  }

  /// Removes every value of which `condition` is true. Looks at all of them.
  package mutating func removeAll(where condition: (Value) -> Bool) {
    for (key, entry) in newer.entries where condition(entry.value) { _ = newer.remove(key) }
    for (key, entry) in older.entries where condition(entry.value) { _ = older.remove(key) }
  }

  /// Puts a value into the newer generation, which becomes the older one first where it has no room.
  private mutating func add(_ value: Value, for key: Key, length: ByteCount) {
    if newer.entries.count >= maximumCount / 2
      || newer.length.rawValue + length.rawValue > maximumLength.rawValue / 2
    {
      older = newer
      newer = Generation()
    }
    newer.entries[key] = (value, length)
    newer.length = newer.length + length
  }
}
