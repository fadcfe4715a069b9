public import CoreTypes
public import Crypto

/// A fault of a stored package; new ones may be added.
public struct PackageFault: RawRepresentable, Hashable, Sendable, Codable {
  /// The name as answers and the database write it.
  public let rawValue: String
  /// A fault of any name, so that newer ones survive decoding.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// There is no file.
  public static let missing = PackageFault(rawValue: "missing")
  /// The file's bytes are not those that its name says.
  public static let damaged = PackageFault(rawValue: "damaged")
}

/// How the stored packages stand: the answer of `GET` and `POST /v1/operator/scrub`.
public struct PackageScrubReport: Codable, Sendable {
  /// A package that cannot be delivered as it should.
  public struct Item: Codable, Hashable, Sendable {
    /// The package's digest, by which it is stored.
    public var digest: SHA256Digest
    /// The package's fault.
    public var fault: PackageFault
    /// When that was last found.
    public var checked: Timestamp

    /// Creates the document from its members.
    public init(digest: SHA256Digest, fault: PackageFault, checked: Timestamp) {
      self.digest = digest
      self.fault = fault
      self.checked = checked
    }
  }

  /// Packages of versions.
  public var packages: Int
  /// Those among them that are still to be read in this round.
  public var waiting: Int
  /// By digest; empty when all is well.
  public var faults: [Item]

  /// Creates the document from its members.
  public init(packages: Int, waiting: Int, faults: [Item]) {
    self.packages = packages
    self.waiting = waiting
    self.faults = faults
  }
}
