import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import SandboxStore

/// docs/sandbox-store.md: as many accounts redeem a code as it has uses, each once; a repetition with the key of the request that
/// redeemed it is answered as that request, and a code that cannot be used is as good as before.
@Suite("Codes that are redeemed at the same moment", .timeLimit(.minutes(1)))
struct SimultaneousRedemptionTests {
  private struct Request: Sendable {
    var code: String
    var token: String
    var key: String?
  }

  private struct Answer: Hashable, Sendable {
    var status: Int
    var body: [UInt8]

    func transaction() throws -> StoreTransaction {
      try APIJSON.decode(TransactionResponse.self, from: body).transaction
    }

    func problem() throws -> Problem { try APIJSON.decode(Problem.self, from: body) }
  }

  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private func makeCode(
    of product: ProductIdentifier = StoreHarness.issue, offer: StoreOffer? = nil, uses: Int
  ) async throws -> String {
    let made: StoreCode = try await store.call(
      .post, "/sandbox/v1/codes", body: CodeRequest(product: product, offer: offer, uses: uses), status: 201)
    return made.code
  }

  /// The answers to requests of which none is decided before the store has begun with all of them.
  private func send(_ requests: [Request]) async throws -> [Answer] {
    try await store.catalog.holding(requests.count) { [store] in
      try await withThrowingTaskGroup(of: (place: Int, answer: Answer).self) { group in
        for (place, request) in requests.enumerated() {
          group.addTask {
            let answer = try await store.send(
              .post, "/store/v1/codes/\(request.code)", token: request.token, key: request.key)
            return (place, Answer(status: answer.status, body: answer.body))
          }
        }
        var answers: [Int: Answer] = [:]
        for try await (place, answer) in group { answers[place] = answer }
        return requests.indices.compactMap { answers[$0] }
      }
    }
  }

  private func redeems(_ code: String, _ token: String) async throws -> Bool {
    try await store.send(.post, "/store/v1/codes/\(code)", token: token).status == 201
  }

  @Test(
    "a code is sold as often as it has uses, and who comes too late has bought nothing", arguments: [1, 3])
  func accounts(uses: Int) async throws {
    let code = try await makeCode(uses: uses)
    var tokens: [String] = []
    for _ in 0..<uses + 3 { tokens.append(try await store.openAccount()) }
    // A key is its account's own.
    let answers = try await send(tokens.map { Request(code: code, token: $0, key: "k1") })
    #expect(answers.count { $0.status == 201 } == uses)
    for (token, answer) in zip(tokens, answers) {
      let bought = try await store.all(token)
      if answer.status == 201 {
        let sold = try answer.transaction().id
        #expect(bought.map(\.id) == [sold])
      } else {
        #expect(try answer.problem().detail == "the code is used up")
        #expect(bought.isEmpty)
      }
    }
    let ids = try answers.filter { $0.status == 201 }.map { try $0.transaction().id }
    #expect(Set(ids).count == uses)
  }

  @Test(
    "two devices of one account with keys of their own get one sale, and the second is refused",
    arguments: [["k1", "k2"], ["k1", nil], [nil, nil]] as [[String?]])
  func keys(keys: [String?]) async throws {
    let code = try await makeCode(uses: 2)
    let token = try await store.openAccount()
    let answers = try await send(keys.map { Request(code: code, token: token, key: $0) })
    let sold = try #require(answers.first { $0.status == 201 })
    let refused = try #require(answers.first { $0.status == 409 })
    #expect(try refused.problem().detail == "this account has redeemed the code already")
    #expect(try await store.all(token).map(\.id) == [sold.transaction().id])
    // The refused request has taken none of the uses.
    #expect(try await redeems(code, store.openAccount()))
    #expect(try await !redeems(code, store.openAccount()))
  }

  @Test("requests with one key are one sale, and have one answer")
  func oneKey() async throws {
    let code = try await makeCode(uses: 2)
    let token = try await store.openAccount()
    let answers = try await send(Array(repeating: Request(code: code, token: token, key: "k1"), count: 4))
    #expect(answers.map(\.status) == [201, 201, 201, 201])
    #expect(Set(answers.map(\.body)).count == 1)
    #expect(try await store.all(token).map(\.id) == [answers[0].transaction().id])
    #expect(try await redeems(code, store.openAccount()))
    #expect(try await !redeems(code, store.openAccount()))
  }

  @Test("requests with one key for a subscription that runs put one renewal under the offer")
  func oneKeyOfSubscription() async throws {
    try await store.setTime("5m", renewals: 3)
    let trial = StoreOffer(payment: .freeTrial, period: .month)
    let code = try await makeCode(of: StoreHarness.magazine, offer: trial, uses: 9)
    let token = try await store.openAccount()
    let running = try await store.buy(StoreHarness.magazine, token: token)
    let answers = try await send(Array(repeating: Request(code: code, token: token, key: "k1"), count: 2))
    for answer in answers { #expect(try answer.transaction().id == running.id) }
    store.clock.advance(by: .seconds(601))
    #expect(try await store.all(token).map(\.price) == ["2.99", nil, "2.99"])
  }

  @Test("of two codes for one renewal one is redeemed, and the other is good for the renewal after it")
  func twoCodes() async throws {
    try await store.setTime("5m", renewals: 3)
    let trial = StoreOffer(payment: .freeTrial, period: .month)
    let codes = [
      try await makeCode(of: StoreHarness.magazine, offer: trial, uses: 1),
      try await makeCode(of: StoreHarness.magazine, offer: trial, uses: 1),
    ]
    let token = try await store.openAccount()
    try await store.buy(StoreHarness.magazine, token: token)
    let answers = try await send(codes.map { Request(code: $0, token: token, key: nil) })
    #expect(answers.map(\.status).sorted() == [201, 409])
    store.clock.advance(by: .seconds(301))
    #expect(try await store.all(token).map(\.price) == ["2.99", nil])
    let other = try #require(zip(codes, answers).first { $0.1.status == 409 }?.0)
    #expect(try await redeems(other, token))
  }

  @Test("of two gifts of one product the account gets one, and the other code is good for another account")
  func twoGifts() async throws {
    let codes = [try await makeCode(uses: 1), try await makeCode(uses: 1)]
    let token = try await store.openAccount()
    let answers = try await send(codes.map { Request(code: $0, token: token, key: nil) })
    #expect(answers.map(\.status).sorted() == [201, 409])
    #expect(try await store.all(token).count == 1)
    let other = try #require(zip(codes, answers).first { $0.1.status == 409 }?.0)
    #expect(try await redeems(other, store.openAccount()))
  }
}
