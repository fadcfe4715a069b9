import BlobStore
import CoreTypes
import Crypto
import PackageStorage
import ServiceAPI
import ServiceRuntime

extension PackageScrubber {
  private static let chunk = ByteCount.mebibytes(1)
  /// The lease is asked for at least so often while a package is read.
  private static let longestPause = Duration.seconds(5)

  /// No fault for a package whose bytes are those that its name says. Other bytes count where two readings in a row find them, the second past
  /// what the kernel has cached; so do bytes that cannot be read. Nil where another node has the lease by now.
  /// Throws ``BlobStoreError`` where the package cannot be opened, or its place cannot be reached.
  func fault(of digest: SHA256Digest) async throws -> (PackageFault?, PackagePlace)? {
    guard let first = try await readOnce(digest, past: false) else { return nil }
    guard first.0 == .damaged, let second = try await readOnce(digest, past: true) else {
      return first.0 == .damaged ? nil : first
    }
    if second.0 == nil {
      log.warning(
        "a package was read wrong, and right behind that: its disk may be failing",
        ["digest": LogValue(digest.hexadecimal)])
    }
    return second
  }

  /// One reading, at the rules' rate. Asks for the lease on the way, since a long package takes longer than that lasts; nil where another node has
  /// it by now.
  ///
  /// - Parameter past: whether the bytes are not to come from a cache of this machine.
  private func readOnce(
    _ digest: SHA256Digest, past: Bool
  ) async throws -> (PackageFault?, PackagePlace)? {
    guard let reader = try await reader(of: digest) else { return (.missing, .absent) }
    let place = PackagePlace.there(reader.identity)
    if past { await reader.forgetCached() }
    var hasher = SHA256Hasher()
    var position = ByteCount.zero
    let begun = timer.now()
    while true {
      let bytes: [UInt8]
      do {
        bytes = try await reader.bytes(from: position, upTo: Int(Self.chunk.rawValue))
      } catch {
        switch error.code {
        case .unreadable: break
        case .notFound: return (.missing, .absent)
        default: throw error
        }
        log.error(
          "a package cannot be read", ["digest": LogValue(digest.hexadecimal), "error": LogValue(error)])
        return (.damaged, place)
      }
      if bytes.isEmpty { break }
      hasher.update(bytes.span)
      position += ByteCount(bytes.count)
      let needed = Duration.milliseconds(position.rawValue * 1000 / max(1, rules.rate.rawValue))
      guard try await mayGoOn() else { return nil }
      while case let rest = needed - (timer.now() - begun), rest > .zero {
        try await timer.sleep(for: min(rest, Self.longestPause))
        guard try await mayGoOn() else { return nil }
      }
    }
    return (hasher.finalize() == digest ? nil : .damaged, place)
  }
}
