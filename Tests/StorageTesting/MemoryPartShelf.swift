package import BlobStore
package import CoreTypes
package import Crypto
package import PackageStorage
import PullboxTesting
import SystemCalls

/// Parts of uploads in memory, for several nodes. A test can let calls wait, fail, and answer other bytes.
package final class MemoryPartShelf: UploadPartShelf {
  private struct State {
    var parts: [UploadPartName: [UInt8]] = [:]
    var putLength = 0
    var reads = 0
    var beforePut: (@Sendable () async throws -> Void)?
  }

  private let state = Locked(State())

  /// A shelf without parts.
  package init() {}

  /// Called before a part is put, which fails as unreachable where `body` throws.
  package func setBeforePut(_ body: (@Sendable () async throws -> Void)?) {
    state.withLock { $0.beforePut = body }
  }

  /// The parts that are there.
  package var names: Set<UploadPartName> { state.withLock { Set($0.parts.keys) } }

  /// Bytes of all parts that were put, also of those that are gone.
  package var putLength: Int { state.withLock { $0.putLength } }

  /// How often a part was read.
  package var reads: Int { state.withLock { $0.reads } }

  /// Puts one of which no row tells, or others bytes in place of a part's.
  package func set(_ bytes: [UInt8], as name: UploadPartName) {
    state.withLock { $0.parts[name] = bytes }
  }

  package func putPart(
    _ name: UploadPartName, _ range: Range<ByteCount>, of received: BlobWriter, digest: SHA256Digest
  ) async throws(BlobStoreError) {
    do {
      try await state.withLock({ $0.beforePut })?()
    } catch {
      throw BlobStoreError(.unreachable, "\(error)")
    }
    let file = try await received.openForReading()
    var bytes: [UInt8] = []
    do throws(SystemError) {
      try file.read(
        upTo: Int((range.upperBound - range.lowerBound).rawValue), at: range.lowerBound, into: &bytes)
    } catch {
      throw BlobStoreError(.inputOutput, "\(error)")
    }
    guard SHA256Digest.of(bytes) == digest else { throw BlobStoreError(.digestMismatch, "other bytes") }
    let count = bytes.count
    state.withLock { $0.putLength += count }
    set(bytes, as: name)
  }

  package func part(_ name: UploadPartName, length: ByteCount) async throws(BlobStoreError) -> [UInt8] {
    let part = state.withLock { state in
      state.reads += 1
      return state.parts[name]
    }
    guard let part else { throw BlobStoreError(.notFound, "there is no \(name.part)") }
    return Array(part.prefix(Int(length.rawValue)))
  }

  package func removePart(_ name: UploadPartName) async throws(BlobStoreError) {
    state.withLock { $0.parts[name] = nil }
  }

  package func listParts() async throws(BlobStoreError) -> [UploadPartName] {
    state.withLock { Array($0.parts.keys) }
  }

  package func measure() async throws(BlobStoreError) {}
}
