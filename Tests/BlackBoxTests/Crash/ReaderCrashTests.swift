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

/// One agent after another with a reader, each a new device: a version is held open while its correction comes, places of reading are noted, and
/// something else is bought, so that the license is renewed. The agent is killed before the first step that changes a file, before the second, and
/// so on, until all of it needs fewer. The next one keeps what was promised to the reader, and nothing that was held for one who is gone.
///
/// A thorough run (`ExhaustiveShare`) counts every call that makes, changes or removes a file.
@Suite("SIGKILL at every step of an agent with a reader", .serialized, .timeLimit(.minutes(60)))
struct ReaderCrashTests {
  private struct Violation: Error, CustomStringConvertible {
    var description: String
  }

  /// For how long a version stays that a later one has replaced.
  enum Keeping: String, CaseIterable, Sendable {
    case notAtAll = "0s"
    case week = "7d"

    /// The versions that are here once nobody holds one.
    var versions: [String] { self == .week ? ["1.0", "1.1"] : ["1.1"] }
  }

  private static let share = ExhaustiveShare.environment

  /// The files of the two versions.
  private struct Files: Sendable {
    var first: String
    var second: String
  }

  /// One device, with the product that it alone reads.
  private struct Device: Sendable {
    var name: String
    var product: String
    var keeping: Keeping

    var path: String { "/v1/library/\(product)" }
    /// Another product, which it buys later.
    var extra: String { "\(product).extra" }
  }

  @Test(
    "no version stays for a reader who is gone, no place is lost, and the license says what is owned")
  func sweep() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let files = Files(
        first: try await Material.file("first.cbz", length: 300_000, seed: 1, in: stack.directory),
        second: try await Material.file("second.cbz", length: 300_000, seed: 2, in: stack.directory)
      )
      let killPoint = try await KillPoint(in: stack.directory)
      let (places, runs) = (Locked<[String: Double]>([:]), Locked(0))
      let steps = try await Self.share.sweep { index in
        for keeping in Self.share.variants(Keeping.allCases, at: index) {
          let run = runs.withLock { count in
            count += 1
            return count
          }
          let device = Device(name: "agent-\(run)", product: "com.example.open\(run)", keeping: keeping)
          do {
            let (needed, place) = try await Self.read(on: device, step: index + 1, files, stack, killPoint)
            places.withLock { $0[device.product] = place }
            if let needed { return needed }
          } catch {
            let log = try await stack.logged(by: .agent).suffix(3000)
            throw Violation(description: "step \(index + 1): \(error)\n\(log)")
          }
        }
        return nil
      }
      #expect(steps > 16, "a reader's day needs \(steps) steps")
      try await Self.compare(places.current, in: stack)
    }
  }

  /// The day of one reader, with the agent's death in it. Answers the number of steps where that came to its end, and the last place of reading.
  private static func read(
    on device: Device, step: Int, _ files: Files, _ stack: Stack, _ killPoint: KillPoint
  ) async throws -> (steps: Int?, place: Double?) {
    let environment = ["PULLBOX_KEEP_PREVIOUS": device.keeping.rawValue]
    for product in [device.product, device.extra] { try await stack.publish(files.first, as: product) }
    let deadly = killPoint.environment(step: step, share.isThorough ? .changes : .order)
    try await stack.start(
      .agent, environment: deadly.merging(environment) { $1 }, state: device.name)
    _ = try await stack.agent.buy(device.product)
    _ = try await stack.agent.finishedTransaction(of: device.product)
    try await awaitLicense(of: device.product, in: stack)
    let reader = try RawConnection.unix(path: stack.agentSocket)
    try await reader.send(
      "POST \(device.path)/leases HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
    guard try await reader.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200 ") else {
      throw Violation(description: "there is no lease")
    }

    try killPoint.arm()
    var (told, taken) = ([Double](), 0)
    var isReleased = false
    var needed: Int?
    do {
      for place in [0.1, 0.2, 0.3] {
        told.append(place)
        try await tell(place, on: device, stack)
        taken += 1
      }
      try await stack.release(files.second, as: device.product, version: "1.1")
      isReleased = true
      try await correct(device, in: stack)
      told.append(0.4)
      try await tell(0.4, on: device, stack)
      taken += 1
      _ = try await stack.agent.buy(device.extra)
      _ = try await stack.agent.finishedTransaction(of: device.extra)
      try await awaitLicense(of: device.extra, in: stack)
      let versions = try await versions(of: device, stack)
      guard versions == ["1.0", "1.1"] else {
        throw Violation(description: "open, and here are \(versions)")
      }
      let count = try killPoint.disarm().count
      if count < step { needed = count }
    } catch  where error is HTTPClientError || error is AgentClient.StreamEnded {
      guard case .killed(signal: 9) = try await stack.ending(of: .agent) else { throw error }
      _ = try killPoint.disarm()
    }
    await stack.kill(.agent)
    reader.reset()

    if !isReleased { try await stack.release(files.second, as: device.product, version: "1.1") }
    try await stack.start(.agent, environment: environment, state: device.name)
    try await correct(device, in: stack)
    let isBought = try await stack.agent.transactions().contains { $0.product.description == device.extra }
    let isListed = try await stack.unfinishedTransactions().contains {
      $0.product.description == device.extra
    }
    if !isBought, !isListed { _ = try await stack.agent.buy(device.extra) }
    _ = try await stack.agent.finishedTransaction(of: device.extra)
    for product in [device.product, device.extra] { try await awaitLicense(of: product, in: stack) }
    // The last that was taken counts, or one behind it, which may have been written and not answered.
    let none: [Double?] = taken == 0 ? [nil] : []
    let possible = none + told.dropFirst(max(0, taken - 1)).map { Optional($0) }
    let place = try await check(device, possible, files, stack)
    try await awaitExchange(of: device, in: stack)
    await stack.kill(.agent)
    try FileSystem.removeRecursively(stack.directory.path(device.name))
    return (needed, place)
  }

  /// Answers the place of reading that the agent behind the killed one has, once all else is as it must be.
  private static func check(
    _ device: Device, _ places: [Double?], _ files: Files, _ stack: Stack
  ) async throws -> Double? {
    // Nobody has the version open any more.
    try await eventually { try await versions(of: device, stack) == device.keeping.versions }
    let items = try await stack.agent.web.get("/v1/library").decoded(LibraryResponse.self).items
    for item in items where item.product.description == device.product {
      let source = item.version.description == "1.0" ? files.first : files.second
      guard
        try Set(Material.digests(of: item.path).values) == Set(Material.digests(of: source).values)
      else {
        throw Violation(description: "\(item.version) has other bytes")
      }
    }
    let names = try await AgentLeftovers.lasting(below: stack.directory.path(device.name))
    guard names.isEmpty else { throw Violation(description: "left: \(names)") }
    let answer = try await stack.agent.web.get("\(device.path)/progress").decoded(
      ReadingResponse.self)
    let place = answer.progress?.progression
    guard places.contains(place) else {
      throw Violation(description: "it knows \(place.map { "\($0)" } ?? "no place"), and not \(places)")
    }
    return place
  }

  /// Returns once the server was told all that the device knows of reading: its records say so.
  private static func awaitExchange(of device: Device, in stack: Stack) async throws {
    let program = """
      import sqlite3, sys, time
      while True:
          records = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
          query = "SELECT count(*) FROM reading WHERE told IS NULL OR told < modified"
          if records.execute(query).fetchone()[0] == 0:
              break
          records.close()
          time.sleep(0.1)
      """
    let path = stack.directory.path("\(device.name)/agent.sqlite")
    let outcome = try await Executables.run("/usr/bin/python3", ["-c", program, path], in: stack.directory)
    guard outcome.succeeded else { throw Violation(description: outcome.errors) }
  }

  /// Another device of the customer has each place as the last word was, from the server.
  private static func compare(_ places: [String: Double], in stack: Stack) async throws {
    try await stack.startAgent(named: "tablet")
    let tablet = stack.agent(named: "tablet")
    let products = places.keys.compactMap { ProductIdentifier($0) }
    let answer = try await tablet.web.post("/v1/restore", AgentRestoreRequest(products: products))
    guard answer.status == 202 else { throw Violation(description: answer.text) }
    for (product, place) in places {
      _ = try await tablet.finishedDownload(of: product)
      try await eventually {
        let answer = try await tablet.web.get("/v1/library/\(product)/progress")
        return try answer.decoded(ReadingResponse.self).progress?.progression == place
      }
    }
  }

  /// Throws where the agent did not take the place.
  private static func tell(_ place: Double, on device: Device, _ stack: Stack) async throws {
    let answer = try await stack.agent.web.send(
      "PUT", "\(device.path)/progress", headers: [("Content-Type", "application/json")],
      body: Array("{\"progression\":\(place)}".utf8))
    guard answer.status == 200 else { throw Violation(description: answer.text) }
  }

  /// Has the agent fetch the correction, and returns when it is at its place.
  private static func correct(_ device: Device, in stack: Stack) async throws {
    if try await !versions(of: device, stack).contains("1.1") {
      let product = try #require(ProductIdentifier(device.product))
      let answer = try await stack.agent.web.post("/v1/restore", AgentRestoreRequest(products: [product]))
      guard answer.status == 202 else { throw Violation(description: answer.text) }
      try await eventually { try await versions(of: device, stack).contains("1.1") }
    }
    _ = try await stack.agent.download(of: device.product) {
      $0.version?.description == "1.1" && $0.state == .finished
    }
  }

  private static func versions(of device: Device, _ stack: Stack) async throws -> [String] {
    try await stack.agent.web.get("/v1/library").decoded(LibraryResponse.self).items
      .filter { $0.product.description == device.product }.map(\.version.description)
  }

  /// Returns once the license says that the product is owned.
  private static func awaitLicense(of product: String, in stack: Stack) async throws {
    try await eventually {
      let answer = try await stack.agent.web.get("/v1/library/\(product)/ownership")
      let ownership = try answer.decoded(ProductOwnership.self)
      return ownership.owned && ownership.verification == .verified
    }
  }
}
