package import Commerce
import Crypto

/// How many devices of a hundred a release is for, and which.
///
/// Every device has one of 10,000 places for a product: the first eight bytes of SHA-256("pullbox-release/1"
/// ‖ 0 ‖ product ‖ 0 ‖ device), read as a big-endian number, modulo 10,000. A release to `p` percent is for
/// the places below `p` × 100. So raising the percentage only adds devices, and a correction that replaces a
/// partial release reaches those devices first that already have what it corrects: the version is no part of
/// the place.
package struct RolloutPercentage: Hashable, Sendable, Comparable {
  /// The percentages that a release may have.
  package static let range = 1...100
  /// 100, which every device is in.
  package static let all = RolloutPercentage(checked: 100)
  /// Places among which the devices are spread.
  package static let places: UInt64 = 10_000

  /// A number of ``range``.
  package let percentage: Int

  /// Nil outside 1 to 100.
  package init?(percentage: Int) {
    guard Self.range.contains(percentage) else { return nil }
    self.percentage = percentage
  }

  private init(checked percentage: Int) {
    self.percentage = percentage
  }

  /// Whether no device is left out.
  package var isAll: Bool { self == .all }

  /// Whether the device gets the release. Raising the percentage keeps it in.
  package func includes(_ device: DeviceIdentifier, of product: ProductIdentifier) -> Bool {
    isAll || Self.place(of: device, for: product) < UInt64(percentage) * (Self.places / 100)
  }

  /// The device's place for a product, from 0 to ``places`` less one.
  package static func place(of device: DeviceIdentifier, for product: ProductIdentifier) -> UInt64 {
    let text = "pullbox-release/1\0\(product.description)\0\(device.description)"
    let digest = SHA256Digest.of(Array(text.utf8)).array
    return digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } % places
  }

  /// By how many devices have it.
  package static func < (left: RolloutPercentage, right: RolloutPercentage) -> Bool {
    left.percentage < right.percentage
  }
}

extension RolloutPercentage: CustomStringConvertible {
  /// For operators: `all devices`, or how many of a hundred.
  package var description: String { isAll ? "all devices" : "\(percentage) % of devices" }
}
