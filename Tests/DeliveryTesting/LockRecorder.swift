package import Database
import Synchronization

/// Notes the locks of every write of a database, also where SQLite takes none, so that tests see which writes an engine with
/// several writers would let run side by side.
///
///     let recorder = LockRecorder()
///     let database = try file.open(options: recorder.options)
package final class LockRecorder: Sendable {
  private let seen = Mutex<[[DatabaseLock]]>([])

  package init() {}

  /// Those of ``TestDatabase``, with this recorder.
  package var options: Database.Options {
    var options = TestDatabase.options
    options.lockObserver = { [self] lock in note(lock) }
    return options
  }

  /// The locks of each write, in the order in which they are taken. A body that runs twice is there twice.
  package var writes: [[DatabaseLock]] { seen.withLock { $0 } }

  /// Forgets what was noted.
  package func forget() {
    seen.withLock { $0 = [] }
  }

  private func note(_ lock: DatabaseLock) {
    seen.withLock { seen in
      // The first lock of every write.
      if lock.kind == DatabaseLock.everything.kind || seen.isEmpty { seen.append([]) }
      seen[seen.count - 1].append(lock)
    }
  }
}

extension [DatabaseLock] {
  /// Whether a write with these locks waits for one with those.
  package func conflict(with others: [DatabaseLock]) -> Bool {
    contains { lock in
      others.contains { other in
        other.kind == lock.kind && other.name == lock.name
          && (lock.mode == .exclusive || other.mode == .exclusive)
      }
    }
  }
}
