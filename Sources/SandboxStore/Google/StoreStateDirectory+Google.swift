import CoreTypes
import Crypto
import Files
import PullboxAPI
import SandboxRecords
import ServiceRuntime
import SystemCalls

extension StoreStateDirectory {
  /// The keys of the Google-like interface, made at the first start as those of receipts are. The two files
  /// are found at the next start. Throws ``StateDirectoryError`` `damaged` for a file that holds no such key.
  func googleAuthority(clock: any WallClock) throws -> GoogleAuthority {
    try FileSystem.createDirectories("\(path)/pki", permissions: 0o700)
    let serviceKey = try signingKey(named: "google-service-account")
    let identityKey = try signingKey(named: "google-identity")
    return GoogleAuthority(serviceKey: serviceKey, identityKey: identityKey, clock: clock)
  }

  /// Reads the key of a file in `pki`, or makes one and writes it durably.
  private func signingKey(named name: String) throws -> RS256Key {
    let file = "\(path)/pki/\(name).pem"
    let pem = try SecretFile.readOrCreate(file) { Array(RS256Key().pem.utf8) }
    guard let key = RS256Key(pem: String(decoding: pem.revealed, as: UTF8.self)) else {
      throw StateDirectoryError(.damaged, path: file, message: "this is no private key of RSA")
    }
    return key
  }

  /// The key file of the service account, with the address at which tokens are given now. A file that holds
  /// the same is not written again.
  func writeKeyFile(of authority: GoogleAuthority) throws {
    let document = try APIJSON.encode(authority.keyFile)
    try write(document, to: "\(path)/google-service-account.json", permissions: 0o600)
  }
}
