import CoreTypes
package import Database
import DeliveryRecords
package import ServiceRuntime
import Synchronization
import SystemCalls

/// Keeps the newest ``CatalogSnapshot``. What has changed is read and decoded once, however many ask for it, and
/// decoded on threads that are not the database's. Any number of tasks may ask it at once. Snapshots that were
/// handed out stay as they were.
package final class CatalogCache: Sendable {
  /// The newest snapshot and the load that will replace it, behind one lock.
  private struct State {
    var snapshot = CatalogSnapshot.empty
    /// The load that runs; all who need one wait for it.
    package var load: Task<Void, any Error>?
    /// All changes that were counted by then are in the snapshot; nil before there is one.
    package var counted: Int?
  }

  private let database: Database
  private let state = Mutex(State())

  /// Begins with an empty catalog, which the first question replaces.
  package init(database: Database) {
    self.database = database
  }

  /// The catalog as it is: with every change that was committed before the call. Throws what the database
  /// throws. Asks it nothing where nothing has changed.
  package func current() async throws -> CatalogSnapshot {
    let count = database.changes(of: .catalog)
    if let known = state.locked({ $0.counted == count ? $0.snapshot : nil }) { return known }
    return try await renewed()
  }

  /// The same, also with what another process has changed. Costs one read of the revision, also where nothing
  /// has changed.
  package func renewed() async throws -> CatalogSnapshot {
    let count = database.changes(of: .catalog)
    let snapshot = try await snapshot(at: try await database.read { try CatalogRevision.current(in: $0) })
    state.locked { $0.counted = max($0.counted ?? 0, count) }
    return snapshot
  }

  /// Returns the value that `body` computes from the newest catalog that is known. Where the database has a newer one
  /// (``CatalogSnapshot/isCurrent(in:)``, asked in the same read or write as everything else), `body` returns nil and is
  /// called again with the newer one. Throws what `body` and the database throw. `body` may be called any
  /// number of times and must have no effect when it returns nil.
  package func current<Value>(_ body: (CatalogSnapshot) async throws -> Value?) async throws -> Value {
    var catalog = latest
    while true {
      if let value = try await body(catalog) { return value }
      catalog = try await renewed()
    }
  }

  /// The newest catalog that is known; the database may have a newer one.
  package var latest: CatalogSnapshot { state.locked { $0.snapshot } }

  /// Reads the catalog before anyone asks, so that the first customers after a start do not wait for it. What fails is told in
  /// the log, and tried again by the first question.
  package func readAhead(log: Log) async {
    do {
      _ = try await current()
    } catch is CancellationError {
      // The server stops.
    } catch {
      log.warning("the catalog could not be read at the start", ["error": LogValue(error)])
    }
  }

  /// The catalog at that revision, which was read from the database, or at a later one. Joins a load that runs
  /// and begins one where none does, until the revision is there. Throws what the load throws.
  func snapshot(at revision: CatalogRevision) async throws -> CatalogSnapshot {
    while true {
      let load: Task<Void, any Error>? = state.locked { state in
        if state.snapshot.revision.number >= revision.number { return nil }
        if let load = state.load { return load }
        // A task of its own: it is done for all who wait, whichever of them goes away.
        let load = Task { try await self.update() }
        state.load = load
        return load
      }
      guard let load else { return latest }
      try await load.value
    }
  }

  /// Reads what has changed since the newest snapshot and decodes it on a thread for computations. A failure is
  /// thrown to all who wait, and the snapshot stays.
  private func update() async throws {
    let result: Result<CatalogSnapshot?, any Error>
    do {
      let before = latest
      let changes = try await database.read { try CatalogSnapshot.Changes.since(before.revision, in: $0) }
      result = .success(try await BlockingPool.computing.run { try changes.map { try before.applying($0) } })
    } catch {
      result = .failure(error)
    }
    try state.locked { state in
      state.load = nil
      if let snapshot = try result.get() { state.snapshot = snapshot }
    }
  }
}
