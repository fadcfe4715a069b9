import CoreTypes
import Files
import SystemCalls
import Testing

@testable import Receipts

/// The receipts that OpenSSL's command line made in the shape of real ones, by
/// `Tests/Fixtures/receipts/make-receipts`. Each was made at ``created``, except `xcode` (2020) and
/// `sha1-chain` (2014).
enum ReceiptVectors {
  /// Attribute 12 of a genuine receipt whose signing certificate ended on 2024-10-01.
  static let created = Fixtures.moment("2024-02-23T17:27:16Z")

  static func base64(_ name: String) throws -> String {
    String(decoding: try file("\(name).b64"), as: UTF8.self)
  }

  static func receipt(_ name: String) throws -> UnverifiedAppReceipt {
    try UnverifiedAppReceipt(base64: base64(name))
  }

  static func tree(_ name: String) throws -> DERTree {
    DERTree(try receipt(name).encoded)
  }

  static func root() throws -> Certificate {
    try #require(
      try Certificate.certificates(inPEM: String(decoding: file("root.pem"), as: UTF8.self)).first)
  }

  private static func file(_ name: String) throws -> [UInt8] {
    let tests = FileSystem.parent(of: FileSystem.parent(of: #filePath))
    return try FileSystem.read("\(tests)/Fixtures/receipts/\(name)", upTo: .mebibytes(1))
  }
}
