/// Names a device to the store and to the delivery server, usually a UUID: 1 to 128 characters of `A-Z a-z 0-9 . _ -`.
/// It says nothing about the person who holds the device.
public struct DeviceIdentifier: Hashable, Sendable {
  public let text: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard Identifier.isValid(text, maximumLength: 128) else { return nil }
    self.text = text
  }
}

extension DeviceIdentifier: CustomStringConvertible {
  public var description: String { text }
}

extension DeviceIdentifier: TextCodable {}
