import CoreTypes
import MessageBus
import PullboxTesting
import ServiceRuntime
import Testing

@testable import DesktopService

@Suite(
  "The agent on the bus, as the desktop follows it", .timeLimit(.minutes(5)),
  .enabled(if: PrivateBus.isAvailable, "this machine has no dbus-daemon"))
struct AgentFollowerTests {
  @Test(
    "an agent whose answer is not understood is asked five times, and the log says in the end that it tells nothing"
  )
  func misunderstood() async throws {
    let daemon = try PrivateBus()
    try daemon.start()
    let agent = try StandIn(AgentFollower.agent, on: daemon, answering: { _ in [.string("nonsense")] })
    let bus = try BusConnection.open(.address(daemon.address))
    let (clock, lines) = (ManualMonotonicClock(), LogLines())
    let follower = AgentFollower(.session, on: bus, clock: clock, log: lines.log(), now: { 0 })
    await withDiscardingTaskGroup { group in
      group.addTask { await agent.run() }
      await agent.ready()
      group.addTask { await follower.follow { _ in } }
      var calls = agent.calls.makeAsyncIterator()
      // The pauses are 1, 4, 15 and 60 seconds; beside them the question about prices sleeps.
      for pause in [1, 4, 15, 60, 0] {
        while let call = await calls.next(), call.member != "GetManagedObjects" {}
        guard pause > 0 else { break }
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(pause))
      }
      let line = await lines.first(with: "the agent on the bus tells nothing")
      #expect(line.contains("the agent's objects are none"))
      bus.close()
      agent.bus.close()
    }
    await daemon.stop()
  }
}
