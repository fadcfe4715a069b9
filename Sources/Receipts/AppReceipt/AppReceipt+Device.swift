public import Commerce
import Crypto

extension AppReceipt {
  /// Binds the receipt to `device` with a fresh salt. What is signed afterwards cannot be moved to another device.
  public mutating func bind(to device: DeviceIdentifier) {
    opaqueValue = RandomBytes.make(16)
    deviceHash = hash(for: device)
  }

  /// Whether attribute 5 is the SHA-1 of the device's GUID, attribute 4 and the raw attribute 2.
  public func isBound(to device: DeviceIdentifier) -> Bool {
    let expected = hash(for: device)
    return equalInConstantTime(expected.span, deviceHash.span)
  }

  private func hash(for device: DeviceIdentifier) -> [UInt8] {
    SHA1.of(device.receiptGUID + opaqueValue + rawBundleIdentifier)
  }
}
