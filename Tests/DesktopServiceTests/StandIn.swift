import MessageBus
import PullboxTesting

/// A service of a test on the bus: its calls are read one after another.
final class StandIn: Sendable {
  let bus: BusConnection
  private let answers: @Sendable (BusRequest) -> [BusValue]?
  let calls: AsyncStream<BusRequest>
  private let continuation: AsyncStream<BusRequest>.Continuation
  private let held: Set<String>
  /// The errors that calls to these objects get in place of an answer. A test changes them.
  let refusals = Locked<[BusPath: BusInterface]>([:])

  /// - Parameter held: the methods that the test answers.
  init(
    _ name: BusName, on daemon: PrivateBus, holding held: Set<String> = [],
    answering answers: @escaping @Sendable (BusRequest) -> [BusValue]?
  ) throws {
    bus = try BusConnection.open(
      .address(daemon.address), configuration: BusConfiguration(service: name))
    self.answers = answers
    self.held = held
    (calls, continuation) = AsyncStream.makeStream()
  }

  func run() async {
    while let request = await bus.nextRequest() {
      if held.contains(request.member) {
        // The test has it.
      } else if let name = refusals.current[request.path] {
        request.answer.refuse(name, "no")
      } else if let answer = answers(request) {
        request.answer.reply(answer)
      } else {
        request.answer.refuse("org.freedesktop.DBus.Error.UnknownMethod", "no")
      }
      continuation.yield(request)
    }
    continuation.finish()
  }

  func ready() async { for await state in bus.states() where state.ownsService { return } }
}
