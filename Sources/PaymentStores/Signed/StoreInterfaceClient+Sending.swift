package import Commerce
import CoreTypes
package import Foundation
package import HTTPClient
import PullboxAPI
import PullboxAPIClient
import Receipts

/// How the interface is asked: in which environment, how often, and what its refusals mean.
extension StoreInterfaceClient {
  /// How often a question is asked, at most.
  private static let attempts = 3
  /// The pause after the first attempt; the second one is twice as long.
  private static let pause: Duration = .milliseconds(500)
  /// A longer wait is left to those who ask.
  private static let longestWait: Duration = .seconds(2)
  private static let timeout: Duration = .seconds(10)
  /// 4040002, 4040004, 4040006 and 5000001 say themselves that trying again may help.
  private static let retriable: Set<Int> = [4_040_002, 4_040_004, 4_040_006, 5_000_001]
  private static let unknownTransaction = 4_040_010
  private static let rateLimited = 4_290_000

  private struct Refusal: Decodable {
    var errorCode: Int
    var errorMessage: String?
  }

  /// Asks in one environment after the other. Throws the failure that says most.
  package func get<Answer: Decodable>(
    _ path: String, query: [(String, String)] = [], as type: Answer.Type
  ) async throws(Failure) -> Answer {
    try await inEitherEnvironment { environment throws(Failure) in
      try await self.call("GET", path, in: environment, query: query, as: type)
    }
  }

  /// The first environment's answer; the other's where the first one does not know the transaction, or does not know the
  /// application yet.
  private func inEitherEnvironment<Answer>(
    _ body: (StoreEnvironment) async throws(Failure) -> Answer
  ) async throws(Failure) -> Answer {
    var last = Failure(kind: .unavailable(retryAfter: nil), detail: "there is no address")
    for environment in environments {
      do {
        return try await body(environment)
      } catch {
        guard error.kind == .refused(Self.unknownTransaction) || error.kind == .refused(401) else {
          throw error
        }
        // A transaction that is unknown here says more than a token that is refused there.
        if last.kind != .refused(Self.unknownTransaction) { last = error }
      }
    }
    throw last
  }

  /// Asks in one environment and reads the answer. One that is not understood counts as unavailable.
  package func call<Answer: Decodable>(
    _ method: String, _ path: String, in environment: StoreEnvironment, query: [(String, String)] = [],
    body: Data? = nil, as type: Answer.Type
  ) async throws(Failure) -> Answer {
    let response = try await send(method, path, in: environment, query: query, body: body)
    do {
      return try JSONDecoder().decode(type, from: Data(response.body))
    } catch {
      throw Failure(kind: .unavailable(retryAfter: nil), detail: "the store's answer is not understood")
    }
  }

  /// The first answer of success. What may be otherwise in a moment is tried three times.
  package func send(
    _ method: String, _ path: String, in environment: StoreEnvironment, query: [(String, String)] = [],
    body: Data? = nil
  ) async throws(Failure) -> ClientResponse {
    var attempt = 1
    while true {
      do throws(Failure) {
        return try await sendOnce(method, path, in: environment, query: query, body: body)
      } catch {
        guard attempt < Self.attempts, let wait = wait(after: error, attempt: attempt) else { throw error }
        do {
          try await timer.sleep(for: wait)
        } catch {
          throw Failure(kind: .abandoned, detail: "the question was given up")
        }
        attempt += 1
      }
    }
  }

  /// Nil when the failure is final, or the wait too long for one who asks.
  private func wait(after failure: Failure, attempt: Int) -> Duration? {
    switch failure.kind {
    case .refused(let code) where Self.retriable.contains(code): return Self.pause * attempt
    case .unavailable(let retryAfter):
      let wait = max(retryAfter ?? .zero, Self.pause * attempt)
      return wait <= Self.longestWait ? wait : nil
    case .refused, .abandoned, .untrusted: return nil
    }
  }

  /// Sends one request with a token made for it.
  private func sendOnce(
    _ method: String, _ path: String, in environment: StoreEnvironment, query: [(String, String)],
    body: Data?
  ) async throws(Failure) -> ClientResponse {
    guard let address = access.addresses[environment] else {
      throw Failure(kind: .abandoned, detail: "there is no address for \(environment.rawValue)")
    }
    let token: String
    do {
      token = try access.key.token(at: clock.now())
    } catch {
      throw Failure(kind: .abandoned, detail: "\(error)")
    }
    let url = APIClient(baseURL: address, client: client).url(path, query: query)
    var request = ClientRequest(
      method: method, url: url,
      headers: [("Authorization", "Bearer \(token)"), ("Accept", "application/json")])
    if let body {
      request.headers.append(("Content-Type", "application/json"))
      request.body = .bytes(Array(body))
    }
    request.totalTimeout = Self.timeout
    request.maximumResponseLength = .mebibytes(8)
    let response: ClientResponse
    do {
      response = try await client.send(request)
    } catch {
      let isOwn = error.code == .cancelled || error.code == .shutDown
      throw Failure(kind: isOwn ? .abandoned : .unavailable(retryAfter: nil), detail: error.message)
    }
    guard !(200..<300).contains(response.status) else { return response }
    throw failure(response)
  }

  /// A body that is not the store's JSON, as that of 401 is, says nothing.
  private func failure(_ response: ClientResponse) -> Failure {
    let refusal = try? JSONDecoder().decode(Refusal.self, from: Data(response.body))
    let detail = "the store refused with \(refusal?.errorCode ?? response.status)"
    if response.status == 429 || refusal?.errorCode == Self.rateLimited {
      return Failure(
        kind: .unavailable(
          retryAfter: StoreWait.duration(response.headers["Retry-After"], at: clock.now())), detail: detail)
    }
    if let refusal { return Failure(kind: kind(of: refusal), detail: detail) }
    guard response.status >= 500 || response.status == 408 else {
      return Failure(kind: .refused(response.status), detail: detail)
    }
    return Failure(kind: .unavailable(retryAfter: nil), detail: detail)
  }

  /// A number from 5000000 on says that the store fails, but for those that are tried again here; every other
  /// number refuses.
  private func kind(of refusal: Refusal) -> Failure.Kind {
    refusal.errorCode >= 5_000_000 && !Self.retriable.contains(refusal.errorCode)
      ? .unavailable(retryAfter: nil) : .refused(refusal.errorCode)
  }
}

/// A store's `Retry-After`: milliseconds since 1970, or seconds from now.
enum StoreWait {
  /// Numbers from here on are moments: as seconds they would be three thousand years.
  private static let firstMoment: Int64 = 100_000_000_000

  /// Nil for what is no number; never negative, at most a day.
  package static func duration(_ text: String?, at now: Timestamp) -> Duration? {
    guard let number = text.flatMap({ Int64($0) }) else { return nil }
    let wait: Duration =
      number >= firstMoment ? Timestamp(millisecondsSinceEpoch: number) - now : .seconds(max(number, 0))
    return min(max(wait, .zero), .seconds(86_400))
  }
}

extension StoreInterfaceClient.Failure {
  /// The refusal of the proof that this failure kept from being verified.
  package var refusal: StoreRefusal {
    switch kind {
    case .untrusted(let refusal):
      // The store's own answer: the customer's proof is not at fault.
      .undetermined(
        retryAfter: .seconds(30), cause: refusal.problem.detail ?? detail, outcome: .answered)
    case .refused(4_040_010), .refused(4_000_006):
      .final(.receiptNotAuthentic, "the store does not know the transaction", onStoresWord: true)
    case .refused: .undetermined(retryAfter: .seconds(30), cause: detail, outcome: .answered)
    case .unavailable(let retryAfter):
      .undetermined(
        retryAfter: retryAfter ?? .seconds(30), cause: detail, outcome: .failed(retryAfter: retryAfter))
    case .abandoned: .abandoned
    }
  }

  /// The answer that this failure is to a call of the outbox.
  package var answer: OutboxMachine.Answer {
    switch kind {
    case .refused: .refused
    case .unavailable(let retryAfter): .unavailable(retryAfter: retryAfter)
    case .untrusted: .unavailable(retryAfter: nil)
    case .abandoned: .abandoned
    }
  }
}
