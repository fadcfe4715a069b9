package import CoreTypes
import Crypto
package import Database
import DeliveryRecords
package import PullboxAPIServer
package import RouteAccess
package import ServiceRuntime
import Synchronization

/// An operator who is signed in.
package struct Visitor: Sendable {
  /// The key's holder, as it is now.
  package let holder: Operator
  /// The digest of the operator key.
  package let key: SecretDigest
  /// The language of the pages.
  package let language: Language
  /// The token that every change has to carry: made of the session's secret, and of no use without its cookie.
  package let formToken: String
}

/// The sessions of operators in a browser. A session's secret is in the browser's cookie alone: here are its digest, and the digest of
/// the key that it was begun with. It ends after ``ConsoleSessionTable/lifetime``, after ``ConsoleSessionTable/patience`` without a
/// request, at sign-out, and with its key.
///
/// Every node of a database knows all sessions. A session that this process has seen counts also while the database cannot be read, so
/// that its operator sees what is wrong, but only for ``maximumUnread`` since the database last had it: it may have ended at another
/// node.
package final class ConsoleSessions: Sendable {
  private static let touchInterval: Duration = .seconds(60)
  private static let maximumRemembered = 256
  /// How long a session counts of which the database cannot be asked.
  package static let maximumUnread: Duration = .seconds(60)

  /// A session that this process has seen.
  private struct Seen {
    var session: ConsoleSessionTable.Session
    /// When the database last had it.
    var confirmed: Timestamp
  }

  private let database: Database
  private let keys: OperatorKeys
  private let clock: any WallClock
  private let log: Log
  private let seen = Mutex<[SHA256Digest: Seen]>([:])

  package init(database: Database, keys: OperatorKeys, clock: any WallClock, log: Log) {
    self.database = database
    self.keys = keys
    self.clock = clock
    self.log = log
  }

  /// Begins a session of the key's holder, and returns its secret: 256 random bits. Throws ``DatabaseError``.
  package func begin(with key: SecretDigest, language: Language) async throws -> String {
    let secret = RandomBytes.token(bits: 256)
    let now = clock.now()
    let session = ConsoleSessionTable.Session(
      digest: .of(secret.utf8), key: key.digest, language: language.rawValue, created: now, used: now)
    try await database.write(locking: []) { try ConsoleSessionTable.add(session, in: $0) }
    remember(session, confirmed: now)
    return secret
  }

  /// The operator whose session has that secret; nil where there is none any more. Throws what the database throws, where this process
  /// has not seen the session within ``maximumUnread`` either.
  ///
  /// - Parameter isUsed: whether this counts as a use of the session, after which it lasts on.
  package func visitor(_ secret: String, isUsed: Bool = true) async throws -> Visitor? {
    let digest = SHA256Digest.of(secret.utf8)
    let now = clock.now()
    let found: ConsoleSessionTable.Session?
    var confirmed = now
    do {
      found = try await database.read { try ConsoleSessionTable.find(digest, in: $0) }
    } catch let error as DatabaseError where error.code != .busy && error.code != .overloaded {
      // A database that has much to do is asked again by the next request.
      guard let remembered = seen.locked({ $0[digest] }), now - remembered.confirmed <= Self.maximumUnread
      else { throw error }
      (found, confirmed) = (remembered.session, remembered.confirmed)
    }
    guard var session = found, now - session.created < ConsoleSessionTable.lifetime,
      now - session.used < ConsoleSessionTable.patience,
      let holder = keys.holder(ofKeyWith: SecretDigest(digest: session.key))
    else {
      seen.locked { $0[digest] = nil }
      return nil
    }
    if isUsed, now - session.used >= Self.touchInterval {
      session.used = now
      do {
        try await database.write(locking: []) { try ConsoleSessionTable.touch(digest, at: now, in: $0) }
      } catch {
        log.warning("the use of a session could not be written down", ["error": LogValue(error)])
      }
    }
    remember(session, confirmed: confirmed)
    return Visitor(
      holder: holder, key: SecretDigest(digest: session.key),
      language: Language(rawValue: session.language) ?? .english, formToken: Self.formToken(secret))
  }

  /// Ends the session of that secret. Throws ``DatabaseError``.
  package func end(_ secret: String) async throws {
    let digest = SHA256Digest.of(secret.utf8)
    seen.locked { $0[digest] = nil }
    try await database.write(locking: []) { try ConsoleSessionTable.remove(digest, in: $0) }
  }

  /// Shows the session's pages in that language from now on. Throws ``DatabaseError``.
  package func speak(_ language: Language, _ secret: String) async throws {
    let digest = SHA256Digest.of(secret.utf8)
    try await database.write(locking: []) {
      try ConsoleSessionTable.speak(language.rawValue, digest, in: $0)
    }
  }

  private func remember(_ session: ConsoleSessionTable.Session, confirmed: Timestamp) {
    seen.locked { seen in
      if seen[session.digest] == nil, seen.count >= Self.maximumRemembered,
        let oldest = seen.values.min(by: { $0.session.used < $1.session.used })
      {
        seen[oldest.session.digest] = nil
      }
      seen[session.digest] = Seen(session: session, confirmed: confirmed)
    }
  }

  private static func formToken(_ secret: String) -> String {
    String(SHA256Digest.of("form of the console \(secret)".utf8).hexadecimal.prefix(32))
  }
}
