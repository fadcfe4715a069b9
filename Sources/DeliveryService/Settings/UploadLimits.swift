import CoreTypes

/// What uploads may take, and for how long.
struct UploadLimits: Sendable {
  /// The longest package.
  static let maximumLength = ByteCount(2_147_483_648)

  /// How long an upload is kept after the last request that added to it.
  var lifetime: Duration = .seconds(86_400)
  /// Packages and open uploads together; nil: as much as the disk holds.
  var quota: ByteCount?
}
