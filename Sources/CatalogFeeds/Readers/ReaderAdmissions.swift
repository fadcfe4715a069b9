import Commerce
import ContentDelivery
package import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import ServiceRuntime
import Synchronization

/// Remembers for a second which package a key was let into, so that an application which fetches the pages of a comic one behind another
/// is not looked up for each of them. A grant that is revoked is refused meanwhile as everywhere, and so is a package that is
/// stopped; a key that is removed here is forgotten at once.
package final class ReaderAdmissions: Sendable {
  /// Admissions that are remembered.
  static let maximumCount = 4_096
  /// The time for which one counts.
  static let lifetime: Duration = .seconds(1)

  private struct Entry: Sendable {
    var admission: PackageAdmission
    var generation: UInt64
    var until: UInt64
  }

  private struct State: Sendable {
    var entries = RecentlyUsedCache<SHA256Digest, Entry>(
      maximumCount: maximumCount, maximumLength: ByteCount(Int64(maximumCount)))
    /// Counts up when all are forgotten.
    var generation: UInt64 = 0
  }

  private let timer: any MonotonicClock
  private let state = Mutex(State())

  package init(timer: any MonotonicClock) {
    self.timer = timer
  }

  /// The name of what a request shows and asks for; nil where it shows nothing, or more than one thing.
  ///
  /// - Parameter changes: those of the catalog so far: one that releases or withdraws something ends what is remembered.
  func name(
    of request: HTTPRequest, _ product: ProductIdentifier, _ version: ContentVersion,
    since changes: some BinaryInteger
  ) -> SHA256Digest? {
    let values = request.headers.values(of: "Authorization")
    guard values.count == 1, let shown = values.first else { return nil }
    let (shownBytes, target) = (Array(shown.utf8), Array("\(product)/\(version)".utf8))
    return name(shown: shownBytes.span, target: target.span, since: changes)
  }

  /// The same by the bytes of a request.
  ///
  /// - Parameters:
  ///   - shown: the value of `Authorization`.
  ///   - target: the product and the version, with a solidus between them.
  func name(shown: Span<UInt8>, target: Span<UInt8>, since changes: some BinaryInteger) -> SHA256Digest {
    var text: [UInt8] = []
    text.reserveCapacity(shown.count + target.count + 32)
    text += "\(shown.count) \(target.count) \(changes) ".utf8
    for index in shown.indices { text.append(shown[index]) }
    for index in target.indices { text.append(target[index]) }
    return SHA256Digest.of(text)
  }

  /// The admission of that name; nil where none counts now.
  func find(_ name: SHA256Digest) -> PackageAdmission? {
    let now = timer.now().nanoseconds
    return state.locked { state in
      state.entries.value(for: name).flatMap {
        $0.generation == state.generation && now < $0.until ? $0.admission : nil
      }
    }
  }

  /// The state of what is remembered, for ``note(_:as:since:)``: asked before a key is looked up.
  func generation() -> UInt64 { state.locked { $0.generation } }

  /// Remembers an admission, unless all were forgotten since its key was looked up.
  func note(_ admission: PackageAdmission, as name: SHA256Digest, since generation: UInt64) {
    let until = timer.now().nanoseconds + UInt64(Self.lifetime.nanoseconds)
    state.locked { state in
      guard state.generation == generation else { return }
      state.entries.insert(
        Entry(admission: admission, generation: generation, until: until), for: name, length: ByteCount(1))
    }
  }

  /// Forgets all: a key was removed.
  func forget() {
    state.locked { $0.generation += 1 }
  }
}
