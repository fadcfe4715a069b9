import CoreTypes
import Crypto
import PackageStorage
import ServiceAPI

/// Where faults were found since the start, and when each package is to be read again.
struct FaultSightings {
  private struct Sighting {
    var place: PackagePlace
    /// Times in a row that the fault was found in that place.
    var count: Int
    /// The package is read again then.
    var next: MonotonicInstant
  }

  /// A disk, or the way to it, may be right again soon or late. Each reading costs a whole package.
  private static let pauses = Backoff(initial: .seconds(60), factor: 4, cap: .seconds(86_400), jitter: 0)

  private var sightings: [SHA256Digest: Sighting] = [:]

  /// Keeps what was found. No fault forgets the package. Without a place it is due at the next look. What is told of the same place within a pause
  /// is the same fault, and leaves the pause as it is.
  mutating func note(
    _ fault: PackageFault?, of digest: SHA256Digest, in place: PackagePlace?, at now: MonotonicInstant
  ) {
    guard fault != nil, let place else {
      sightings[digest] = nil
      return
    }
    let earlier = sightings[digest].flatMap { $0.place == place ? $0 : nil }
    if let earlier, now < earlier.next { return }
    let seen = earlier?.count ?? 0
    sightings[digest] = Sighting(
      place: place, count: seen + 1, next: now + Self.pauses.delay(afterFailures: seen + 1, chance: 0))
  }

  /// Whether a faulty package is to be read now, where it lies in that place: it lay in another one, nothing is known of it, or its pause is over.
  ///
  /// - Parameter repeats: whether pauses end; else what lies where it lay is not read again.
  func isDue(
    _ digest: SHA256Digest, at now: MonotonicInstant, in place: PackagePlace, repeats: Bool
  ) -> Bool {
    guard let sighting = sightings[digest], sighting.place == place else { return true }
    return repeats && sighting.next <= now
  }
}

/// Where a package was read from.
enum PackagePlace: Hashable {
  /// There was none.
  case absent
  /// The file or object of that identity.
  case there(PackageIdentity)
}
