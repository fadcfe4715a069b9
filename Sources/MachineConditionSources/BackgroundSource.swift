package import AgentRecords
package import CoreTypes
package import MessageBus
import ServiceRuntime
import SystemCalls

/// Whether an agent in a sandbox may run without its application (`org.freedesktop.portal.Background`). It tells no condition: while it
/// speaks, the agent may. A person is asked once, and the answer is kept; a refusal counts for ``refusalLasts``. From version 2 of the portal on
/// the desktop is told in a line what the agent does.
package struct BackgroundSource: ConditionSource {
  /// The agent, as far as it is needed here.
  package struct Agent: Sendable {
    /// The answer that is kept; nil for none.
    package var answer: @Sendable () async throws -> BackgroundAnswer?
    /// Keeps an answer.
    package var keep: @Sendable (BackgroundAnswer) async throws -> Void
    /// The command that begins the agent: its name in the sandbox, and its arguments.
    package var command: [String]
    /// The line that says what the agent does, whenever it changes. Read once.
    package var lines: @Sendable () -> AsyncStream<String>

    package init(
      answer: @escaping @Sendable () async throws -> BackgroundAnswer?,
      keep: @escaping @Sendable (BackgroundAnswer) async throws -> Void, command: [String],
      lines: @escaping @Sendable () -> AsyncStream<String>
    ) {
      self.answer = answer
      self.keep = keep
      self.command = command
      self.lines = lines
    }
  }

  static let service: BusName = "org.freedesktop.portal.Desktop"
  static let path: BusPath = "/org/freedesktop/portal/desktop"
  static let interface: BusInterface = "org.freedesktop.portal.Background"
  static let requestInterface: BusInterface = "org.freedesktop.portal.Request"
  private static let requests: BusPath = "/org/freedesktop/portal/desktop/request"

  /// After it the portal is asked again, which keeps its own answer.
  package static let refusalLasts: Duration = .seconds(30 * 86_400)
  /// The time that a person may take.
  package static let personsTime: Duration = .seconds(600)
  /// The longest line that the portal takes, in characters of Unicode.
  package static let longestLine = 96
  /// The least time between two lines.
  package static let rest: Duration = .seconds(5)
  private static let reason = "Pullbox fetches new issues while no window is open."

  package let name = ConditionSourceName.background
  private let bus: BusConnection
  private let agent: Agent
  private let user: UInt32
  private let clock: any MonotonicClock
  private let wallClock: any WallClock

  /// `bus` is the user's.
  package init(
    bus: BusConnection, agent: Agent, user: UInt32 = FileOwner.ofThisProcess.user,
    clock: any MonotonicClock, wallClock: any WallClock
  ) {
    self.bus = bus
    self.agent = agent
    self.user = user
    self.clock = clock
    self.wallClock = wallClock
  }

  package func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    let answer = try await answer()
    guard answer.isAllowed else {
      throw ConditionSourceError(
        .absent,
        "user \(answer.user) refused it at \(answer.at): the agent runs only while its application runs")
    }
    await report(MachineObservation())
    try await tellLines()
  }

  /// The answer that is kept, or that of a person who is asked now.
  private func answer() async throws -> BackgroundAnswer {
    if let kept = try await agent.answer() {
      let age = wallClock.now() - kept.at
      if kept.isAllowed || age < Self.refusalLasts { return kept }
    }
    let answer = try await ask()
    try await agent.keep(answer)
    return answer
  }

  // MARK: the question

  private func ask() async throws -> BackgroundAnswer {
    guard let token = try await token() else { throw ConditionSourceError(.away, "the bus has gone") }
    let (name, path) = token
    // Followed before it is asked for: the answer may come before the call's own.
    let answers = bus.subscribe(Self.match(path))
    let answer: [BusValue]
    do throws(BusError) {
      answer = try await bus.call(
        BusMethodCall(
          "RequestBackground", of: Self.interface, at: Self.path, destination: Self.service,
          arguments: [.string(""), .properties(options(token: name))]), timeout: Self.promptness)
    } catch {
      throw Self.failure(error)
    }
    guard answer.count == 1, case .path(let handle) = answer[0] else { throw Self.nonsense }
    // Portals from before 0.9 choose the path themselves.
    let followed = handle == path ? answers : bus.subscribe(Self.match(handle))
    let response = try await withThrowingTaskGroup(of: [BusValue]?.self) { group in
      group.addTask { await Self.response(followed) }
      group.addTask { [clock] in
        try await clock.sleep(for: Self.personsTime)
        return nil
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
    guard let response else {
      throw ConditionSourceError(.absent, "the question whether it may was not answered")
    }
    return try read(response)
  }

  private static let promptness: Duration = .seconds(25)

  /// A name for the request, and the path that the portal gives it by that and the connection's name. Nil when the connection is closed.
  private func token() async throws -> (name: String, path: BusPath)? {
    for await state in bus.states() {
      guard let own = state.uniqueName else { continue }
      let name = "pullbox\(UInt64.random(in: 0...UInt64.max))"
      let sender = String(own.description.dropFirst().map { $0 == "." ? "_" : $0 })
      return BusPath("\(Self.requests)/\(sender)/\(name)").map { (name, $0) }
    }
    return nil
  }

  private func options(token: String) -> [String: BusValue] {
    [
      "handle_token": .string(token), "reason": .string(Self.reason), "autostart": .boolean(true),
      "commandline": .strings(agent.command),
      // The name on the bus is the agent's, and not that of the application.
      "dbus-activatable": .boolean(false),
    ]
  }

  private static func match(_ path: BusPath) -> BusMatch {
    BusMatch(sender: service, .signals(path: path, interface: requestInterface, member: "Response"))
  }

  /// The arguments of the portal's word; nil where it has gone without one.
  private static func response(_ news: BusSubscription) async -> [BusValue]? {
    var wasThere = false
    for await one in news {
      switch one {
      case .appeared: wasThere = true
      case .signal(let signal): return signal.arguments
      case .vanished where wasThere, .refused: return nil
      case .vanished, .missed: continue
      }
    }
    return nil
  }

  /// 0 is an answer, 1 a question that the person has closed, which is no, and anything else the portal's own failure.
  private func read(_ response: [BusValue]) throws(ConditionSourceError) -> BackgroundAnswer {
    guard response.count == 2, case .uint32(let code) = response[0], let results = response[1].members else {
      throw Self.nonsense
    }
    switch code {
    case 0:
      guard let isAllowed = results["background"]?.flag else { throw Self.nonsense }
      return BackgroundAnswer(
        isAllowed: isAllowed, startsWithSession: isAllowed && results["autostart"]?.flag == true,
        user: user, at: wallClock.now())
    case 1:
      return BackgroundAnswer(isAllowed: false, startsWithSession: false, user: user, at: wallClock.now())
    default: throw ConditionSourceError(.absent, "the portal could not ask whether it may")
    }
  }

  // MARK: the line

  /// Tells the desktop each line, the latest of those that come while it rests, until the task is canceled. A portal of version 1 is told
  /// none.
  private func tellLines() async throws {
    let version: BusValue?
    do throws(BusError) {
      version = try await bus.property(
        "version", of: Self.interface, at: Self.path, destination: Self.service, timeout: Self.promptness)
    } catch {
      version = nil
    }
    let isOver = AsyncSignal()
    guard case .uint32(2...)? = version else {
      await isOver.wait(atMost: nil, clock: clock)
      return
    }
    for await line in agent.lines() {
      let message = String(line.unicodeScalars.prefix(Self.longestLine))
      let call = BusMethodCall(
        "SetStatus", of: Self.interface, at: Self.path, destination: Self.service,
        arguments: [.properties(["message": .string(message)])])
      // A line that is not shown is followed by the next.
      _ = try? await bus.call(call, timeout: Self.promptness)
      try await clock.sleep(for: Self.rest)
    }
    await isOver.wait(atMost: nil, clock: clock)
  }

  // A portal that has failed at the question is asked by no other one while this process runs: each could be one to a person.
  private static let nonsense = ConditionSourceError(.absent, "the portal's answer means nothing")

  private static func failure(_ error: BusError) -> ConditionSourceError {
    if error.isServiceMissing { return ConditionSourceError(.absent, "this session has no such portal") }
    switch error.code {
    case .refused: return ConditionSourceError(.absent, "the portal does not ask: \(error.message)")
    case .malformed, .tooLarge: return nonsense
    case .timedOut: return ConditionSourceError(.absent, "the portal does not answer")
    default: return ConditionSourceError(.away, "\(error)")
    }
  }
}
