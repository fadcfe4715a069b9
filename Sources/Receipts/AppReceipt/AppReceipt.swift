public import Commerce
public import CoreTypes
import Crypto

/// The payload of an app receipt: what a store says a customer of one application on one device has bought. By itself
/// it proves nothing; ``VerifiedAppReceipt`` is the one to trust.
///
/// Each member names its attribute in the payload and, in parentheses, its member in `verifyReceipt`'s answers. Attributes
/// marked as documented are in the store's documentation of receipt fields; the others are known from receipts.
public struct AppReceipt: Hashable, Sendable {
  /// Attribute 0 (`receipt_type`): `Production`, `ProductionSandbox`, `Xcode`, `ProductionVPP`, …
  public var environmentName: String
  /// Attribute 1 (`adam_id`): the application's number in the store; 0 in the sandbox.
  public var appIdentifier: Int64?
  /// Attribute 3 (`application_version`, documented): the version that was bought or updated to.
  public var applicationVersion: String
  /// Attribute 2 as its raw octets, tag and length included: that is what the device hash covers.
  public var rawBundleIdentifier: [UInt8]
  /// Attribute 2 (`bundle_id`, documented) as text.
  public var bundleIdentifier: String
  /// Attribute 4: salt of the device hash.
  public var opaqueValue: [UInt8]
  /// Attribute 5: binds the receipt to a device, see ``DeviceBinding``.
  public var deviceHash: [UInt8]
  /// Attribute 12 (`receipt_creation_date`, documented): when the store signed it, in whole seconds.
  public var creationDate: Timestamp
  /// Attribute 15 (`download_id`); more than 32 bits.
  public var downloadIdentifier: Int64?
  /// Attribute 16 (`version_external_identifier`).
  public var versionExternalIdentifier: Int64?
  /// Attribute 18 (`original_purchase_date`): when the application itself was first bought.
  public var originalPurchaseDate: Timestamp?
  /// Attribute 19 (`original_application_version`, documented): the version that was first bought; always
  /// `1.0` in the sandbox.
  public var originalApplicationVersion: String?
  /// Volume purchases only: when a withdrawn license ends.
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

/// The part of a receipt that ties it to a device. It is enough to tell that device from others, and holds
/// nothing else of the receipt.
public struct DeviceBinding: Hashable, Sendable {
  private let opaqueValue: [UInt8]
  private let rawBundleIdentifier: [UInt8]
  private let deviceHash: [UInt8]

  fileprivate init(_ receipt: AppReceipt) {
    opaqueValue = receipt.opaqueValue
    rawBundleIdentifier = receipt.rawBundleIdentifier
    deviceHash = receipt.deviceHash
  }

  /// Whether attribute 5 is the SHA-1 of the device's GUID, attribute 4 and the raw attribute 2.
  public func matches(_ device: DeviceIdentifier) -> Bool {
    equalInConstantTime(hash(for: device).span, deviceHash.span)
  }

  fileprivate func hash(for device: DeviceIdentifier) -> [UInt8] {
    Checksum.of(device.receiptGUID + opaqueValue + rawBundleIdentifier, .sha1).bytes
  }
}

extension AppReceipt {
  /// Binds the receipt to `device` with a fresh salt. What is signed afterwards cannot be moved to another device.
  public mutating func bind(to device: DeviceIdentifier) {
    opaqueValue = RandomBytes.make(16)
    deviceHash = deviceBinding.hash(for: device)
  }

  /// The device that the receipt is bound to, without the rest of it.
  public var deviceBinding: DeviceBinding { DeviceBinding(self) }
}

extension DeviceIdentifier {
  /// The octets by which receipts know the device: the 16 of a UUID, the text's UTF-8 of any other name.
  public var receiptGUID: [UInt8] {
    let groups = description.split(separator: "-", omittingEmptySubsequences: false)
    guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12],
      let octets = Hexadecimal.decode(groups.joined().lowercased())
    else { return Array(description.utf8) }
    return octets
  }
}
