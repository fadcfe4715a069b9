public import Commerce
public import CoreTypes
import PullboxAPI

/// `GET /v1/operator/customers`: the customers that a transaction, a device or an application's user leads to, with what shows
/// their purchases.
public struct OperatorCustomers: Codable, Sendable {
  /// The customers: one, for a device one for each of its feeds, for an application's user ten at most.
  public var customers: [OperatorCustomer]

  /// Creates the document from its member.
  public init(customers: [OperatorCustomer]) {
    self.customers = customers
  }
}

/// A customer, as operators see it: the devices and the readers' keys by which the purchases are shown.
public struct OperatorCustomer: Codable, Sendable {
  /// One device that showed a proof of the customer's.
  public struct Device: Codable, Sendable {
    /// The device's own name.
    public var device: DeviceIdentifier
    /// When it showed one first.
    public var firstSeen: Timestamp
    /// When it showed one last, to a day.
    public var lastSeen: Timestamp

    /// Creates the document from its members.
    public init(device: DeviceIdentifier, firstSeen: Timestamp, lastSeen: Timestamp) {
      self.device = device
      self.firstSeen = firstSeen
      self.lastSeen = lastSeen
    }
  }

  /// The server's own name for the customer.
  public var customer: String
  /// The devices, the one that was seen last first; those that stand for readers' keys are not among them.
  public var devices: [Device]
  /// The readers' keys, the oldest first.
  public var readers: [OperatorReaderKey]

  /// Creates the document from its members.
  public init(customer: String, devices: [Device], readers: [OperatorReaderKey]) {
    self.customer = customer
    self.devices = devices
    self.readers = readers
  }
}

/// A reader's key, as operators see it, without its password. It is also the answer to
/// `POST /v1/operator/readers/{name}/remove`, where it opens nothing any more.
public struct OperatorReaderKey: Codable, Sendable {
  /// The name under which the application signs in.
  public var name: String
  /// The customer's name for it.
  public var title: String
  /// The device as which its grants are listed.
  public var device: DeviceIdentifier
  /// When it was made.
  public var created: Timestamp
  /// When it was shown last, to an hour; absent where it never was.
  public var used: Timestamp?

  /// Creates the document from its members.
  public init(
    name: String, title: String, device: DeviceIdentifier, created: Timestamp, used: Timestamp? = nil
  ) {
    self.name = name
    self.title = title
    self.device = device
    self.created = created
    self.used = used
  }
}
