package import CoreTypes

extension PackageScrubber {
  /// The rules of scrubbing that the operator decided.
  package struct Rules: Sendable {
    /// Each package is read again after that time; zero: only when an operator asks.
    package var interval: Duration = .seconds(30 * 86_400)
    /// Bytes a second.
    package var rate = ByteCount.mebibytes(16)
    /// Whether withdrawn versions are to have their packages.
    package var keepsWithdrawn = true
    /// Whether each package is read; else its length alone is compared, unless it was found damaged before.
    package var readsAll = true

    /// Creates rules; the defaults are those of the configuration.
    package init(
      interval: Duration = .seconds(30 * 86_400), rate: ByteCount = .mebibytes(16),
      keepsWithdrawn: Bool = true, readsAll: Bool = true
    ) {
      self.interval = interval
      self.rate = rate
      self.keepsWithdrawn = keepsWithdrawn
      self.readsAll = readsAll
    }
  }
}
