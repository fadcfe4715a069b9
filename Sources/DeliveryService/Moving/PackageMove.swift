import BlobStore
import CoreTypes
import Crypto
import PullboxAPI

/// Copies packages from one place to another, each by its digest: repeatable, and beside a server that runs at either. A package that is
/// there as a whole stays. Both places are directories of this machine; a store of another kind has a way of its own here.
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
    /// Packages that the source has, but not whole.
    var damaged: [SHA256Digest] = []
  }

  let source: BlobDirectory
  let target: BlobDirectory
  /// Bounds the bytes that are read a second.
  var rate = ReadingRate()
  /// Told of each chunk that was read; what it throws ends the copy behind that package.
  var progress: (Progress) throws -> Void = { _ in }

  /// Blocks. Each package is on the device before its name is there. While it runs no package is removed at the source. Throws
  /// ``BlobStoreError`` for what fails at the target, and what ``progress`` throws.
  func run() throws -> Outcome {
    let hold = try source.holdRemovals()
    defer { withExtendedLifetime(hold) {} }
    let there = try target.list()
    let packages = try source.list().sorted { $0.key.hexadecimal < $1.key.hexadecimal }
    var outcome = Outcome()
    var state = Progress(done: .zero, total: packages.reduce(.zero) { $0 + $1.value })
    for (digest, length) in packages {
      let before = state.done
      var failure: (any Error)?
      if there[digest] == length {
        outcome.present += 1
      } else {
        do throws(BlobStoreError) {
          try target.copy(digest, from: source, synchronizing: true) { read in
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
}
