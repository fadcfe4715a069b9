package import Commerce
package import CoreTypes
package import Crypto
package import Database
package import DeliveryModel
import PullboxAPI
package import ServiceAPI

/// The domain's types as columns hold them: the one place that says how each is stored. Identifiers and
/// versions are text as they are written on the wire, choices their names, digests and public keys their
/// bytes.
extension SQLValue {
  /// The text that the wire has.
  package static func identifier(_ value: some LosslessStringCodable) -> SQLValue { .text(value.description) }
  /// The raw value of an enumeration or of an open set of names.
  package static func choice(_ value: some RawRepresentable<String>) -> SQLValue { .text(value.rawValue) }
  /// 32 bytes.
  package static func digest(_ value: SHA256Digest) -> SQLValue { .blob(value.array) }
  /// 32 bytes, those of an Ed25519 key.
  package static func publicKey(_ value: VerificationKey) -> SQLValue { .blob(value.bytes) }
  /// 16 bytes, in the order of the handle's two words.
  package static func handle(_ value: DeliveryHandle) -> SQLValue { .blob(value.bytes) }
  /// 16 bytes.
  package static func customer(_ value: CustomerIdentifier) -> SQLValue { .blob(value.bytes) }
  /// The state's spelling, which has the state before a revocation too.
  static func grantState(_ value: GrantMachine.State) -> SQLValue { .text(value.stored) }
}

extension TransactionKey {
  /// In the order in which statements ask for them: store, environment, transaction.
  package var values: [SQLValue] { [.identifier(store), .choice(environment), .identifier(id)] }

  /// Reads the columns `store`, `environment` and `transaction_id`. Throws ``ColumnTypeMismatch``.
  package init(row: Row) throws {
    self.init(
      store: try row.identifier("store"), environment: try row.choice("environment"),
      id: try row.identifier("transaction_id"))
  }
}

extension GrantMachine.State {
  /// All there are.
  package static let all: [GrantMachine.State] =
    [.granted, .completed, .finished, .reading]
    + [.revoked(was: .granted), .revoked(was: .completed), .revoked(was: .finished), .revoked(was: .reading)]

  /// How the database spells it.
  package var stored: String {
    switch self {
    case .granted: "granted"
    case .completed: "completed"
    case .finished: "finished"
    case .reading: "reading"
    case .revoked(let before): "revoked/" + before.stored
    }
  }

  /// Nil for a spelling that ``stored`` never produces.
  package init?(stored: String) {
    switch stored {
    case "granted": self = .granted
    case "completed": self = .completed
    case "finished": self = .finished
    case "reading": self = .reading
    case "revoked/granted": self = .revoked(was: .granted)
    case "revoked/completed": self = .revoked(was: .completed)
    case "revoked/finished": self = .revoked(was: .finished)
    case "revoked/reading": self = .revoked(was: .reading)
    default: return nil
    }
  }
}

/// Reads what ``SQLValue`` wrote. Throws ``ColumnTypeMismatch`` for what this program never writes there, or
/// what the column's own accessor throws; the `optional` ones answer nil for NULL.
extension Row {
  /// A text column that holds an identifier or a version.
  package func identifier<Value: LosslessStringCodable>(_ column: String) throws -> Value {
    try made(column, as: "\(Value.self)", from: text(column)) { Value($0) }
  }

  /// A text column that holds a name; for a closed enumeration one of its own.
  package func choice<Value: RawRepresentable<String>>(_ column: String) throws -> Value {
    try made(column, as: "\(Value.self)", from: text(column)) { Value(rawValue: $0) }
  }

  func optionalChoice<Value: RawRepresentable<String>>(_ column: String) throws -> Value? {
    try optional(column, as: "\(Value.self)", from: optionalText) { Value(rawValue: $0) }
  }

  /// A blob column of 32 bytes.
  package func digest(_ column: String) throws -> SHA256Digest {
    try made(column, as: "a SHA-256", from: blob(column)) { SHA256Digest($0) }
  }

  func optionalDigest(_ column: String) throws -> SHA256Digest? {
    try optional(column, as: "a SHA-256", from: optionalBlob) { SHA256Digest($0) }
  }

  /// Nil for NULL and for bytes that are no digest: for rows that are read all at once, where one that is damaged
  /// must not keep the others from being read.
  func digestIfIntact(_ column: String) throws -> SHA256Digest? {
    try optionalBlob(column).flatMap { SHA256Digest($0) }
  }

  /// A blob column that holds an Ed25519 key.
  package func publicKey(_ column: String) throws -> VerificationKey {
    try made(column, as: "an Ed25519 key", from: blob(column)) { VerificationKey($0) }
  }

  func optionalPublicKey(_ column: String) throws -> VerificationKey? {
    try optional(column, as: "an Ed25519 key", from: optionalBlob) { VerificationKey($0) }
  }

  /// A blob column of 16 bytes. Throws ``ColumnTypeMismatch`` for another length.
  package func handle(_ column: String) throws -> DeliveryHandle {
    try made(column, as: "a delivery handle", from: blob(column)) { DeliveryHandle($0) }
  }

  /// A blob column of 16 bytes. Throws ``ColumnTypeMismatch`` for another length.
  package func customer(_ column: String) throws -> CustomerIdentifier {
    try made(column, as: "a customer", from: blob(column)) { CustomerIdentifier($0) }
  }

  func optionalCustomer(_ column: String) throws -> CustomerIdentifier? {
    try optional(column, as: "a customer", from: optionalBlob) { CustomerIdentifier($0) }
  }

  /// A text column that holds a state as ``GrantMachine/State/stored`` spells it.
  func grantState(_ column: String) throws -> GrantMachine.State {
    try made(column, as: "a grant's state", from: text(column)) { GrantMachine.State(stored: $0) }
  }

  /// An integer column of bytes; nil for NULL.
  package func optionalByteCount(_ column: String) throws -> ByteCount? {
    try optionalInteger(column).map { ByteCount(rawValue: $0) }
  }

  /// Returns the value that `make` creates from the stored value that `read` finds in the column; nil for NULL.
  func optional<Stored, Value>(
    _ column: String, as expected: @autoclosure () -> String, from read: (String) throws -> Stored?,
    _ make: (Stored) -> Value?
  ) throws -> Value? {
    guard let stored = try read(column) else { return nil }
    return try made(column, as: expected(), from: stored, make)
  }

  /// Makes the value, or throws ``ColumnTypeMismatch`` where it cannot be made.
  private func made<Stored, Value>(
    _ column: String, as expected: @autoclosure () -> String, from stored: Stored,
    _ make: (Stored) -> Value?
  ) throws -> Value {
    guard let value = make(stored) else { throw ColumnTypeMismatch(column: column, expected: expected()) }
    return value
  }
}

/// A column holds what this program never writes there.
package struct ColumnTypeMismatch: Error, CustomStringConvertible {
  /// The column's name in the statement.
  package var column: String
  /// The kind of value that belongs there, in words.
  package var expected: String

  /// `expected` completes "does not hold".
  package init(column: String, expected: String) {
    self.column = column
    self.expected = expected
  }
  /// A sentence without a full stop; the value is not in it.
  package var description: String { "column \(column) does not hold \(expected)" }
}
