import CoreTypes
import Database
import PullboxAPI
import SandboxRecords
import ServiceAPI

/// A server's report of how a purchase was used, after the store asked for it. It is kept as it came.
struct ConsumptionReport: Hashable, Sendable {
  /// A field whose value cannot be, by the code of its error.
  enum Field: Int, Hashable, Sendable {
    case accountTenure = 4_000_032
    case appAccountToken = 4_000_033
    case consumptionStatus = 4_000_034
    case customerConsented = 4_000_035
    case deliveryStatus = 4_000_036
    case lifetimeDollarsPurchased = 4_000_037
    case lifetimeDollarsRefunded = 4_000_038
    case platform = 4_000_039
    case playTime = 4_000_040
    case sampleContentProvided = 4_000_041
    case userStatus = 4_000_042

    /// The field's name as words.
    var words: String {
      switch self {
      case .accountTenure: "account tenure"
      case .appAccountToken: "app account token"
      case .consumptionStatus: "consumption status"
      case .customerConsented: "customer consented"
      case .deliveryStatus: "delivery status"
      case .lifetimeDollarsPurchased: "lifetime dollars purchased"
      case .lifetimeDollarsRefunded: "lifetime dollars refunded"
      case .platform: "platform"
      case .playTime: "play time"
      case .sampleContentProvided: "sample content provided"
      case .userStatus: "user status"
      }
    }
  }

  /// 1 or 2.
  let version: Int
  /// The body as it came, at most 16 KiB of JSON.
  let document: String

  /// Reads the body of version 1 or 2. Throws 4000000 for what is no such document, and the error of the first field whose
  /// value cannot be. `customerConsented` must be true in both versions.
  init(_ body: [UInt8], version: Int) throws(ServerAPIError) {
    guard let members = try? APIJSON.decode([String: JSONScalar].self, from: body) else { throw .badRequest }
    self.version = version
    document = String(decoding: body, as: UTF8.self)
    guard members["customerConsented"] == .boolean(true) else { throw .consumption(.customerConsented) }
    if version == 1 { try Self.checkFirst(members) } else { try Self.checkSecond(members) }
  }

  /// Version 1: every member but the consent may be missing; those that are there have the documented ranges.
  private static func checkFirst(_ members: [String: JSONScalar]) throws(ServerAPIError) {
    let numbers: [(name: String, field: Field, range: ClosedRange<Int64>)] = [
      ("accountTenure", .accountTenure, 0...7), ("consumptionStatus", .consumptionStatus, 0...3),
      ("deliveryStatus", .deliveryStatus, 0...5),
      ("lifetimeDollarsPurchased", .lifetimeDollarsPurchased, 0...7),
      ("lifetimeDollarsRefunded", .lifetimeDollarsRefunded, 0...7), ("platform", .platform, 0...2),
      ("playTime", .playTime, 0...7), ("userStatus", .userStatus, 0...4),
    ]
    for (name, field, range) in numbers {
      guard let value = members[name] else { continue }
      guard case .integer(let number) = value, range.contains(number) else { throw .consumption(field) }
    }
    if let token = members["appAccountToken"] {
      guard case .text(let text) = token, text.isEmpty || ApplicationAccountToken(text) != nil else {
        throw .consumption(.appAccountToken)
      }
    }
    if let sample = members["sampleContentProvided"] {
      guard case .boolean = sample else { throw .consumption(.sampleContentProvided) }
    }
    if let preference = members["refundPreference"] {
      guard case .integer(0...3) = preference else { throw .badRequest }
    }
  }

  /// Version 2: the sample and the delivery must be there. The percentage counts in thousandths of a percent.
  private static func checkSecond(_ members: [String: JSONScalar]) throws(ServerAPIError) {
    guard case .boolean = members["sampleContentProvided"] else {
      throw .consumption(.sampleContentProvided)
    }
    guard case .text(let status) = members["deliveryStatus"], deliveries.contains(status) else {
      throw .consumption(.deliveryStatus)
    }
    if let percentage = members["consumptionPercentage"] {
      guard case .integer(0...100_000) = percentage else { throw .badRequest }
    }
    if let preference = members["refundPreference"] {
      guard case .text(let name) = preference, preferences.contains(name) else { throw .badRequest }
    }
  }

  private static let deliveries: Set = [
    "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE",
    "UNDELIVERED_OTHER",
  ]
  private static let preferences: Set = ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"]

  /// The latest of each version about the transaction, in the order of the versions.
  static func all(
    of transaction: Int64, in connection: borrowing Connection
  ) throws -> [ConsumptionReports.Report] {
    try connection.query(
      "SELECT version, document, received FROM consumption_reports WHERE transaction_id = ? ORDER BY version",
      [.integer(transaction)]
    ).map {
      ConsumptionReports.Report(
        version: Int(try $0.integer("version")), document: try $0.text("document"),
        received: try $0.timestamp("received"))
    }
  }

  /// Keeps it as the latest of its version about the transaction. It replaces the one before, with its date.
  func put(transaction: Int64, received: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      INSERT INTO consumption_reports (transaction_id, version, document, received) VALUES (?, ?, ?, ?)
      ON CONFLICT (transaction_id, version) DO UPDATE SET document = excluded.document, received = excluded.received
      """, [.integer(transaction), .integer(version), .text(document), .timestamp(received)])
  }
}

/// A member of a flat JSON object.
enum JSONScalar: Decodable, Hashable, Sendable {
  case boolean(Bool)
  case integer(Int64)
  case text(String)
  /// Null, a fraction, an array or an object.
  case other

  /// Never throws for JSON that is well formed. A number that is no whole one of 64 bits is ``other``.
  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let boolean = try? container.decode(Bool.self) {
      self = .boolean(boolean)
    } else if let integer = try? container.decode(Int64.self) {
      self = .integer(integer)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else {
      self = .other
    }
  }

  /// Nil for a member of another type.
  var text: String? {
    guard case .text(let text) = self else { return nil }
    return text
  }

  /// Nil for a member of another type, and for a number outside of 64 bits.
  var integer: Int64? {
    guard case .integer(let integer) = self else { return nil }
    return integer
  }
}
