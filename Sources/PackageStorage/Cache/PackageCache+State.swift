package import CoreTypes
import Crypto
import SystemCalls

extension PackageCache {
  struct Entry {
    weak var package: CachedPackage?
    /// ``CachedPackage/number`` of the one that is or was open.
    var number: UInt64 = 0
    /// When each block was used last, up to when the package was opened.
    var uses: [UInt32]
    var room: CacheDirectory.Room
  }

  struct ClosedPackage: Sendable {
    let digest: SHA256Digest
    /// ``CachedPackage/number``.
    let number: UInt64
    /// When each block was used last.
    let uses: [UInt32]
  }

  struct Wait {
    /// Stays open for the reader.
    let package: CachedPackage
    let completion: Completion
  }

  /// A block that may go, or the files of a package of which nothing is there.
  struct Victim: Sendable {
    let digest: SHA256Digest
    /// Nil for the files.
    let block: Int?
    let use: UInt32
  }

  /// Guarded by the lock.
  struct State {
    var plan = BlockPlan()
    var entries: [SHA256Digest: Entry] = [:]
    var waits: [BlockPlan.ReaderIdentifier: Wait] = [:]
    var receivers: [BlockPlan.FetchIdentifier: PieceReceiver] = [:]
    /// The room of all files, those included that have no name any more and are still open.
    var allocated = ByteCount.zero
    /// Room of files without a name, by the number of the package that has them open.
    var nameless: [UInt64: ByteCount] = [:]
    /// Room that fetches have set aside and not taken yet.
    var reserved: [BlockPlan.FetchIdentifier: ByteCount] = [:]
    /// The blocks that go next, the first one last.
    var victims: [Victim] = []
    var packageCount: UInt64 = 0
    var figures = PackageCacheFigures()

    /// Puts the package into the count.
    mutating func enter(_ entry: Entry, for digest: SHA256Digest) {
      allocated += entry.room.sum - (entries[digest]?.room.sum ?? .zero)
      entries[digest] = entry
    }

    /// Takes a package out of the count; the room of its file counts while a reader has it open.
    mutating func forget(_ digest: SHA256Digest) {
      guard let entry = entries.removeValue(forKey: digest) else { return }
      allocated = allocated - entry.room.sum
      if entry.package != nil {
        nameless[entry.number] = entry.room.file
        allocated += entry.room.file
      }
    }

    /// Notes the room of a package's file. `number` is that of the one that is open, nil for one that is not.
    mutating func setRoom(_ room: ByteCount, of digest: SHA256Digest, number: UInt64?) {
      if let number, let before = nameless[number] {
        nameless[number] = room
        allocated += room - before
      } else if let entry = entries[digest], number == nil || number == entry.number {
        entries[digest]?.room.file = room
        allocated += room - entry.room.file
      }
    }

    /// Looks at the room of an open package's file. Here, so that what is seen last counts last; it does not wait for the device.
    mutating func measure(_ package: CachedPackage) {
      guard let status = try? package.file.file.status() else { return }
      setRoom(status.allocated, of: package.digest, number: package.number)
    }

    /// A fetch has taken so much of the room that it had set aside.
    mutating func take(_ room: ByteCount, of fetch: BlockPlan.FetchIdentifier) {
      if let rest = reserved[fetch] { reserved[fetch] = max(.zero, rest - room) }
    }

    /// A package was closed by the last who had it.
    mutating func close(_ package: ClosedPackage) {
      if let room = nameless.removeValue(forKey: package.number) { allocated = allocated - room }
      if entries[package.digest]?.number == package.number { entries[package.digest]?.uses = package.uses }
    }
  }
}

/// Figures of a ``PackageCache``: what it holds now, and what it has done since it was opened.
package struct PackageCacheFigures: Hashable, Sendable {
  /// The room that its files take.
  package var allocated = ByteCount.zero
  /// Packages of which something may be there.
  package var packages = 0
  /// Fetches that run or pause.
  package var fetches = 0
  /// Readers that wait.
  package var waits = 0
  /// Bytes of pieces that were fetched and verified.
  package var fetchedBytes = ByteCount.zero
  /// Pieces that were fetched and had other bytes.
  package var mismatchedPieces = 0
  /// Blocks whose room was given back.
  package var evictedBlocks = 0

  /// Zeros.
  package init() {}
}
