internal import Database

/// The lock as PostgreSQL's advisory locks know it.
extension DatabaseLock {
  /// The number by which the server knows the lock: FNV-1a of its name, in 64 bits. Two locks that share one wait for each other
  /// without need, and harm nothing.
  var key: Int64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in "pullbox \(kind) \(name)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    return Int64(bitPattern: hash)
  }

  /// Takes the lock until the end of the transaction; its one value is the ``key``.
  var statement: String {
    mode == .shared ? "SELECT pg_advisory_xact_lock_shared(?)" : "SELECT pg_advisory_xact_lock(?)"
  }
}

/// Takes all of a body's locks, in their order, by one statement.
struct LockStatement {
  /// The lists of keys and modes have the same order, in which `unnest` pairs them.
  let sql = """
    SELECT CASE WHEN shared THEN pg_advisory_xact_lock_shared(key) ELSE pg_advisory_xact_lock(key) END AS taken
    FROM unnest(CAST(? AS BIGINT[]), CAST(? AS BOOLEAN[])) AS locks (key, shared)
    """
  /// Two arrays as text in the form of PostgreSQL, `{1,2}`: the keys, and whether each is shared.
  let values: [SQLValue]

  /// The statement's values for locks that are in the order in which they are to be taken.
  init(_ locks: [DatabaseLock]) {
    values = [
      .text("{" + locks.map { String($0.key) }.joined(separator: ",") + "}"),
      .text("{" + locks.map { $0.mode == .shared ? "t" : "f" }.joined(separator: ",") + "}"),
    ]
  }
}
