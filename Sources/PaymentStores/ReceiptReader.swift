package import Commerce
package import CoreTypes
package import Crypto
package import Receipts
import ServiceRuntime
import Synchronization
package import SystemCalls

/// The rules that an app receipt must meet before its store is asked about it.
package struct ReceiptRules: Sendable {
  /// Those under which it is signed; without any, signatures are the store's matter alone.
  package var roots: [Certificate] = []
  package var policy = ReceiptPolicy()
  /// The first version of the application that counts.
  package var minimumVersion: ApplicationVersion?

  package init(
    roots: [Certificate] = [], policy: ReceiptPolicy = ReceiptPolicy(),
    minimumVersion: ApplicationVersion? = nil
  ) {
    self.roots = roots
    self.policy = policy
    self.minimumVersion = minimumVersion
  }
}

/// Reads receipts, long ones on threads of its own, and checks their chains, each receipt once: a client that is told to come again
/// brings the same one.
package final class ReceiptReader: Sendable {
  /// A text of so many bytes is read where it is asked for: in some 20 µs, about what waking a thread and being woken takes.
  private static let short = 8192

  /// Up to 3 MB of untrusted bytes each: not on the cooperative pool, and not on the threads of others.
  private let threads: BlockingPool
  private let receipts = Mutex(
    RecentlyUsedCache<SHA256Digest, UnverifiedAppReceipt>(maximumCount: 4096, maximumLength: .mebibytes(4)))

  /// Receipts whose signature and chain a store's rules have found good.
  private let verified = Mutex(
    RecentlyUsedCache<VerdictCache.Key, Bool>(maximumCount: 16_384, maximumLength: .mebibytes(4)))
  private let checks = Atomic<Int>(0)

  /// How often a signature and its chain were computed.
  var checkCount: Int { checks.load(ordering: .relaxed) }

  /// Creates a reader. `threads` are for receipts alone, so that long ones hold up nothing else.
  package init(threads: BlockingPool) {
    self.threads = threads
  }

  /// The receipt whose text has that digest. Throws `ReceiptError` `malformed`.
  package func read(_ text: String, digest: SHA256Digest) async throws -> UnverifiedAppReceipt {
    if let receipt = receipts.locked({ $0.value(for: digest) }) { return receipt }
    let receipt =
      text.utf8.count <= Self.short
      ? try UnverifiedAppReceipt(base64: text)
      : try await threads.run { try UnverifiedAppReceipt(base64: text) }
    // The claims are about as long again as the message.
    let length = ByteCount(receipt.encoded.count * 2 + 1000)
    receipts.locked { $0.insert(receipt, for: digest, length: length) }
    return receipt
  }

  /// Checks signature, chain and dates, by the rules of the store in `key`, which stay the same. What was good once is: the chain
  /// is held against the receipt's own date. Throws `ReceiptError`.
  package func verify(
    _ receipt: UnverifiedAppReceipt, as key: VerdictCache.Key, by rules: ReceiptRules, at now: Timestamp
  ) async throws {
    if verified.locked({ $0.value(for: key) }) == true { return }
    checks.add(1, ordering: .relaxed)
    // Three signatures of RSA and as many certificates take a millisecond.
    _ = try await threads.run { try receipt.verified(trusting: rules.roots, now: now, policy: rules.policy) }
    verified.locked { $0.insert(true, for: key, length: Self.verifiedLength) }
  }

  /// The approximate length of an entry in memory, in bytes.
  private static let verifiedLength = ByteCount(150)
}
