import ContentPackage
import CoreTypes
import Crypto
import Files
import Synchronization
import SystemCalls

/// The room that a cache takes: no more than its size, and what was used least goes for what comes.
extension PackageCache {
  /// Blocks that are looked up at once, since each look goes through all that there are.
  private static let victimCount = 64
  /// The pauses between looks where nothing can go: a response holds a block for a moment only, and a fetch for a little longer.
  static let pauses = [10, 40, 160, 640].map { Duration.milliseconds($0) }

  private enum Room {
    case reserved
    case evict(Eviction, [Work])
    /// None of the blocks that were looked up can go.
    case none
  }

  private struct Eviction: Sendable {
    let victim: Victim
    /// Nil for a package that is not open.
    let package: CachedPackage?
    let range: Range<Int64>
  }

  /// Sets room aside for a fetch, and gives up for it what was used least. Returns `outOfSpace` where that is not enough.
  func reserve(
    _ room: ByteCount, for fetch: BlockPlan.FetchIdentifier
  ) async -> PackageCacheError? {
    var pauses = Self.pauses[...]
    while true {
      let step = withState { state -> Room in
        let reserved = state.reserved.values.reduce(room, +)
        guard state.allocated + reserved > size else {
          state.reserved[fetch] = room
          return .reserved
        }
        return next(&state)
      }
      switch step {
      case .reserved: return nil
      case .evict(let eviction, let work): await evict(eviction, work)
      case .none:
        if lookUpVictims() { continue }
        guard await pause(&pauses) else {
          return PackageCacheError(.outOfSpace, "the cache has no room: all that it holds is being sent")
        }
      }
    }
  }

  /// Makes room on a disk that is full: gives up what was used least, so much at least, or pauses where nothing can go, since another fetch
  /// may have taken what could, and leave some of it. False where there are no more `pauses`.
  func makeRoom(_ room: ByteCount, _ pauses: inout ArraySlice<Duration>) async -> Bool {
    let before = state.locked { $0.allocated }
    while state.locked({ before - $0.allocated < room }) {
      if case .evict(let eviction, let work) = state.locked({ next(&$0) }) {
        await evict(eviction, work)
      } else if !lookUpVictims() {
        return await pause(&pauses)
      }
    }
    return true
  }

  /// The block that goes next, from which readers are kept away from now on.
  private func next(_ state: inout State) -> Room {
    while let victim = state.victims.popLast() {
      guard let entry = state.entries[victim.digest], let map = state.plan.maps[victim.digest] else {
        continue
      }
      let package = entry.package
      guard let block = victim.block else {
        guard package == nil, map.isEmpty else { continue }
        return .evict(Eviction(victim: victim, package: nil, range: 0..<0), [])
      }
      guard map.isEvictable(block), (package?.words.use(of: block) ?? entry.uses[block]) == victim.use,
        package?.words.clear(block) ?? true
      else { continue }
      let work = prepare(state.plan.handle(.evictionBegan(victim.digest, block: block)), &state)
      return .evict(
        Eviction(victim: victim, package: package, range: map.layout.range(of: block)), work)
    }
    return .none
  }

  private func evict(_ eviction: Eviction, _ work: [Work]) async {
    for work in work { work() }
    let (victim, package) = (eviction.victim, eviction.package)
    guard let block = victim.block else { return await removeFiles(of: victim.digest) }
    let room = await pool.run { [directory] () -> ByteCount? in
      do throws(SystemError) {
        // Beyond the end, so that the last page goes as a whole.
        let start = eviction.range.lowerBound
        let range = start..<start + BlockLayout.blockLength.rawValue
        if let package {
          try directory.operations.punchHole(range, in: package.file.file)
          return nil
        }
        try directory.punchHole(range, in: victim.digest)
        return try directory.room(of: victim.digest).file
      } catch {
        // It still takes room, and is counted.
        return nil
      }
    }
    handle(.evictionEnded(victim.digest, block: block)) { state in
      state.figures.evictedBlocks += 1
      if let package { state.measure(package) }
      if let room { state.setRoom(room, of: victim.digest, number: nil) }
    }
    if package == nil { await removeFiles(of: victim.digest) }
  }

  /// Removes the files of a package that is not open and of which nothing is there.
  private func removeFiles(of digest: SHA256Digest) async {
    await locks.withLock(digest) {
      let isEmpty = state.locked { state in
        guard let entry = state.entries[digest], entry.package == nil,
          state.plan.maps[digest]?.isEmpty == true
        else { return false }
        state.forget(digest)
        // No reader waits for a package that is not open.
        _ = state.plan.handle(.forgotten(digest))
        return true
      }
      guard isEmpty else { return }
      // What stays is found at the next start.
      await pool.run { [directory] in try? directory.remove(digest) }
    }
  }

  /// Takes the next of the pauses; false where there are no more of them, or the task is cancelled.
  private func pause(_ pauses: inout ArraySlice<Duration>) async -> Bool {
    guard let pause = pauses.popFirst() else { return false }
    do {
      try await clock.sleep(for: pause)
      return true
    } catch {
      return false
    }
  }

  /// Looks up what was used least; false where nothing can go.
  private func lookUpVictims() -> Bool {
    let all = withState { state in
      state.entries.flatMap { entry in candidates(entry.key, entry.value, state.plan.maps[entry.key]) }
    }
    let first = all.sorted { $0.use < $1.use }.prefix(Self.victimCount)
    state.locked { $0.victims = first.reversed() }
    return !first.isEmpty
  }

  private func candidates(_ digest: SHA256Digest, _ entry: Entry, _ map: BlockMap?) -> [Victim] {
    guard let map else { return [] }
    let package = entry.package
    if package == nil, map.isEmpty {
      return [Victim(digest: digest, block: nil, use: entry.uses.max() ?? 0)]
    }
    return (0..<map.layout.count).filter { map.isEvictable($0) && package?.words.isHeld($0) != true }.map {
      Victim(digest: digest, block: $0, use: package?.words.use(of: $0) ?? entry.uses[$0])
    }
  }
}
