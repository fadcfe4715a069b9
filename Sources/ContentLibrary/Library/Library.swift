package import AgentRecords
package import Commerce
package import ContentPackage
package import CoreTypes
import Database
package import Files
import PullboxAPI
package import ServiceRuntime
import Synchronization
package import SystemCalls

/// Owns what is placed: `PRODUCT/VERSION/` in one directory, the manifest of each beside it in `PRODUCT/.pullbox/VERSION`, and
/// its records. Content comes in by a rename and goes out by one, so that a reader never sees half of it; one task at a time
/// works on a product.
///
/// Nothing is taken as held that was not compared with its manifest (``held(_:)``). While the library's file system is away
/// every call throws ``LibraryOfflineError``, and no record changes.
///
/// ```swift
/// try library.open()
/// if let item = try await library.held(terms) { … }                        // checked
/// for source in try await library.sources(for: manifest, terms) { … }      // what need not be fetched
/// let item = try await library.place(manifest, at: clock.now()) { path in try await session.place(at: path) }
/// ```
package final class Library: Sendable {
  /// Whether content can be reached.
  package enum Availability: Hashable, Sendable {
    case online
    /// The sentence says what is missing.
    case offline(String)
  }

  /// Guarded by one lock, which a look holds from its beginning to its end.
  private struct State: ~Copyable {
    var volume: LibraryVolume
    package var availability: Availability?
    /// An operator asks for it: what is there, or nothing, is the library from now on.
    package var mayBegin: Bool
    /// The volume that the records name.
    package var expected: AgentDatabase.ExpectedVolume?
    package var canLink = false
    package var isClosed = false
    /// Whether the library has come once since the process began.
    var hasArrived = false
  }

  /// Checks read whole files: two at a time, beside what else blocks.
  static let checking = BlockingPool(name: "pullbox-check", threads: 2)

  package let paths: StatePaths
  package let database: AgentDatabase
  package let log: Log
  package let clock: any WallClock
  /// Measures pauses.
  package let pauses: any MonotonicClock
  /// The file operations for the library and for the files that are staged in it.
  package let operations: any FileOperations
  /// Every change to a product's content goes through it.
  let exclusion = ProductExclusion()
  package let space: LibrarySpace
  package let leases = LibraryLeases()
  package let titles = ProductTitles()
  package let listings = KeptListings()
  package let ownership = OwnershipRegister()
  private let state: Mutex<State>
  private let advice = Mutex<EvictionAdvice?>(nil)
  let placements = RecentPlacements()
  /// Something was moved to the trash, and has not been removed since as far as this process knows.
  let isTrashLeft = Atomic(false)
  let recentManifest = RecentManifest()
  /// Signalled where content may belong elsewhere than it lies: ``settleWithdrawals()``.
  package let withdrawals = AsyncSignal()

  /// `mayBegin`: whatever lies at the path is the library from now on. Nothing is looked at before
  /// ``look()``.
  ///
  /// - Parameters:
  ///   - reserve: bytes that stay free on the file system.
  ///   - quota: bytes that content and staged files may take together; nil for no bound.
  package init(
    paths: StatePaths, database: AgentDatabase, mayBegin: Bool = false, reserve: ByteCount = .mebibytes(32),
    quota: ByteCount? = nil, clock: any WallClock = SystemWallClock(),
    pauses: any MonotonicClock = SystemMonotonicClock(),
    operations: any FileOperations = SystemFileOperations(), log: Log = Log()
  ) {
    self.paths = paths
    self.database = database
    self.log = log
    self.clock = clock
    self.pauses = pauses
    self.operations = operations
    space = LibrarySpace(
      paths: paths, database: database, leases: leases, ownership: ownership,
      reserve: reserve, quota: quota, operations: operations
    )
    state = Mutex(
      State(
        volume: LibraryVolume(root: paths.library, operations: operations), availability: nil,
        mayBegin: mayBegin))
  }

  /// The directory that a version is placed as. It need not be there.
  package func directory(of product: ProductIdentifier, version: ContentVersion) -> String {
    "\(paths.library)/\(product)/\(version)"
  }

  /// Where the content lies: for what was taken back, out of the tree that readers see.
  package func directory(of record: LibraryRecord) -> String {
    guard record.isWithdrawn else { return directory(of: record.product, version: record.version) }
    return "\(paths.withdrawn)/\(record.product)/\(record.version)"
  }

  /// The file or the folder that the record is of.
  func path(of record: LibraryRecord) -> String {
    directory(of: record) + (record.name.map { "/\($0)" } ?? "")
  }

  /// The availability at the last look; offline before the first.
  package var availability: Availability {
    state.locked { $0.availability } ?? .offline("the library was not looked for yet")
  }

  /// Nothing is removed to make room before there is any.
  package var evictionAdvice: EvictionAdvice? {
    get { advice.locked { $0 } }
    set { advice.locked { $0 = newValue } }
  }

  /// Whether a file of the library can have two names, so that what is taken over takes no room.
  package var canLink: Bool { state.locked { $0.canLink } }

  /// Looks whether the library is there, and makes records and content fit where it has come back. It is offline while there is no
  /// room to write down which one it is. Blocks. Throws what else the database throws. Looks follow one
  /// another: the state is locked meanwhile.
  @discardableResult
  package func look() throws -> Availability {
    try state.locked { state in
      guard !state.isClosed else { return .offline("the agent ends") }
      let found: Availability
      do {
        found = try presence(&state)
      } catch let error as SystemError {
        found = .offline("\(error)")
      } catch let error as DatabaseError where error.code == .outOfSpace {
        found = .offline("the agent's state directory has no room: \(error)")
      }
      guard found != state.availability else { return found }
      switch found {
      case .online: log.info("the library is there", ["path": LogValue(paths.library)])
      case .offline(let reason):
        log.warning("the library is offline; its records stay", ["reason": LogValue(reason)])
      }
      state.availability = found
      return found
    }
  }

  /// Has the kernel tell when the library may have gone, as long as the watch lives; nil where there is none now, or the kernel tells
  /// nothing. Blocks.
  package func watchDisappearance(_ tell: @escaping @Sendable () -> Void) -> DisappearanceWatch? {
    try? DisappearanceWatch(
      of: [(paths.library, [".pullbox"]), ("\(paths.library)/.pullbox", ["volume", "lock"])], tell)
  }

  /// A library other than the one that the records name is offline. A directory without a marker becomes the
  /// library only where the records never had one: an operator asked for it, or what the records list may lie
  /// there.
  private func presence(_ state: inout State) throws -> Availability {
    let expected = try state.expected ?? database.expectedVolume()
    state.expected = expected
    switch (state.volume.look(), expected) {
    case (.unusable(let reason), _): return .offline(reason)
    case (.present(let found), .identified(let known)) where found != known:
      return .offline(
        "\(paths.library) is another library than the one known here: start with --rebuild to take it")
    case (.present(let found), .identified):
      return state.availability == .online ? .online : try arrive(found, importing: false, &state)
    case (.present(let found), _): return try arrive(found, importing: true, &state)
    case (.unmarked, .none):
      guard try state.mayBegin || mayBeOurs() else { return missing }
      let identifier = try state.volume.mark()
      guard case .present = state.volume.look() else { return missing }
      return try arrive(identifier, importing: false, &state)
    case (.unmarked, _): return missing
    }
  }

  /// The answer for a library whose marker is gone, with the way out for the operator.
  private var missing: Availability {
    .offline(
      """
      \(paths.library)/.pullbox/volume is missing: is its file system mounted? If the library is really gone, start \
      with --rebuild
      """)
  }

  /// No library was ever seen: nothing is known that should lie here, or some of it does, from a version of the agent that
  /// made no marker.
  private func mayBeOurs() throws -> Bool {
    let records = try database.libraryRecords()
    return records.isEmpty || records.contains { presence(of: $0) == .there }
  }

  /// Takes the library that has come back: its folders, manifests of earlier versions, its identifier in the
  /// records, and a look at the content of each record.
  ///
  /// - Parameter importing: whether it may hold content that has no record.
  private func arrive(
    _ identifier: String, importing: Bool, _ state: inout State
  ) throws -> Availability {
    try makeStagingFolder()
    state.canLink = state.volume.canLink()
    try moveManifests()
    // Before it is known that this is the library: what is broken off is done again.
    if importing { try importContent() }
    if state.expected != .identified(identifier) {
      try database.makingRoom { try database.expect(.identified(identifier)) }
      state.expected = .identified(identifier)
    }
    try endMoves()
    if !state.hasArrived {
      endRemovals()
      try endDrops()
    }
    state.hasArrived = true
    withdrawals.signal()
    for record in try database.libraryRecords() {
      switch presence(of: record) {
      case .there: continue
      case .missing: noteAtArrival { try noteMissing(record) }
      case .unreadable(let error):
        // A device that is gone gives nothing back either, and damages nothing.
        switch state.volume.look() {
        case .present: noteAtArrival { try noteUnreadable(record, error) }
        case .unmarked: return missing
        case .unusable(let reason): return .offline(reason)
        }
      }
    }
    emptyTrash()
    return .online
  }

  /// Runs `body`, which notes damage. An error is logged alone: the damage is found again whenever the content is asked
  /// for.
  private func noteAtArrival(_ body: () throws -> Void) {
    do {
      try body()
    } catch {
      log.warning("what is damaged in the library cannot be noted", ["error": LogValue(error)])
    }
  }

  /// Lets another agent have the library: the end of this one. Every look after it finds the library offline.
  package func close() {
    evictionAdvice = nil
    state.locked { state in
      state.isClosed = true
      state.volume.letGo()
    }
  }

  /// Throws ``LibraryOfflineError`` while the library is away. Blocks.
  package func requireOnline() throws {
    if case .offline(let reason) = try look() { throw LibraryOfflineError(reason: reason) }
  }

  /// The folder of the staging areas is there, unless the library is away: then this throws. Blocks.
  package func makeStagingFolder() throws(SystemError) {
    try makeFolders(paths.staging, permissions: 0o700)
  }

  /// Creates the folder, which lies in the library, and the missing ones above it, durably. Where the library's file system has gone
  /// nothing is made in its place, and an error is thrown.
  func makeFolders(_ path: String, permissions: UInt32 = 0o755) throws(SystemError) {
    precondition(path.hasPrefix(paths.library + "/"), "a folder of the library")
    try operations.createDirectories(
      String(path.dropFirst(paths.library.count + 1)), below: paths.library, marked: LibraryVolume.markerPath,
      permissions: permissions)
  }

  /// Moves what is at `path` to the trash, so that the name is free. Nothing at the path is no error. The
  /// trash is on the same file system, so that this is one rename. Its name there begins with `mark`.
  func moveAside(_ path: String, marked mark: String = "") throws(SystemError) {
    guard try operations.status(of: path) != nil else { return }
    try makeFolders(paths.trash, permissions: 0o700)
    try operations.rename(path, to: "\(paths.trash)/\(mark)\(ContentJobIdentifier.random())")
    isTrashLeft.store(true, ordering: .relaxed)
    try operations.synchronizeDirectory(FileSystem.parent(of: path))
  }

  /// Removes the trash, but for content whose removal has not come to its record. Anything that cannot be removed stays, and ``emptyTrashLeft()`` tries it again, without a word.
  func emptyTrash(isRepeated: Bool = false) {
    isTrashLeft.store(false, ordering: .relaxed)
    func note(_ sentence: String, _ error: SystemError) {
      isTrashLeft.store(true, ordering: .relaxed)
      if !isRepeated { log.warning(sentence, ["error": LogValue(error)]) }
    }
    do throws(SystemError) {
      guard try operations.status(of: paths.trash) != nil else { return }
      let names = try operations.list(paths.trash).map(\.name)
      let kept = namesOfBrokenOffRemovals(among: names)
      if !kept.isEmpty { isTrashLeft.store(true, ordering: .relaxed) }
      for name in names where !kept.contains(name) {
        do throws(SystemError) {
          try operations.removeRecursively("\(paths.trash)/\(name)")
        } catch {
          note("something in the trash cannot be removed", error)
        }
      }
    } catch {
      note("the trash cannot be emptied", error)
    }
  }
}

extension Library {
  /// Removes staging areas and small files of jobs that are not in `live`. Of a library that is away both stay until it is
  /// back. Room that a live job has allocated stays its own: the file loses only its name. Returns the jobs that may have
  /// placed content besides: they are to be given to ``discard(_:)``. Blocks.
  package func discardLeftovers(except live: Set<ContentJobIdentifier>) throws -> [ContentJobIdentifier] {
    guard availability == .online else { return [] }
    var remaining: [ContentJobIdentifier] = []
    for directory in [paths.staging, paths.downloads] where try operations.status(of: directory) != nil {
      for entry in try operations.list(directory) {
        let identifier = ContentJobIdentifier(entry.name)
        if let identifier, live.contains(identifier) { continue }
        if let identifier, directory == paths.downloads, try keptManifest(of: identifier) != nil {
          remaining.append(identifier)
        } else {
          try operations.removeRecursively("\(directory)/\(entry.name)")
        }
      }
    }
    return remaining
  }

  /// Removes all that the job has left: what is staged and, unless `isRecorded`, what it has placed without a record. While
  /// the library is away its manifest stays, by which the latter is found. Repeating it changes nothing.
  ///
  /// - Parameter isRecorded: whether the content that it placed has its record, and stays.
  package func discard(_ job: ContentJobIdentifier, isRecorded: Bool = false) async throws {
    space.forget(job)
    let paths = paths.paths(of: job)
    let kept = try await BlockingPool.shared.run { [self] in
      try operations.remove(space.ballast(of: job))
      try operations.removeRecursively(paths.staging)
      return isRecorded ? nil : try keptManifest(of: job)
    }
    if let kept {
      guard try await BlockingPool.shared.run({ [self] in try look() == .online }) else { return }
      try await removeUnrecorded(kept)
    }
    try await BlockingPool.shared.run { [operations] in
      _ = try operations.removeRecursively(paths.state)
    }
  }

  /// The manifest that the job has kept; nil where there is none, or one that is damaged. Blocks.
  package func keptManifest(of job: ContentJobIdentifier) throws(SystemError) -> Manifest? {
    let path = paths.paths(of: job).manifest
    guard let status = try operations.status(of: path), status.kind == .regular,
      status.length <= PackageLimits.standard.maximumManifestLength
    else { return nil }
    return try operations.readIfReadable(path, upTo: PackageLimits.standard.maximumManifestLength)
      .flatMap { try? UnverifiedManifest($0).proposed() }
  }
}
