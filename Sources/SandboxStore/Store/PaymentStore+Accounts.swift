import Commerce
import CoreTypes
import Crypto
import Database
import PullboxAPI
import SandboxRecords
import ServiceAPI

extension PaymentStore {
  /// Opens an account. The response is the only place where the token is: the store keeps its SHA-256. Throws
  /// `request-malformed` for a territory that is not three capital letters or a name that is not of 1 to 100
  /// bytes, and `too-many-requests` beyond the store's limit.
  func openAccount(_ request: AccountRequest) async throws -> AccountResponse {
    guard request.territory.utf8.count == 3, request.territory.utf8.allSatisfy({ (0x41...0x5A).contains($0) })
    else { throw Problem(.requestMalformed, "territory is three capital letters (ISO 3166 alpha-3)") }
    guard (1...100).contains(request.name.utf8.count) else {
      throw Problem(.requestMalformed, "name has 1 to 100 bytes")
    }
    let response = AccountResponse(
      account: Hexadecimal.encode(RandomBytes.make(8)), token: RandomBytes.token())
    let token = SHA256Digest.of(response.token.utf8)
    try await database.write(locking: [.everything]) { [limits, clock] connection in
      guard try AccountTable.count(in: connection) < limits.accounts else {
        throw Problem(.tooManyRequests, "this store has \(limits.accounts) accounts, and takes no more")
      }
      try AccountTable.insert(
        in: connection, name: response.account, title: request.name, territory: request.territory,
        token: token,
        created: clock.now())
    }
    return response
  }

  /// The account a token belongs to. Throws `unauthorized`. It is found by the SHA-256 of the token, so that
  /// no secret is compared.
  func account(token: String?) async throws -> Account {
    guard let token else { throw Problem(.unauthorized, "an account's token is needed") }
    let digest = SHA256Digest.of(token.utf8)
    guard let account = try await database.read({ try AccountTable.find(in: $0, token: digest) }) else {
      throw Problem(.unauthorized, "no account has this token")
    }
    return account
  }

  /// How an account came by the application. The standard for an account that is not there.
  func application(of account: Int64) async throws -> ApplicationPurchase {
    try await database.read { try AccountTable.find(in: $0, id: account) }?.application
      ?? ApplicationPurchase()
  }

  /// Returns the account's data that an app requests before it shows a storefront. `currency` is nil for a
  /// territory whose currency is not known, and `application` for a bundle that is no such identifier.
  func publicAccount(_ account: Account) -> StoreAccount {
    StoreAccount(
      territory: account.territory, currency: TerritoryCurrency.code(of: account.territory),
      environment: environment.rawValue, canMakePayments: account.canMakePayments,
      application: ApplicationIdentifier(issuer.bundleIdentifier))
  }
}
