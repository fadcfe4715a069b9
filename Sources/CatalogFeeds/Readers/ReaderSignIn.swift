import CatalogDocuments
package import ContentDelivery
package import ContentGrants
package import CoreTypes
import Crypto
import Database
package import DeliveryRecords
package import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess

/// Finds out whose key a request of an application for reading shows: by `Basic` (RFC 7617, in UTF-8), as `NAME.PASSWORD` or by a token
/// of the key's by `Bearer`, or as KOReader's sync does. Nothing is remembered, so that a key that is removed opens nothing from then on.
package struct ReaderSignIn: Sendable {
  /// The result of a look at a request.
  package enum Access: Sendable {
    /// It shows no key at all.
    case withoutKey
    /// It shows a key that is good.
    case reader(ReaderKey)
    /// It shows something that is no key.
    case unknown
  }

  private let grants: GrantService
  private let settings: LiveSettings
  private let attempts: ReaderAttempts

  package init(grants: GrantService, settings: LiveSettings, timer: any MonotonicClock) {
    self.grants = grants
    self.settings = settings
    attempts = ReaderAttempts(timer: timer)
  }

  /// Looks the key up. Throws `too-many-requests` where too many wrong ones came from there.
  package func access(of request: HTTPRequest) async throws -> Access {
    let isKOReader = request.headers.contains(Self.syncName)
    guard request.headers.contains("Authorization") || isKOReader else { return .withoutKey }
    let isByMD5 = isKOReader && !request.headers.contains("Authorization")
    guard let shown = isByMD5 ? Self.syncCredentials(of: request) : ReaderCredentials(request) else {
      return .unknown
    }
    let form: Form = isByMD5 ? .md5 : request.bearerToken == nil ? .password : .passwordOrToken
    return try await key(shown, as: form, for: request).map { .reader($0) } ?? .unknown
  }

  /// The form of a secret that is shown with a name.
  enum Form: Hashable, Sendable {
    /// The four words.
    case password
    /// Those, or a token.
    case passwordOrToken
    /// The MD5 of the words.
    case md5
  }

  /// The key of the name that is shown, if the secret is right. Throws `too-many-requests` where too many wrong ones came from there.
  func key(
    _ shown: ReaderCredentials, as form: Form, for request: HTTPRequest
  ) async throws -> ReaderKey? {
    let (name, secret) = (shown.name, shown.password)
    try checkAttempts(for: name, request)
    let (found, isToken) = try await grants.grantStore.database.read { connection in
      (
        try ReaderKeyTable.find(name, in: connection),
        try form == .passwordOrToken
          && ReaderTokenTable.contains(SecretDigest(of: secret).digest, of: name, in: connection)
      )
    }
    let known = form == .md5 ? found?.syncDigest : found?.digest
    let digest = SecretDigest(digest: known ?? SHA256Digest.of([]))
    // Compared also where there is no such key: the time tells nothing of names.
    let matches = digest.matches(form == .md5 ? secret : ReaderPassword.canonical(secret))
    // A key that was made before KOReader's sync has nothing for it to show.
    guard let key = found, isToken || known != nil && matches else {
      try chargeAttempt(for: name, request)
      return nil
    }
    try await note(key)
    return key
  }

  /// Throws `too-many-requests` where too many wrong secrets for the name came from there.
  func checkAttempts(for name: String, _ request: HTTPRequest) throws(Problem) {
    if let seconds = attempts.wait(for: name, from: settings.client(of: request)) {
      throw Self.tooMany(seconds)
    }
  }

  /// Counts a wrong secret. Throws `too-many-requests` where it is one too many.
  func chargeAttempt(for name: String, _ request: HTTPRequest) throws(Problem) {
    if let seconds = attempts.charge(name, from: settings.client(of: request)) {
      throw Self.tooMany(seconds)
    }
  }

  private func note(_ key: ReaderKey) async throws {
    let now = grants.grantStore.clock.now()
    if let used = key.used, now < used + ReaderKeyTable.freshness { return }
    do {
      try await grants.note(key)
    } catch is DatabaseError {
      // On a disk that cannot be written reading goes on; the next request brings it again.
    }
  }

  private static func tooMany(_ seconds: Int) -> Problem {
    Problem(.tooManyRequests, "too many wrong passwords came from there", retryAfterSeconds: max(1, seconds))
  }

  /// KOReader's sync shows a name and the MD5 of a password, in two fields of its own.
  private static let syncName = "x-auth-user"
  private static let syncPassword = "x-auth-key"

  /// The name and the MD5 of a request of KOReader's sync, which takes it for no other route; nil for what cannot be both.
  private static func syncCredentials(of request: HTTPRequest) -> ReaderCredentials? {
    guard request.rawTarget.hasPrefix("/opds/koreader/") else { return nil }
    let (names, passwords) = (request.headers.values(of: syncName), request.headers.values(of: syncPassword))
    guard names.count == 1, passwords.count == 1 else { return nil }
    return ReaderCredentials("\(names[0]):\(passwords[0].lowercased())", separatedBy: ":")
  }

  /// The name and the words that were typed into a form; nil for what cannot be both.
  static func typed(_ name: String, _ password: String) -> ReaderCredentials? {
    let name = String(name.split { $0.isWhitespace }.joined())
    return name.unicodeScalars.contains(":")
      ? nil : ReaderCredentials("\(name):\(password)", separatedBy: ":")
  }
}
