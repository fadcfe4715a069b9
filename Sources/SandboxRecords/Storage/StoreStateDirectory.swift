package import CoreTypes
package import Crypto
package import Files
package import Receipts
package import ServiceRuntime
import SystemCalls

/// The files that the store keeps on disk. Every call blocks.
package struct StoreStateDirectory: Sendable {
  package let path: String

  package init(path: String) {
    self.path = path
  }

  /// Beside it lie SQLite's own files, and the reserve.
  package var databasePath: String { "\(path)/store.sqlite" }

  /// Makes the directory and locks it for this process alone. The lock ends with the value that is returned.
  /// Throws ``StateDirectoryError`` `inUse` while another process holds it.
  package func acquire() throws -> LockFile {
    try StateDirectory.claim(path)
  }

  /// The certificates and the key, made at the first start. They lie in one file, so that there is never one
  /// without the other; the root alone lies beside them for programs that check receipts. The keys of root
  /// and intermediate are thrown away, so that a damaged file cannot be made anew under the same root. Making
  /// it takes three RSA keys.
  package func authority(now: Timestamp) throws -> ReceiptAuthority {
    let directory = "\(path)/pki"
    try FileSystem.createDirectories(directory, permissions: 0o700)
    let pem = try SecretFile.readOrCreate("\(directory)/authority.pem") {
      let authority = try ReceiptAuthority.generate(.init(now: now))
      return Array((authority.chainPEM + (try authority.keyPEM())).utf8)
    }
    let text = String(decoding: pem.revealed, as: UTF8.self)
    let authority = try ReceiptAuthority(chainPEM: text, keyPEM: text)
    try write(Array(authority.root.pem.utf8), to: "\(directory)/root.pem", permissions: 0o644)
    return authority
  }

  /// The certificates and keys under which transactions and notifications are signed, made at the first start as
  /// ``authority(now:)`` makes those of receipts. When the responder has another address than the certificates say,
  /// those below the root are made anew. The root and its file stay the same then.
  package func signedDataAuthority(now: Timestamp, responder: String) throws -> SignedDataAuthority {
    let directory = "\(path)/pki"
    let file = "\(directory)/signed-data.pem"
    try FileSystem.createDirectories(directory, permissions: 0o700)
    let options = SignedDataAuthority.Options(responder: responder, now: now)
    let pem = try SecretFile.readOrCreate(file) {
      Array(try SignedDataAuthority.generate(options).pem().utf8)
    }
    var authority = try SignedDataAuthority(pem: String(decoding: pem.revealed, as: UTF8.self))
    if try authority.responder() != responder {
      authority = try authority.renewed(options)
      try DurableFile.write(Array(try authority.pem().utf8).span, to: file, permissions: 0o600)
    }
    try write(
      Array(authority.root.pem.utf8), to: "\(directory)/signed-data-root.pem", permissions: 0o644)
    return authority
  }

  /// The key for tokens of the App Store Server API and its name, made at the first start. The file is named after the
  /// key, as Apple names them: `AuthKey_KEYID.p8`. Of several such files the first by name counts. The
  /// identifier has ten characters of A to Z and 2 to 9, without I and O. Throws ``StateDirectoryError``
  /// `damaged` for a file that holds no key over P-256.
  package func apiKey() throws -> (identifier: String, path: String, key: ES256Key) {
    let (prefix, suffix) = ("AuthKey_", ".p8")
    let found = try FileSystem.list(path).map(\.name)
      .filter { $0.hasPrefix(prefix) && $0.hasSuffix(suffix) }.sorted().first
    let alphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
    let name =
      found ?? prefix + String(RandomBytes.make(10).map { alphabet[Int($0) % alphabet.count] }) + suffix
    let file = "\(path)/\(name)"
    let pem = try SecretFile.readOrCreate(file) { Array(ES256Key().pem.utf8) }
    guard let key = ES256Key(pem: String(decoding: pem.revealed, as: UTF8.self)) else {
      throw StateDirectoryError(.damaged, path: file, message: "this is no private key over P-256")
    }
    return (String(name.dropFirst(prefix.count).dropLast(suffix.count)), file, key)
  }

  /// Makes the file hold `bytes`. One that does, and allows no more than `permissions`, is left alone, so that a start on a full
  /// disk needs no room for it. Another file is replaced durably.
  package func write(_ bytes: [UInt8], to path: String, permissions: UInt32) throws {
    if let status = try FileSystem.status(of: path), status.permissions & ~permissions == 0,
      try FileSystem.read(path, upTo: .mebibytes(1)) == bytes
    {
      return
    }
    try DurableFile.write(bytes.span, to: path, permissions: permissions)
  }

  /// The credential of a delivery server that has none of its own, made at the first start. It is that file's
  /// text at every later start.
  package func serverCredential() throws -> Redacted<String> {
    let text = try SecretFile.readOrCreate("\(path)/server-credential") {
      Array(RandomBytes.token().utf8)
    }
    return Redacted(String(decoding: text.revealed, as: UTF8.self))
  }
}
