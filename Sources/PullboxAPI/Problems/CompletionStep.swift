/// The links of the chain that a completion must have behind it; a `completion-mismatch` names the first that is
/// missing.
public enum CompletionStep: String, Sendable, CaseIterable {
  /// The report is signed by the key that the device gave when the grant was made.
  case deviceSignature = "device-signature"
  /// The report names the device that the grant is for.
  case device
  /// The report names the granted version.
  case version
  /// The report names the granted package's digest.
  case digest
  /// The report names the granted package's length.
  case length
  /// The server has sent the device that many bytes.
  case delivery
  /// The grant is live: not revoked.
  case grant
}
