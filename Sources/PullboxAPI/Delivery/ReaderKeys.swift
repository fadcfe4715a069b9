public import CoreTypes

/// The answer to `POST /v1/readers`: the name and the password, which is told once.
public struct NewReaderKey: Codable, Sendable {
  /// The name under which the application signs in.
  public var name: String
  /// Four words with hyphens between them.
  public var password: String
  /// The address that the application is given.
  public var address: String

  /// Creates the document from its members.
  public init(name: String, password: String, address: String) {
    self.name = name
    self.password = password
    self.address = address
  }
}

/// The answer to `POST /v1/readers/list`: the customer's keys, the oldest first.
public struct ReaderKeyList: Codable, Sendable {
  /// One key, without its password.
  public struct Item: Codable, Sendable {
    /// The name under which the application signs in.
    public var name: String
    /// The customer's name for it.
    public var title: String
    /// When it was made.
    public var created: Timestamp
    /// When it was shown last, to an hour; absent where it never was.
    public var used: Timestamp?

    /// Creates the document from its members.
    public init(name: String, title: String, created: Timestamp, used: Timestamp? = nil) {
      self.name = name
      self.title = title
      self.created = created
      self.used = used
    }
  }

  /// The keys.
  public var readers: [Item]

  /// Creates the document from its member.
  public init(readers: [Item]) {
    self.readers = readers
  }
}
