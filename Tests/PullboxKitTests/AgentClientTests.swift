import Commerce
import CoreTypes
import Files
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import Synchronization
import SystemCalls
import Testing

@testable import PullboxKit

@Suite("The agent over its Unix socket")
struct AgentClientTests {
  private let double = AgentDouble()

  private func withAgent<Value>(_ body: (AgentClient) async throws -> Value) async throws -> Value {
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    return try await withServer(double, at: .unix(path: path)) { _ in
      try await body(try AgentClient(socketPath: path))
    }
  }

  @Test("a socket that an agent left behind is passed over for one that lives, and named where none does")
  func leftBehind() throws {
    let directory = try TemporaryDirectory()
    let (own, device) = (directory.path("own.sock"), directory.path("device.sock"))
    func chosen() -> String? { AgentClient.socketPath(among: [own, device]) }
    #expect(chosen() == own, "none is there")
    do { _ = try BoundSocket(unixPath: own) }
    #expect(chosen() == own, "there is no other")
    do {
      let living = try BoundSocket(unixPath: device)
      withExtendedLifetime(living) { #expect(chosen() == device) }
    }
    #expect(chosen() == own, "neither lives")
    try FileSystem.removeFile(own)
    let living = try BoundSocket(unixPath: own)
    withExtendedLifetime(living) { #expect(chosen() == own) }
  }

  private func code(_ error: (any Error)?) -> ProblemCode? {
    guard case .problem(let problem) = error as? APICallError else { return nil }
    return problem.code
  }

  @Test(
    "events come in order, comments and names of newer agents are passed over, and the stream's end is the end"
  )
  func events() async throws {
    let download = try Sample.download(verified: 1 << 20)
    double.script([
      [
        ": pullbox agent\n\n", try AgentDouble.text(.transaction(try Sample.transaction())),
        "event: weather\nda",
        "ta: {}\n\n:\n\n", try AgentDouble.text(.download(download)),
      ]
    ])
    try await withAgent { agent in
      var names: [String] = []
      var last: AgentEvent?
      for try await event in try await agent.events() {
        names.append(event.name)
        last = event
      }
      #expect(names == ["transaction", "download"])
      guard case .download(let found) = last else {
        throw APICallError.unexpectedResponse(status: 0, detail: "")
      }
      #expect(found == download)
    }
  }

  @Test(
    "a purchase whose answer is lost is asked for again with the same key; another purchase has another (R22)"
  )
  func lostAnswer() async throws {
    double.list(transactions: [try Sample.transaction()])
    double.loseAnswers(1)
    let product = try #require(ProductIdentifier("com.example.heroes.issue42"))
    try await withAgent { agent in
      let bought = try await agent.buy(product)
      #expect(bought.id.description == "20")
      _ = try await agent.buy(product)
      _ = try await agent.buy(product, key: "of-the-app")
    }
    let keys = double.purchaseKeys
    #expect(keys.count == 4)
    #expect(keys[0] == keys[1] && keys[0].count >= 20)
    #expect(keys[2] != keys[0])
    #expect(keys[3] == "of-the-app")
  }

  @Test("many more events than are held at once arrive all")
  func backPressure() async throws {
    let texts = try (0..<2000).map { try AgentDouble.text(.download(try Sample.download(id: "d\($0)"))) }
    double.script([texts])
    try await withAgent { agent in
      var count = 0
      for try await event in try await agent.events() {
        guard case .download(let download) = event, download.id.description == "d\(count)" else { break }
        count += 1
      }
      #expect(count == 2000)
    }
  }

  @Test("a refused stream says why when it is opened")
  func refusedEvents() async throws {
    double.refuseEvents(with: Problem(.tooManyRequests, retryAfterSeconds: 5))
    try await withAgent { agent in
      let error = await #expect(throws: APICallError.self) { try await agent.events() }
      #expect(code(error) == .tooManyRequests)
    }
  }

  @Test("an event that is no event ends the stream with an error, not with silence")
  func malformedEvent() async throws {
    double.script([["event: download\ndata: {\"id\":7}\n\n"]])
    try await withAgent { agent in
      let events = try await agent.events()
      await #expect(throws: APICallError.self) { for try await _ in events {} }
    }
  }

  @Test("an agent that is not there is unreachable")
  func noAgent() async throws {
    let directory = try TemporaryDirectory()
    let agent = try AgentClient(socketPath: directory.path("none.sock"))
    for call in [{ _ = try await agent.status() }, { _ = try await agent.events() }] {
      await #expect {
        try await call()
      } throws: { error in
        guard case .unreachable = error as? APICallError else { return false }
        return true
      }
    }
  }

  @Test("a download is paused at its own address")
  func pausing() async throws {
    try await withAgent { agent in
      let download = try Sample.download(.paused, "user")
      double.list(downloads: [download])
      #expect(try await agent.pause(download.id).state == .paused)
    }
    #expect(double.requests == ["POST /v1/downloads/d1/pause"])
  }

  @Test("progress from before the list takes no download back")
  func olderProgress() async throws {
    double.list(downloads: [try Sample.download(verified: 96 << 20, total: 200 << 20)])
    double.script([
      try [60, 80, 102, 101].map {
        try AgentDouble.text(.download(try Sample.download(verified: $0 << 20, total: 200 << 20)))
      } + [try AgentDouble.text(.download(try Sample.download(.finished, "placed", verified: 200 << 20)))]
    ])
    try await withAgent { agent in
      var seen: [Int64] = []
      try await agent.follow(clock: ImmediateClock()) { update in
        switch update {
        case .snapshot(_, let downloads): seen += downloads.map { $0.bytesReceived.rawValue >> 20 }
        case .event(.download(let download)):
          seen.append(download.bytesReceived.rawValue >> 20)
          if download.state.isFinal { return .stop }
        case .event, .lost: break
        }
        return .continue
      }
      // The answer that comes after the stream has caught up is the agent's own word, whatever it is.
      #expect(seen == [96, 102, 101, 200])
    }
  }

  @Test("a follower gets the whole state again after every reconnection, until it stops")
  func following() async throws {
    double.list(transactions: [try Sample.transaction()], downloads: [try Sample.download()])
    double.script([
      [try AgentDouble.text(.download(try Sample.download(verified: 1 << 20)))], [],
      [try AgentDouble.text(.transaction(try Sample.transaction(step: "finished")))],
    ])
    let clock = ImmediateClock()
    try await withAgent { agent in
      var story: [String] = []
      try await agent.follow(clock: clock) { update in
        switch update {
        case .snapshot(let transactions, let downloads):
          story.append("snapshot \(transactions.count) \(downloads.count)")
        case .event(let event): story.append(event.name)
        case .lost: story.append("lost")
        }
        return story.last == "transaction" ? .stop : .continue
      }
      #expect(
        story == ["snapshot 1 1", "download", "lost", "snapshot 1 1", "lost", "snapshot 1 1", "transaction"])
    }
    #expect(clock.delays.count == 2)
  }

  @Test("an agent that does not come back is given up, after as many tries as were asked for")
  func gone() async throws {
    double.script([[]])
    double.refuseEvents(with: Problem(.unavailable))
    let clock = ImmediateClock()
    try await withAgent { agent in
      var story: [String] = []
      let error = await #expect(throws: APICallError.self) {
        try await agent.follow(maximumFailures: 3, clock: clock) { update in
          if case .lost = update { story.append("lost") }
          return .continue
        }
      }
      #expect(code(error) == .unavailable)
      #expect(story == ["lost", "lost", "lost"])
    }
    #expect(clock.delays.count == 3)
  }
}
