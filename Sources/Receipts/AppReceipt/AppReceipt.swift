public import Commerce
public import CoreTypes
import Crypto

/// The payload of an app receipt: what a store says a customer of one application on one device has bought. By itself
/// it proves nothing; ``VerifiedAppReceipt`` is the one to trust.
public struct AppReceipt: Hashable, Sendable {
  /// Attribute 0 (`receipt_type`): `Production`, `ProductionSandbox`, `Xcode`, `ProductionVPP`, …
  public var environmentName: String
  public var appIdentifier: Int64?
  public var applicationVersion: String
  /// Attribute 2 as its raw octets, tag and length included: that is what the device hash covers.
  public var rawBundleIdentifier: [UInt8]
  public var bundleIdentifier: String
  /// Attribute 4: salt of the device hash.
  public var opaqueValue: [UInt8]
  /// Attribute 5: binds the receipt to a device, see ``isBound(to:)``.
  public var deviceHash: [UInt8]
  public var creationDate: Timestamp
  public var downloadIdentifier: Int64?
  public var versionExternalIdentifier: Int64?
  public var originalPurchaseDate: Timestamp?
  public var originalApplicationVersion: String?
  /// Volume purchases only: when a withdrawn licence ends.
  public var expirationDate: Timestamp?
  /// In the receipt's order, which means nothing.
  public var purchases: [InAppPurchase]

  /// A receipt that is bound to no device yet.
  public init(
    environmentName: String, bundleIdentifier: String, applicationVersion: String, creationDate: Timestamp,
    purchases: [InAppPurchase] = []
  ) {
    self.environmentName = environmentName
    self.bundleIdentifier = bundleIdentifier
    rawBundleIdentifier = DERWriter.utf8(bundleIdentifier)
    self.applicationVersion = applicationVersion
    self.creationDate = creationDate
    self.purchases = purchases
    opaqueValue = []
    deviceHash = []
  }

  /// Nil for an environment this version does not know.
  public var environment: StoreEnvironment? {
    switch environmentName {
    case "Production", "ProductionVPP": .production
    case "ProductionSandbox", "ProductionVPPSandbox", "Sandbox": .sandbox
    case "Xcode": .xcode
    default: nil
    }
  }
}

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

extension DeviceIdentifier {
  /// The octets by which receipts know the device: the 16 of a UUID, the text's UTF-8 of any other name.
  public var receiptGUID: [UInt8] {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12],
      let octets = Hexadecimal.decode(groups.joined().lowercased())
    else { return Array(text.utf8) }
    return octets
  }
}
