import AgentRecords
import CoreTypes
import MessageBus
import PullboxTesting
import ServiceRuntime
import Testing

@testable import MachineConditionSources

/// The question whether an agent in a sandbox may run without its application, with a portal that stands in.
@Suite(
  "Running in the background", .serialized, .timeLimit(.minutes(3)),
  .enabled(if: PrivateBus.isAvailable, "this machine has no dbus-daemon"))
struct BackgroundSourceTests {
  /// The portal's way with the question.
  private enum Course: Sendable {
    /// It answers so.
    case responds([BusValue])
    /// It refuses the call.
    case refuses
    /// It answers the call with something else.
    case answers(BusValue)
    /// It asks, and the person never answers.
    case waits
    /// Another connection answers in its place, and then it does.
    case forged([BusValue], before: [BusValue])
  }

  private static func response(_ code: UInt32, _ results: [String: BusValue] = [:]) -> [BusValue] {
    [.uint32(code), .properties(results)]
  }
  private static let yes = response(0, ["background": .boolean(true), "autostart": .boolean(true)])
  private static let no = response(0, ["background": .boolean(false), "autostart": .boolean(false)])

  /// Everything that a test has at hand.
  private struct House: Sendable {
    let calls: AsyncStream<BusRequest>
    let kept: Locked<BackgroundAnswer?>
    let clock: ManualMonotonicClock
    let wallClock: ManualWallClock
    let source: BackgroundSource
    let lines: AsyncStream<String>.Continuation
    let portal: BusConnection

    /// Runs the source until it has spoken, and cancels it; or to its end, whose error is answered.
    func run() async -> ConditionSourceError? {
      let spoken = Event()
      let running = Task { try await source.run { _ in spoken.happen() } }
      let ended = Task { () -> ConditionSourceError? in
        do {
          try await running.value
        } catch let error as ConditionSourceError {
          spoken.happen()
          return error
        } catch {}
        spoken.happen()
        return nil
      }
      await spoken.wait()
      running.cancel()
      return await ended.value
    }
  }

  private func withPortal(
    _ course: Course, version: UInt32 = 2, hasPortal: Bool = true, kept: BackgroundAnswer? = nil,
    _ body: (House) async throws -> Void
  ) async throws {
    let daemon = try PrivateBus()
    try daemon.start()
    let portal = try BusConnection.open(
      .address(daemon.address),
      configuration: BusConfiguration(
        service: hasPortal ? BackgroundSource.service : "com.example.Other"))
    let other = try BusConnection.open(.address(daemon.address))
    let bus = try BusConnection.open(.address(daemon.address))
    let (calls, called) = AsyncStream<BusRequest>.makeStream()
    let answer = Locked(kept)
    let (lines, line) = AsyncStream<String>.makeStream()
    let (clock, wallClock) = (ManualMonotonicClock(), ManualWallClock())
    let source = BackgroundSource(
      bus: bus,
      agent: BackgroundSource.Agent(
        answer: { answer.current }, keep: { new in answer.withLock { $0 = new } },
        command: ["pullbox-agent", "--config", "/app/agent.json5"], lines: { lines }),
      user: 1000, clock: clock, wallClock: wallClock)
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask {
        while let request = await portal.nextRequest() {
          Self.answer(request, course, version, portal, other)
          called.yield(request)
        }
        called.finish()
      }
      for await state in portal.states() where state.ownsService { break }
      for await state in other.states() where state.isConnected { break }
      try await body(
        House(
          calls: calls, kept: answer, clock: clock, wallClock: wallClock, source: source, lines: line,
          portal: portal))
      for bus in [portal, other, bus] { bus.close() }
    }
    await daemon.stop()
  }

  private static func answer(
    _ request: BusRequest, _ course: Course, _ version: UInt32, _ portal: BusConnection,
    _ other: BusConnection
  ) {
    guard request.member == "RequestBackground" else {
      return request.answer.reply(request.member == "Get" ? [.variant(.uint32(version))] : [])
    }
    let token = request.arguments[1]["handle_token"]?.text ?? ""
    let sender = String(request.sender.description.dropFirst().map { $0 == "." ? "_" : $0 })
    guard let path = BusPath("/org/freedesktop/portal/desktop/request/\(sender)/\(token)") else { return }
    func respond(_ arguments: [BusValue], by bus: BusConnection) {
      try? bus.send(
        BusSignal("Response", of: BackgroundSource.requestInterface, at: path, arguments: arguments),
        to: request.sender)
    }
    switch course {
    case .responds(let arguments):
      // Before the call's own answer, as it may be.
      respond(arguments, by: portal)
      request.answer.reply([.path(path)])
    case .refuses: request.answer.refuse("org.freedesktop.portal.Error.NotAllowed", "not here")
    case .answers(let value): request.answer.reply([value])
    case .waits: request.answer.reply([.path(path)])
    case .forged(let arguments, let before):
      respond(before, by: other)
      request.answer.reply([.path(path)])
      respond(arguments, by: portal)
    }
  }

  private func next(_ member: String, _ house: House) async throws -> BusRequest {
    for await request in house.calls where request.member == member { return request }
    throw CancellationError()
  }

  @Test("a person is asked once, with the reason and the command, and the answer is kept with who and when")
  func allowed() async throws {
    try await withPortal(.responds(Self.yes)) { house in
      #expect(await house.run() == nil)
      let kept = BackgroundAnswer(
        isAllowed: true, startsWithSession: true, user: 1000, at: house.wallClock.now())
      #expect(house.kept.current == kept)
      let asked = try await next("RequestBackground", house)
      #expect(asked.arguments[0] == .string(""))
      let options = try #require(asked.arguments[1].members)
      #expect(options["reason"]?.text?.isEmpty == false)
      #expect(options["autostart"] == .boolean(true) && options["dbus-activatable"] == .boolean(false))
      #expect(options["commandline"] == .strings(["pullbox-agent", "--config", "/app/agent.json5"]))
      #expect(await house.run() == nil)
      house.lines.finish()
    }
    try await withPortal(
      .refuses,
      kept: BackgroundAnswer(
        isAllowed: true, startsWithSession: false, user: 1, at: Timestamp(millisecondsSinceEpoch: 0))
    ) { house in
      #expect(await house.run() == nil, "what was allowed is not asked again")
    }
  }

  @Test(
    "a refusal is told with who and when, is kept, and counts for thirty days", arguments: [true, false])
  func refused(isClosed: Bool) async throws {
    try await withPortal(.responds(isClosed ? Self.response(1) : Self.no)) { house in
      let error = try #require(await house.run())
      #expect(error.code == .absent)
      #expect(error.message.contains("user 1000") && error.message.contains("\(house.wallClock.now())"))
      #expect(error.message.contains("only while its application runs"))
      #expect(house.kept.current?.isAllowed == false)
      _ = try await next("RequestBackground", house)
      house.wallClock.advance(by: BackgroundSource.refusalLasts - .seconds(1))
      #expect(await house.run()?.message == error.message, "it is not asked again")
      house.wallClock.advance(by: .seconds(2))
      _ = await house.run()
      _ = try await next("RequestBackground", house)
      #expect(house.kept.current?.at == house.wallClock.now())
    }
  }

  @Test("an answer that another connection sends in the portal's place does not count") func forged()
    async throws
  {
    try await withPortal(.forged(Self.no, before: Self.yes)) { house in
      #expect(await house.run()?.code == .absent)
      #expect(house.kept.current?.isAllowed == false)
    }
  }

  @Test("a portal that answers something else is no answer, and is not asked again by this process")
  func lies() async throws {
    let courses: [Course] = [
      .refuses, .answers(.string("/a")), .answers(.uint32(0)), .responds([]), .responds([.uint32(0)]),
      .responds([.string("0"), .properties([:])]), .responds(Self.response(0)),
      .responds(Self.response(0, ["background": .string("yes")])), .responds(Self.response(2)),
      .responds([.int32(0), .properties(["background": .boolean(true)])]),
    ]
    for course in courses {
      try await withPortal(course) { house in
        #expect(await house.run()?.code == .absent, "\(course)")
        #expect(house.kept.current == nil)
      }
    }
  }

  @Test("without such a portal nothing is kept, and a person who does not answer is waited for ten minutes")
  func silence() async throws {
    try await withPortal(.waits, hasPortal: false) { house in
      #expect(await house.run()?.code == .absent)
      #expect(house.kept.current == nil)
    }
    try await withPortal(.waits) { house in
      async let ended = house.run()
      await house.clock.waitForSleepers()
      #expect(house.clock.timeToNextSleeper == BackgroundSource.personsTime)
      house.clock.advance(by: BackgroundSource.personsTime)
      #expect(await ended?.code == .absent)
      #expect(house.kept.current == nil)
    }
  }

  @Test(
    "a portal of version 2 is told what the agent does, in 96 characters at most and each five seconds at most, and one of version 1 is not"
  )
  func lines() async throws {
    let kept = BackgroundAnswer(
      isAllowed: true, startsWithSession: true, user: 1, at: Timestamp(millisecondsSinceEpoch: 0))
    try await withPortal(.refuses, kept: kept) { house in
      let running = Task { try await house.source.run { _ in } }
      house.lines.yield(String(repeating: "é", count: 200))
      let told = try await next("SetStatus", house)
      #expect(told.arguments[0]["message"] == .string(String(repeating: "é", count: 96)))
      await house.clock.waitForSleepers()
      #expect(house.clock.timeToNextSleeper == BackgroundSource.rest)
      house.lines.yield("Heroes: 35 %")
      house.clock.advance(by: BackgroundSource.rest)
      #expect(try await next("SetStatus", house).arguments[0]["message"] == .string("Heroes: 35 %"))
      running.cancel()
      _ = await running.result
    }
    try await withPortal(.refuses, version: 1, kept: kept) { house in
      let running = Task { try await house.source.run { _ in } }
      house.lines.yield("Heroes: 35 %")
      let asked = try await next("Get", house)
      #expect(asked.arguments[1] == .string("version"))
      running.cancel()
      _ = await running.result
      house.portal.close()
      for await call in house.calls { Issue.record("\(call.member)") }
    }
  }
}
