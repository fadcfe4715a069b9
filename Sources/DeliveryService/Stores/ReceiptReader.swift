import Commerce
import CoreTypes
import Crypto
import Receipts
import Synchronization
import SystemCalls

/// What an app receipt must be before its store is asked about it.
struct ReceiptRules: Sendable {
  /// Those under which it is signed; without any, signatures are the store's matter alone.
  var roots: [Certificate] = []
  var policy = ReceiptPolicy()
  /// The first version of the application that counts.
  var minimumVersion: ApplicationVersion?
}

/// Reads receipts, long ones on threads of its own, each receipt once: a client that is told to come again brings the same
/// one.
final class ReceiptReader: Sendable {
  /// A text of so many bytes is read where it is asked for: in some 20 µs, about what waking a thread and being woken takes.
  private static let short = 8192

  /// Up to 3 MB of untrusted bytes each: not on the cooperative pool, and not on the threads of others.
  private let threads: BlockingPool
  private let receipts = Mutex(
    RecentlyUsedCache<SHA256Digest, UnverifiedAppReceipt>(maximumCount: 4096, maximumLength: .mebibytes(4)))

  init(threads: BlockingPool) {
    self.threads = threads
  }

  /// The receipt whose text has that digest. Throws `ReceiptError` `malformed`.
  func read(_ text: String, digest: SHA256Digest) async throws -> UnverifiedAppReceipt {
    if let receipt = receipts.withLock({ $0.value(for: digest) }) { return receipt }
    let receipt =
      text.utf8.count <= Self.short
      ? try UnverifiedAppReceipt(base64: text)
      : try await threads.run { try UnverifiedAppReceipt(base64: text) }
    // The claims are about as long again as the message.
    let length = ByteCount(receipt.encoded.count * 2 + 1000)
    receipts.withLock { $0.insert(receipt, for: digest, length: length) }
    return receipt
  }

  /// Checks signature, chain and dates. Throws `ReceiptError`.
  func verify(_ receipt: UnverifiedAppReceipt, by rules: ReceiptRules, at now: Timestamp) async throws {
    // Three signatures of RSA and as many certificates take a millisecond.
    _ = try await threads.run { try receipt.verified(trusting: rules.roots, now: now, policy: rules.policy) }
  }
}
