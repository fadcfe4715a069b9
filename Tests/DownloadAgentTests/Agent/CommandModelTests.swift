import Commerce
import ContentPackage
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import DownloadAgent

/// What commands make of downloads that cannot end yet: the model that the agent is compared with.
private struct Model: Sendable {
  enum State: Sendable { case live, paused, cancelled }

  var states: [String: State]
  var priorities: [String: Int] = [:]

  /// Applies the command and returns the status of its answer.
  mutating func apply(_ command: String, to product: String, priority: Int) -> Int {
    switch (command, states[product]) {
    case ("pause", .cancelled): return 409
    case ("pause", _): states[product] = .paused
    case ("resume", _): states[product] = .live
    case ("cancel", _): states[product] = .cancelled
    case ("remove", _): return 404
    default: priorities[product] = priority
    }
    return 200
  }
}

/// The whole agent under random commands and restarts.
@Suite(.serialized, .timeLimit(.minutes(10))) struct CommandModelTests {
  private static let commands = ["pause", "resume", "cancel", "priority", "remove"]

  @Test(
    "500 random commands against 20 downloads, through three ends of the agent, leave what the model says",
    arguments: [AgentHarness.End.terminated, .killed])
  func commands(end: AgentHarness.End) async throws {
    let package = try (0..<20).map {
      try FixturePackage.file(length: 1500, product: "issue\($0).x", seed: UInt64($0) + 1)
    }
    let server = FakeServer(package)
    // Half of them wait for their manifest, the others for their grant, as the server lets them.
    server.change { $0.refusals["GET /v1/content/manifest"] = [Problem(.unavailable)] }
    let names = package.map { $0.manifest.product.description }
    let model = Locked(Model(states: Dictionary(uniqueKeysWithValues: names.map { ($0, .live) })))
    let generator = Locked(SplitMix(seed: 2026))
    let harness = try AgentHarness()
    try await server.open { url in
      for (number, name) in names.enumerated() {
        try server.queuePurchase(name, transaction: "\(2_000_000_000_000_001 + number)")
      }
      for round in 0..<4 {
        try await harness.run(until: end, server: url) {
          while try await Set(harness.downloads().map(\.product.description)) != Set(names) {
            try await Task.sleep(for: .milliseconds(20))
          }
          var identifiers: [String: DownloadIdentifier] = [:]
          for status in try await harness.downloads() {
            identifiers[status.product.description] = status.id
            if round > 0 { #expect(Self.fits(status, model.current.states[status.product.description])) }
          }
          for _ in 0..<125 {
            let (name, command, priority) = generator.withLock { generator in
              (
                names.randomElement(using: &generator) ?? "",
                Self.commands.randomElement(using: &generator) ?? "",
                Int.random(in: -1000...1000, using: &generator)
              )
            }
            let expected = model.withLock { $0.apply(command, to: name, priority: priority) }
            let identifier = try #require(identifiers[name])
            let answer =
              switch command {
              case "priority":
                try await harness.ask(
                  "PATCH", "/v1/downloads/\(identifier)", "{\"priority\":\(priority)}")
              case "remove": try await harness.ask("DELETE", "/v1/library/\(name)")
              default: try await harness.ask("POST", "/v1/downloads/\(identifier)/\(command)")
              }
            #expect(answer.status == expected, "\(command) \(name)")
          }
          for status in try await harness.downloads() {
            #expect(Self.fits(status, model.current.states[status.product.description]), "\(status)")
            #expect(status.priority == model.current.priorities[status.product.description] ?? 0)
          }
        }
      }
      server.change { $0.refusals = [:] }
      try await harness.run(server: url) { agent in
        for name in names where model.current.states[name] == .live {
          _ = try await agent.firstDownload { $0.product.description == name && $0.state == .finished }
        }
        for status in try await harness.downloads() {
          let expected: DownloadStatus.State =
            switch model.current.states[status.product.description] {
            case .paused: .paused
            case .cancelled: .cancelled
            default: .finished
            }
          #expect(status.state == expected, "\(status.product)")
        }
      }
    }
    for package in package where model.current.states[package.manifest.product.description] == .live {
      #expect(try harness.placed(package))
    }
  }

  private static func fits(_ status: DownloadStatus, _ expected: Model.State?) -> Bool {
    switch expected {
    case .live: status.state == .waiting || status.state == .active
    case .paused: status.state == .paused
    case .cancelled: status.state == .cancelled && status.bytesVerified == .zero
    case nil: false
    }
  }
}
