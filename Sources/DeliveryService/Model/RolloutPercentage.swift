import Commerce
import Crypto

/// How many devices of a hundred a release is for, and which.
///
/// Every device has one of 10,000 places for a product: the first eight bytes of SHA-256("pullbox-release/1"
/// ‖ 0 ‖ product ‖ 0 ‖ device), read as a big-endian number, modulo 10,000. A release to `p` percent is for
/// the places below `p` × 100. So raising the percentage only adds devices, and a correction that replaces a
/// partial release reaches those devices first that already have what it corrects: the version is no part of
/// the place.
struct RolloutPercentage: Hashable, Sendable, Comparable {
  static let range = 1...100
  static let all = RolloutPercentage(checked: 100)
  static let places: UInt64 = 10_000

  let percentage: Int

  /// Nil outside 1 to 100.
  init?(percentage: Int) {
    guard Self.range.contains(percentage) else { return nil }
    self.percentage = percentage
  }

  private init(checked percentage: Int) {
    self.percentage = percentage
  }

  var isAll: Bool { self == .all }

  func includes(_ device: DeviceIdentifier, of product: ProductIdentifier) -> Bool {
    isAll || Self.place(of: device, for: product) < UInt64(percentage) * (Self.places / 100)
  }

  static func place(of device: DeviceIdentifier, for product: ProductIdentifier) -> UInt64 {
    let text = "pullbox-release/1\0\(product.description)\0\(device.description)"
    let digest = SHA256Digest.of(Array(text.utf8)).array
    return digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } % places
  }

  static func < (left: RolloutPercentage, right: RolloutPercentage) -> Bool {
    left.percentage < right.percentage
  }
}

extension RolloutPercentage: CustomStringConvertible {
  var description: String { isAll ? "all devices" : "\(percentage) % of devices" }
}
