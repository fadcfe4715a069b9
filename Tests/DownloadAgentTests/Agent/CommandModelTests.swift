import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import DownloadAgent

/// The belief of a client about one download by its answers: every situation that it may be in. A download goes on by itself
/// meanwhile, so that there may be several; a command's answer tells some of them apart.
private struct Belief: Sendable {
  enum State: Sendable { case fetching, reporting, pausedFetching, pausedReporting, cancelled, finished }

  struct Situation: Hashable, Sendable {
    var state: State
    /// Whether the library holds the content.
    var isHeld = false
  }

  private(set) var situations: Set<Situation> = [Situation(state: .fetching)]
  var priority = 0
  var urgency = DownloadUrgency.normal
  /// Whether its content has a section that is fetched and dropped.
  let hasSection: Bool
  /// Whether that section is to be here; nil where no word of it counts.
  private(set) var isSectionWanted: Bool?
  /// How far it comes by itself.
  var canFetch: Bool
  var canReport: Bool

  init(canFetch: Bool, canReport: Bool, hasSection: Bool) {
    self.canFetch = canFetch
    self.canReport = canReport
    self.hasSection = hasSection
  }

  /// Notes the answer to a command; false where it fits no situation.
  mutating func note(_ status: Int, to command: String) -> Bool {
    advance()
    situations = Set(
      situations.flatMap { situation in
        outcomes(of: command, in: situation).filter { $0.status == status }.map(\.situation)
      })
    switch (command, status) {
    case ("fetch", 200), ("fetch", 202): isSectionWanted = true
    case ("drop", 204): isSectionWanted = false
    case ("remove", 204): isSectionWanted = nil
    default: break
    }
    return !situations.isEmpty
  }

  /// Notes a state that was shown; false where it fits no situation.
  mutating func note(_ state: DownloadStatus.State) -> Bool {
    advance()
    situations = situations.filter { situation in
      switch situation.state {
      case .fetching, .reporting: state == .waiting || state == .active
      case .pausedFetching, .pausedReporting: state == .paused
      case .cancelled: state == .cancelled
      case .finished: state == .finished
      }
    }
    return !situations.isEmpty
  }

  /// Notes whether the library shows the content; false where that fits no situation.
  mutating func note(isHeld: Bool) -> Bool {
    advance()
    situations = situations.filter { $0.isHeld == isHeld }
    return !situations.isEmpty
  }

  /// It is not stopped, and goes on to its end.
  var isUnderWay: Bool { situations.contains { $0.state == .fetching || $0.state == .reporting } }

  /// Adds what each situation may have become by itself.
  private mutating func advance() {
    var new = situations
    while !new.isEmpty {
      new = Set(new.flatMap { successors($0) }).subtracting(situations)
      situations.formUnion(new)
    }
  }

  private func successors(_ situation: Situation) -> [Situation] {
    switch (situation.state, situation.isHeld) {
    case (.fetching, false), (.pausedFetching, false):
      // A download that is being placed when it is paused is placed to the end.
      canFetch ? [Situation(state: situation.state, isHeld: true)] : []
    case (.fetching, true): [Situation(state: .reporting, isHeld: true)]
    case (.reporting, true): canReport ? [Situation(state: .finished, isHeld: true)] : []
    // It was removed under the report, which is on its way or finds that out.
    case (.reporting, false):
      [Situation(state: .fetching)] + (canReport ? [Situation(state: .finished)] : [])
    default: []
    }
  }

  /// The answers that the agent may give, and what has become of the download then.
  private func outcomes(
    of command: String, in now: Situation
  ) -> [(status: Int, situation: Situation)] {
    func becoming(_ state: State, isHeld: Bool? = nil) -> Situation {
      Situation(state: state, isHeld: isHeld ?? now.isHeld)
    }
    switch (command, now.state) {
    case ("priority", _), ("urgency", _): return [(200, now)]
    case ("fetch", _): return now.isHeld ? [(200, now), (202, now)] : [(404, now)]
    case ("drop", _): return [(now.isHeld ? 204 : 404, now)]
    case ("remove", _) where !now.isHeld: return [(404, now)]
    case ("remove", .fetching):
      return [(204, becoming(.fetching, isHeld: false)), (204, becoming(.reporting, isHeld: false))]
    case ("remove", .reporting):
      return [(204, becoming(.cancelled, isHeld: false)), (204, becoming(.finished, isHeld: false))]
    case ("remove", .pausedReporting): return [(204, becoming(.cancelled, isHeld: false))]
    case ("remove", _): return [(204, becoming(now.state, isHeld: false))]
    case (_, .finished): return [(409, now)]
    case ("pause", .fetching): return [(200, becoming(.pausedFetching))]
    case ("pause", .reporting): return [(200, becoming(.pausedReporting))]
    case ("pause", .cancelled): return [(409, now)]
    case ("pause", _): return [(200, now)]
    case ("resume", .pausedFetching), ("resume", .cancelled): return [(200, becoming(.fetching))]
    case ("resume", .pausedReporting): return [(200, becoming(.reporting))]
    case ("resume", _): return [(200, now)]
    // A download that is being placed is not cancelled, and one that is placed is not either.
    case ("cancel", .fetching), ("cancel", .pausedFetching):
      return [(200, becoming(.cancelled))] + (canFetch ? [(409, now)] : [])
    case ("cancel", .cancelled): return [(200, now)]
    default: return [(409, now)]
    }
  }
}

/// The whole agent under random commands and restarts.
@Suite(.serialized, .timeLimit(.minutes(10))) struct CommandModelTests {
  private static let commands = ["pause", "resume", "cancel", "priority", "urgency", "remove"]
  /// Besides, for content with a section.
  private static let sectionCommands = ["fetch", "drop"]
  private static let required = ["001.jpg", "002.jpg"]
  private static let section = ["hires/001.jpg", "hires/002.jpg"]

  /// The commands that are sent, and the beliefs about each product's download.
  private struct Course: Sendable {
    var generator = SplitMix(seed: 2026)
    var beliefs: [String: Belief]
    /// How often each command was answered by each status.
    var answers: [String: Int] = [:]

    mutating func next() -> (product: String, command: String, priority: Int, urgency: DownloadUrgency) {
      let product = beliefs.keys.sorted().randomElement(using: &generator) ?? ""
      let special = beliefs[product]?.hasSection == true ? CommandModelTests.sectionCommands : []
      return (
        product, (CommandModelTests.commands + special).randomElement(using: &generator) ?? "",
        Int.random(in: -1000...1000, using: &generator),
        [.now, .normal, .background].randomElement(using: &generator) ?? .normal
      )
    }
  }

  @Test(
    "500 random commands against 20 downloads, half of which finish, and some sections, through three ends of the agent, leave what the model says",
    arguments: [AgentHarness.End.terminated, .killed])
  func commands(end: AgentHarness.End) async throws {
    let packages = try (0..<20).map {
      // Of those that come to their end by themselves every other one.
      if $0 % 8 == 0 {
        // A package of its own: others would come in the same job.
        return try FixturePackage.inSections(
          product: "issue\($0).x", firstPage: FixturePackage.noise(1500, seed: UInt64($0) + 1),
          pageLength: 1500)
      }
      return try FixturePackage.file(length: 1500, product: "issue\($0).x", seed: UInt64($0) + 1)
    }
    let products = packages.map(\.manifest.product)
    func every(_ rest: Int) -> Set<ProductIdentifier> {
      Set(products.indices.filter { $0 % 4 == rest }.map { products[$0] })
    }
    let server = FakeServer(packages)
    // One of four waits for its manifest, one for its report, and one comes in a while.
    server.change { [unreadyManifests = every(1), unreadyReports = every(2), slowContent = every(3)] in
      $0.unreadyManifests = unreadyManifests
      $0.unreadyReports = unreadyReports
      $0.slowContent = slowContent
    }
    let beliefs = products.indices.map { number in
      (
        products[number].description,
        Belief(canFetch: number % 4 != 1, canReport: number % 4 != 2, hasSection: number % 8 == 0)
      )
    }
    let course = Locked(Course(beliefs: Dictionary(uniqueKeysWithValues: beliefs)))
    let harness = try AgentHarness()
    try await server.open { url in
      for (number, product) in products.enumerated() {
        try server.queuePurchase(product.description, transaction: "\(2_000_000_000_000_001 + number)")
      }
      for _ in 0..<4 {
        try await harness.run(until: end, server: url) {
          while try await Set(Self.downloads(of: harness).map(\.product)) != Set(products) {
            try await Task.sleep(for: .milliseconds(20))
          }
          try await Self.look(at: harness, course)
          let identifiers = Dictionary(
            uniqueKeysWithValues: try await Self.downloads(of: harness).map {
              ($0.product.description, $0.id)
            })
          for _ in 0..<125 { try await Self.command(harness, course, identifiers) }
          try await Self.look(at: harness, course)
        }
      }
      server.change {
        $0.unreadyManifests = []
        $0.unreadyReports = []
      }
      course.withLock { course in
        for name in course.beliefs.keys {
          course.beliefs[name]?.canFetch = true
          course.beliefs[name]?.canReport = true
        }
      }
      try await harness.run(server: url) { agent in
        for (name, belief) in course.current.beliefs where belief.isUnderWay {
          _ = try await agent.firstDownload {
            $0.product.description == name && $0.state != .waiting && $0.state != .active
          }
        }
        let sections = try await harness.downloads().filter { $0.section != nil }
        for download in sections where !download.state.isFinal {
          _ = try await agent.firstDownload { $0.id == download.id && $0.state.isFinal }
        }
        try await Self.look(at: harness, course)
      }
    }
    #expect(!course.current.beliefs.values.contains { $0.isUnderWay })
    for package in packages {
      let name = package.manifest.product.description
      let belief = try #require(course.current.beliefs[name])
      let files = belief.hasSection ? Self.required : Array(package.files.keys)
      #expect(try Set(belief.situations.map(\.isHeld)) == [harness.placed(package, files)], "\(name)")
      guard let isWanted = belief.isSectionWanted, try harness.placed(package, files) else { continue }
      #expect(try harness.placed(package, Self.section) == isWanted, "\(name)")
    }
    // Commands met downloads at each of their steps.
    for answer in ["pause 200", "pause 409", "cancel 200", "cancel 409", "remove 204", "remove 404"] {
      #expect(course.current.answers[answer, default: 0] >= 5, "\(answer): \(course.current.answers)")
    }
    for answer in ["fetch 202", "drop 204", "urgency 200"] {
      #expect(course.current.answers[answer, default: 0] >= 1, "\(answer): \(course.current.answers)")
    }
  }

  /// The downloads of content, without those of sections.
  private static func downloads(of harness: AgentHarness) async throws -> [DownloadStatus] {
    try await harness.downloads().filter { $0.section == nil }
  }

  private static func command(
    _ harness: AgentHarness, _ course: Locked<Course>, _ identifiers: [String: DownloadIdentifier]
  ) async throws {
    let (product, command, priority, urgency) = course.withLock { $0.next() }
    let path = "/v1/downloads/\(try #require(identifiers[product]))"
    let answer =
      switch command {
      case "priority": try await harness.ask("PATCH", path, "{\"priority\":\(priority)}")
      case "urgency": try await harness.ask("PATCH", path, "{\"urgency\":\"\(urgency.rawValue)\"}")
      case "remove": try await harness.ask("DELETE", "/v1/library/\(product)")
      case "fetch": try await harness.ask("PUT", "/v1/library/\(product)/sections/hires", "{}")
      case "drop": try await harness.ask("DELETE", "/v1/library/\(product)/sections/hires")
      default: try await harness.ask("POST", "\(path)/\(command)")
      }
    let before = course.current.beliefs[product]
    let fits = course.withLock { course in
      course.answers["\(command) \(answer.status)", default: 0] += 1
      if command == "priority" { course.beliefs[product]?.priority = priority }
      if command == "urgency" { course.beliefs[product]?.urgency = urgency }
      return course.beliefs[product]?.note(answer.status, to: command)
    }
    guard fits == true else {
      throw Contradiction(
        description: "\(command) \(product): \(answer.status), believed \(String(describing: before))")
    }
  }

  /// Compares what the agent shows with what is believed.
  private static func look(at harness: AgentHarness, _ course: Locked<Course>) async throws {
    for status in try await downloads(of: harness) {
      let name = status.product.description
      let before = course.current.beliefs[name]
      let fits = course.withLock { $0.beliefs[name]?.note(status.state) }
      guard fits == true, status.priority == before?.priority, status.urgency == before?.urgency else {
        throw Contradiction(description: "\(status), believed \(String(describing: before))")
      }
      #expect(status.state != .cancelled || status.bytesVerified == .zero)
    }
    let held = try await harness.get("/v1/library", as: LibraryResponse.self).items.map(\.product.description)
    for name in course.current.beliefs.keys {
      let before = course.current.beliefs[name]
      let fits = course.withLock { $0.beliefs[name]?.note(isHeld: held.contains(name)) }
      guard fits == true else {
        throw Contradiction(
          description: "\(name) is held: \(held.contains(name)), believed \(String(describing: before))")
      }
    }
  }

  private struct Contradiction: Error, CustomStringConvertible {
    var description: String
  }
}
