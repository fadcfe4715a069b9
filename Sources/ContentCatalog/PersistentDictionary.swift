/// A dictionary of which a changed copy shares with the original all parts but those that hold what was changed: a copy costs the same
/// however much is in it, and a change a part's length.
///
///     var next = entries        // shares everything
///     next[product] = entry     // copies one of 4,096 parts
struct PersistentDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable, Sequence {
  private static var partCount: Int { 4096 }

  private var parts: [[Key: Value]] = Array(repeating: [:], count: Self.partCount)
  private(set) var count = 0

  subscript(_ key: Key) -> Value? {
    get { parts[Self.part(of: key)][key] }
    set {
      let part = Self.part(of: key)
      count -= parts[part].count
      parts[part][key] = newValue
      count += parts[part].count
    }
  }

  /// Changes a value in place; `initial` is what there is of a key that is not there.
  mutating func change(_ key: Key, or initial: Value, by body: (inout Value) -> Void) {
    let part = Self.part(of: key)
    count -= parts[part].count
    body(&parts[part][key, default: initial])
    count += parts[part].count
  }

  /// Returns the value that was there; nil for none.
  mutating func removeValue(forKey key: Key) -> Value? {
    let part = Self.part(of: key)
    let old = parts[part].removeValue(forKey: key)
    if old != nil { count -= 1 }
    return old
  }

  /// Iterates in no order.
  func makeIterator() -> some IteratorProtocol<(key: Key, value: Value)> {
    parts.lazy.joined().makeIterator()
  }

  /// The part of a key: the first twelve bits of its hash, which differ from process to process.
  private static func part(of key: Key) -> Int { Int(UInt(bitPattern: key.hashValue) >> 52) }
}
