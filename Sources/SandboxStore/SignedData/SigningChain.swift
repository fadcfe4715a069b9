import CoreTypes
import Files
import Receipts
import SandboxRecords
import Synchronization
import SystemCalls

/// The certificates and keys under which the store signs transactions, renewals and notifications, and what its OCSP
/// responder says of them. They are kept in the state directory; what tests revoke stays revoked over a start.
final class SigningChain: Sendable {
  private struct State {
    var authority: SignedDataAuthority
    /// Empty, or the leaf.
    var revoked: Set<CertificateSerialNumber> = []
  }

  private let directory: StoreStateDirectory
  private let clock: any WallClock
  private let state: Mutex<State>

  /// Reads the certificates, or makes them; below the root anew where they name another responder. Blocks.
  init(in directory: StoreStateDirectory, responder: String, clock: any WallClock) throws {
    self.directory = directory
    self.clock = clock
    let authority = try directory.signedDataAuthority(now: clock.now(), responder: responder)
    let revoked = try directory.revokedCertificates().map { try $0.serialNumber() }
    state = Mutex(State(authority: authority, revoked: Set(revoked)))
  }

  /// Makes what is below the root anew where it names another responder. Blocks. Every signature from then on
  /// has the new leaf.
  func adopt(responder: String) throws {
    let authority = try directory.signedDataAuthority(now: clock.now(), responder: responder)
    state.locked { $0.authority = authority }
  }

  /// The leaf counts no more. Blocks. It is written down before the responder says so, and signatures go on
  /// with the same leaf. ``renew()`` ends that.
  func revokeLeaf() throws -> CertificateStatus {
    let leaf = state.locked { $0.authority.leaf }
    try directory.write(revoked: [leaf])
    let serial = try leaf.serialNumber()
    state.locked { _ = $0.revoked.insert(serial) }
    return CertificateStatus(serialNumber: serial.description, isRevoked: true)
  }

  /// Makes intermediate and leaf anew under the same root. Blocks. No certificate is revoked afterwards, not
  /// even an earlier leaf that was. Throws ``SandboxStoreError`` where the certificates name no responder.
  func renew() throws -> CertificateStatus {
    let responder = try state.locked { try $0.authority.responder() }
    guard let responder else { throw SandboxStoreError("the certificates name no responder") }
    let authority = try directory.renewSignedDataAuthority(now: clock.now(), responder: responder)
    try directory.write(revoked: [])
    let serial = try authority.leaf.serialNumber()
    state.locked { $0 = State(authority: authority) }
    return CertificateStatus(serialNumber: serial.description, isRevoked: false)
  }

  /// Returns the responder's answer to a request in DER. The answer is signed at the present second. What is
  /// no request is answered as RFC 6960 section 2.3 says, with a status and without a signature.
  func answer(to request: [UInt8]) -> [UInt8] {
    let (authority, revoked) = state.locked { ($0.authority, $0.revoked) }
    return authority.ocspResponse(to: request, at: clock.now().wholeSeconds, revoked: revoked)
  }

  /// The answer of `POST /sandbox/v1/certificates/…`.
  struct CertificateStatus: Encodable, Sendable {
    /// The serial number of the leaf, in hexadecimal.
    var serialNumber: String
    var isRevoked: Bool
  }
}

extension SigningChain: PayloadSigner {
  func sign(_ payload: [UInt8]) throws -> String {
    try state.locked { $0.authority }.sign(payload)
  }
}

extension StoreStateDirectory {
  /// The chain and the keys that are needed still, mode 0600.
  private var signedDataFile: String { "\(path)/pki/signed-data.pem" }
  private var revokedFile: String { "\(path)/pki/revoked.pem" }

  /// Makes what is below the root anew, whatever is there.
  fileprivate func renewSignedDataAuthority(now: Timestamp, responder: String) throws -> SignedDataAuthority {
    let authority = try signedDataAuthority(now: now, responder: responder)
      .renewed(.init(responder: responder, now: now))
    try DurableFile.write(Array(try authority.pem().utf8).span, to: signedDataFile, permissions: 0o600)
    return authority
  }

  /// Empty without a file. Throws for a file of more than 64 KiB and for what is no PEM.
  fileprivate func revokedCertificates() throws -> [Certificate] {
    let bytes: [UInt8]
    do {
      bytes = try FileSystem.read(revokedFile, upTo: .kibibytes(64))
    } catch {
      guard error.isFileMissing else { throw error }
      return []
    }
    return try Certificate.certificates(inPEM: String(decoding: bytes, as: UTF8.self))
  }

  /// Puts these in the place of the certificates that are there.
  fileprivate func write(revoked: [Certificate]) throws {
    try DurableFile.write(Array(revoked.map(\.pem).joined().utf8).span, to: revokedFile)
  }
}
