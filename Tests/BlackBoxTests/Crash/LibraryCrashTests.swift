import Commerce
import CoreTypes
import Crypto
import Files
import HTTPClient
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

/// One agent after another, each a new device, in the middle of a change of what its library holds already. The agent is killed before the first
/// step that changes a file, before the second, and so on, until the change needs fewer. The next one stands by what was answered.
///
/// A thorough run (`ExhaustiveShare`) counts every call that makes, changes or removes a file.
@Suite("SIGKILL at every step of a change of the library", .serialized, .timeLimit(.minutes(60)))
struct LibraryCrashTests {
  private struct Violation: Error, CustomStringConvertible {
    var description: String
  }

  /// A change of what is at its place.
  enum Change: String, CaseIterable, Sendable {
    /// A section is fetched, dropped, and fetched again.
    case section
    /// The reader goes back to the version before, and on to the later one again.
    case rollback
    /// A purchase is taken back, and given back.
    case revocation

    /// Added to the environment of the agent.
    var environment: [String: String] {
      // The store's notifications are of the store that signs.
      self == .revocation ? ["PULLBOX_STORE_NAME": "apple"] : ["PULLBOX_KEEP_PREVIOUS": "7d"]
    }
  }

  private static let share = ExhaustiveShare.environment

  /// The content that is published for each device.
  private struct Published: Sendable {
    var first: String
    var second: String
    var folder: String

    init(in directory: TemporaryDirectory) async throws {
      first = try await Material.file("first.cbz", length: 300_000, seed: 1, in: directory)
      second = try await Material.file("second.cbz", length: 300_000, seed: 2, in: directory)
      folder = directory.path("parts")
      var generator = SplitMix(seed: 3)
      for name in ["pages/1.dat", "pages/2.dat", "hires/1.dat", "hires/2.dat"] {
        let path = "\(folder)/\(name)"
        try FileSystem.createDirectories(FileSystem.parent(of: path))
        let bytes = (0..<60_000).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        try DurableFile.write(bytes.span, to: path)
      }
    }
  }

  /// One device, with the product that it alone has.
  private struct Device: Sendable {
    var name: String
    var product: String
    var change: Change

    var path: String { "/v1/library/\(product)" }
    var section: String { "\(path)/sections/hires" }
  }

  @Test(
    "what was answered is so, every file is the published one, and none is left over, whatever step the agent dies before",
    arguments: Change.allCases)
  func sweep(change: Change) async throws {
    var options = Stack.Options(parts: [.store, .server])
    options.signsData = change == .revocation
    try await Stack.with(options) { stack in
      let material = try await Published(in: stack.directory)
      let killPoint = try await KillPoint(in: stack.directory)
      let runs = Locked(0)
      let steps = try await Self.share.sweep { index in
        let run = runs.withLock { count in
          count += 1
          return count
        }
        let device = Device(
          name: "agent-\(run)", product: "com.example.\(change.rawValue)\(run)", change: change)
        do {
          return try await Self.perform(on: device, step: index + 1, material, stack, killPoint)
        } catch {
          let log = try await stack.logged(by: .agent).suffix(3000)
          throw Violation(description: "\(change), step \(index + 1): \(error)\n\(log)")
        }
      }
      #expect(steps > 1, "\(change) needs \(steps) steps")
    }
  }

  /// The change on a new device, with the agent's death in it, and what the next agent makes of it. Answers the number of steps where the change
  /// came to its end.
  private static func perform(
    on device: Device, step: Int, _ material: Published, _ stack: Stack, _ killPoint: KillPoint
  ) async throws -> Int? {
    try await publish(to: device, material, stack)
    let deadly = killPoint.environment(step: step, share.isThorough ? .changes : .order)
    try await stack.start(
      .agent, environment: deadly.merging(device.change.environment) { $1 }, state: device.name)
    _ = try await stack.agent.buy(device.product)
    let bought = try await stack.agent.finishedTransaction(of: device.product)
    if device.change == .rollback {
      try await stack.release(material.second, as: device.product, version: "1.1")
      try await correct(device, in: stack)
    }
    if device.change == .revocation {
      try await eventually { try await items(of: device, stack).first?.owned == true }
    }
    try killPoint.arm()
    // The states of which the library may be in one, by what was answered so far.
    var possible: Set<Bool> = [false]
    var isReversed = false
    var needed: Int?
    do {
      switch device.change {
      case .section:
        for isWanted in [true, false, true] {
          possible = [false, true]
          let answer = try await stack.agent.web.send(isWanted ? "PUT" : "DELETE", device.section)
          guard answer.status == (isWanted ? 202 : 204) else { throw Violation(description: answer.text) }
          possible = [isWanted]
          guard isWanted else { continue }
          try await settle(device, in: stack)
        }
      case .rollback:
        for version in ["1.0", "1.1"] {
          possible = [false, true]
          let answer = try await stack.agent.web.post("\(device.path)/rollback", ["version": version])
          guard answer.status == 200 else { throw Violation(description: answer.text) }
          possible = [version == "1.0"]
        }
      case .revocation:
        try await stack.control("transactions/\(bought.id)/refund")
        // Of two statements that come together the later one alone counts.
        try await eventually { try await isRevoked(device, stack) }
        try await eventually { try await items(of: device, stack).first?.withdrawn == true }
        try await stack.control("transactions/\(bought.id)/reverse")
        isReversed = true
        try await eventually { try await items(of: device, stack).first?.state == .present }
      }
      let count = try killPoint.disarm().count
      if count < step { needed = count }
    } catch  where error is HTTPClientError || error is AgentClient.StreamEnded {
      guard case .killed(signal: 9) = try await stack.ending(of: .agent) else { throw error }
      _ = try killPoint.disarm()
    }
    await stack.kill(.agent)
    if device.change == .revocation {
      if !isReversed { try await stack.control("transactions/\(bought.id)/reverse") }
      // The next agent hears of what is owned in the end alone: it has nothing to take away that it would have to give back.
      try await eventually { try await !isRevoked(device, stack) }
    }
    try await stack.start(.agent, environment: device.change.environment, state: device.name)
    try await check(device, possible, material, stack)
    await stack.kill(.agent)
    try FileSystem.removeRecursively(stack.directory.path(device.name))
    return needed
  }

  private static func publish(to device: Device, _ material: Published, _ stack: Stack) async throws {
    switch device.change {
    case .section:
      try await stack.publishByCommand(
        material.folder, as: device.product,
        ["--section", "hires=hires/", "--section-policy", "hires=on-demand"])
    case .rollback: try await stack.publish(material.first, as: device.product)
    case .revocation:
      let price = try #require(Price(amount: "2.99", currency: "USD"))
      try await stack.describe(device.product, ProductDescription(prices: ["USA": price]))
      try await stack.release(material.first, as: device.product)
    }
  }

  /// Throws where the agent behind the killed one has another state than one of those, or other files.
  private static func check(
    _ device: Device, _ possible: Set<Bool>, _ material: Published, _ stack: Stack
  ) async throws {
    let digests = try Material.digests(of: material.folder)
    switch device.change {
    case .section:
      try await settle(device, in: stack)
      let isHere = try await isSectionHere(device, stack)
      guard possible.contains(isHere) else {
        throw Violation(description: "the section is here: \(isHere), which was not answered")
      }
      let item = try #require(try await items(of: device, stack).first)
      let expected = digests.filter { isHere || !$0.key.hasPrefix("hires/") }
      guard try Material.digests(of: item.path) == expected else {
        throw Violation(description: "other files than those of what is here")
      }
      // It goes on from there.
      _ = try await stack.agent.web.send("PUT", device.section)
      try await settle(device, in: stack)
      guard try Material.digests(of: item.path) == digests else {
        throw Violation(description: "the section does not come again")
      }
    case .rollback:
      let found = try await items(of: device, stack)
      guard found.count == 2, let later = found.first(where: { $0.version.description == "1.1" }) else {
        throw Violation(description: "here are \(found.map(\.version))")
      }
      guard possible.contains(later.rolledBack ?? false) else {
        throw Violation(description: "1.1 is left: \(later.rolledBack ?? false), which was not answered")
      }
      for item in found {
        let source = item.version.description == "1.0" ? material.first : material.second
        try compare(item, with: source)
      }
    case .revocation:
      try await eventually {
        let item = try await items(of: device, stack).first
        return item?.owned == true && item?.state == .present
      }
      try compare(try #require(try await items(of: device, stack).first), with: material.first)
      let withdrawn = stack.directory.path("\(device.name)/library/.withdrawn")
      // The product's folder goes behind the rename and its syncs.
      try await eventually {
        try FileSystem.status(of: withdrawn) == nil || FileSystem.list(withdrawn).isEmpty
      }
    }
    let names = try await AgentLeftovers.lasting(below: stack.directory.path(device.name))
    guard names.isEmpty else { throw Violation(description: "left: \(names)") }
  }

  private static func compare(_ item: LibraryItem, with source: String) throws {
    let (found, expected) = (
      try Material.digests(of: item.path), try Material.digests(of: source)
    )
    guard Set(found.values) == Set(expected.values) else {
      throw Violation(description: "\(item.version) has other bytes")
    }
  }

  /// Returns once no download is under way.
  private static func settle(_ device: Device, in stack: Stack) async throws {
    try await eventually {
      try await stack.agent.downloads().allSatisfy { $0.state.isFinal }
    }
  }

  private static func isSectionHere(_ device: Device, _ stack: Stack) async throws -> Bool {
    let answer = try await stack.agent.web.get("\(device.path)/sections").decoded(ContentSections.self)
    return answer.sections.contains { $0.isHere }
  }

  private static func items(of device: Device, _ stack: Stack) async throws -> [LibraryItem] {
    try await stack.agent.web.get("/v1/library").decoded(LibraryResponse.self).items
      .filter { $0.product.description == device.product }
  }

  /// Whether the server was told of the refund, and not yet of its reversal.
  private static func isRevoked(_ device: Device, _ stack: Stack) async throws -> Bool {
    let delivery = try #require(try await stack.deliveries(of: device.product).first)
    return delivery.history.last?.state == .revoked
  }

  /// Has the agent fetch the correction, and returns when both versions are at their places.
  private static func correct(_ device: Device, in stack: Stack) async throws {
    let product = try #require(ProductIdentifier(device.product))
    let answer = try await stack.agent.web.post("/v1/restore", AgentRestoreRequest(products: [product]))
    guard answer.status == 202 else { throw Violation(description: answer.text) }
    try await eventually { try await items(of: device, stack).count == 2 }
    try await settle(device, in: stack)
  }
}
