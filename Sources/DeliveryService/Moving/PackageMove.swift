import BlobStore
import CoreTypes
import Crypto
import PackageStorage
import PullboxAPI

/// Copies packages from one place to another, each by its digest: repeatable, and beside a server that runs at either. A package that is
/// there as a whole stays.
struct PackageMove {
  /// How far it is.
  struct Progress: Hashable, Sendable {
    /// The bytes of packages that are at the target.
    var done: ByteCount
    /// The bytes of all packages.
    var total: ByteCount
  }

  /// The packages that are at the target, and those that are not.
  struct Outcome: Hashable, Sendable {
    /// Packages that were copied and compared with their digests.
    var copied = 0
    /// Packages that were there.
    var present = 0
    /// Packages that the source has, but not whole, and those that a store lacks although a version has them.
    var damaged: [SHA256Digest] = []
  }

  let source: PlacedPackages
  let target: PlacedPackages
  /// Where a package lies for a moment between two stores.
  let staging: BlobDirectory
  /// Returns the packages that the records refer to: of a store, whose lists may lack what was put a moment ago.
  let needs: () throws -> [SHA256Digest: PackageNeed]
  /// Bounds the bytes that are read a second.
  var rate = ReadingRate()
  /// Told of each part that was read; what it throws ends the copy behind that package.
  var progress: (Progress) throws -> Void = { _ in }

  /// Blocks. Each package is on the device, or in the store, before its name is there. While it runs no package is removed at a
  /// directory that is the source. Throws ``BlobStoreError`` for what fails at the target, or with a store, and what ``progress`` throws.
  func run() throws -> Outcome {
    guard case .directory(let directory) = source else { return try copyAll(try packagesOfStore()) }
    let hold = try directory.holdRemovals()
    defer { withExtendedLifetime(hold) {} }
    return try copyAll(try directory.list())
  }

  /// The packages that the store's lists have, and those that they lack and the records refer to.
  private func packagesOfStore() throws -> [SHA256Digest: ByteCount] {
    let needs = try needs()
    var packages = try source.list()
    for digest in needs.keys where packages[digest] == nil {
      if let length = try source.length(of: digest) ?? (needs[digest]?.isRequired == true ? .zero : nil) {
        packages[digest] = length
      }
    }
    return packages
  }

  private func copyAll(_ packages: [SHA256Digest: ByteCount]) throws -> Outcome {
    let there = try target.list()
    var outcome = Outcome()
    var state = Progress(done: .zero, total: packages.values.reduce(.zero, +))
    for (digest, length) in packages.sorted(by: { $0.key.hexadecimal < $1.key.hexadecimal }) {
      let before = state.done
      var failure: (any Error)?
      if there[digest] == length, try isThere(digest, length) {
        outcome.present += 1
      } else {
        do throws(BlobStoreError) {
          try copy(digest, length) { read in
            rate.didRead(read)
            state.done += read
            do { try progress(state) } catch { failure = error }
          }
          outcome.copied += 1
        } catch {
          guard error.isOfSource else { throw error }
          outcome.damaged.append(digest)
        }
      }
      state.done = before + length
      if let failure { throw failure }
      try progress(state)
    }
    return outcome
  }

  /// Whether what a list tells of the target holds: those of a store may lag behind.
  private func isThere(_ digest: SHA256Digest, _ length: ByteCount) throws(BlobStoreError) -> Bool {
    guard case .store = target else { return true }
    return try target.length(of: digest) == length
  }

  private func copy(
    _ digest: SHA256Digest, _ length: ByteCount, didRead: (ByteCount) -> Void
  ) throws(BlobStoreError) {
    switch (source, target) {
    case (_, .directory(let directory)):
      try source.copy(digest, to: directory, synchronizing: true, didRead: didRead)
    case (.directory(let directory), .store(let store)):
      try store.packages.put(digest, from: directory)
      didRead(length)
    case (.store, .store(let store)):
      try source.copy(digest, to: staging, didRead: didRead)
      try store.packages.put(digest, from: staging)
      try staging.remove(digest)
    }
  }
}
