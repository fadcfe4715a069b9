public import CoreTypes
import Crypto
import Synchronization

/// Checks signed data against configured roots. A chain that held is believed for 15 minutes, so that most checks cost
/// one signature over P-256 and not two over P-384 besides.
///
/// ```swift
/// let verifier = SignedDataVerifier(roots: [root], timer: SystemMonotonicClock())
/// let verified = try verifier.verify(SignedData(text: text), at: signedDate)
/// ```
///
/// Whether the issuers still stand by the certificates is another question: ``SignedDataChain/revocationChecks()``.
public final class SignedDataVerifier: Sendable {
  private struct Entry {
    var chain: SignedDataChain
    var end: MonotonicInstant
  }

  /// How long a chain that held is believed.
  public static let lifetime: Duration = .seconds(900)
  /// Chains that are kept, at most: stores sign with one or two certificates at a time.
  public static let maximumCount = 32

  private let trust: Result<SignedDataTrust, any Error>
  private let timer: any MonotonicClock
  private let chains = Mutex<[SHA256Digest: Entry]>([:])

  /// - Parameter roots: the only ones that count; the system's are never looked at.
  public init(roots: [Certificate], timer: any MonotonicClock) {
    trust = Result { try SignedDataTrust(roots) }
    self.timer = timer
  }

  /// Chains that are kept.
  public var chainCount: Int { chains.locked { $0.count } }

  /// The payload, when the key that the header's certificates name has signed it and they lead to a root, all valid at
  /// `moment`. Throws ``ReceiptError``: `malformed`, `chainInvalid`, `markerMissing`, `signatureInvalid`. Costs up to a
  /// millisecond or two.
  public func verify(_ data: SignedData, at moment: Timestamp) throws -> VerifiedSignedData {
    // All that decides on the chain stands in the header, so one that was seen is known by its digest.
    let digests = data.digests
    let now = timer.now()
    let known = chains.locked { $0[digests.header] }
    let chain: SignedDataChain
    let isNew: Bool
    if let known, now < known.end, known.chain.validity.contains(moment) {
      (chain, isNew) = (known.chain, false)
    } else {
      (chain, isNew) = (try SignedDataChain(header: data.header, trusting: trust.get(), at: moment), true)
    }
    guard chain.key.isValid(signature: data.signature, forDigest: digests.signed) else {
      throw ReceiptError(.signatureInvalid, "the signature does not fit the signed data")
    }
    // Only what the store has signed takes a place: others could write one chain in many headers.
    if isNew { keep(chain, as: digests.header, at: now) }
    return VerifiedSignedData(payload: data.claims, chain: chain)
  }

  private func keep(_ chain: SignedDataChain, as digest: SHA256Digest, at now: MonotonicInstant) {
    chains.locked { chains in
      chains = chains.filter { now < $0.value.end }
      if chains.count >= Self.maximumCount, let oldest = chains.min(by: { $0.value.end < $1.value.end }) {
        chains[oldest.key] = nil
      }
      chains[digest] = Entry(chain: chain, end: now + Self.lifetime)
    }
  }
}
