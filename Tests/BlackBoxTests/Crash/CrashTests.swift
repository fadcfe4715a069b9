import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxTesting
import Testing

/// The server is killed before its first durable step of an operation, before its second, and so on, until the operation
/// needs fewer. Each next server shows the state truly, and doing the same again finishes it.
///
/// In a thorough run (`ExhaustiveShare`) every single write counts as a step.
@Suite("SIGKILL at every durable step of publishing", .serialized, .timeLimit(.minutes(30)))
struct CrashTests {
  private struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// The ending of an attempt.
  private enum Ending {
    /// The server died before the step.
    case unfinished(CrashOperation.Subject)
    /// The operation came to its end in so many steps.
    case finished(steps: Int)
  }

  private static let share = ExhaustiveShare.environment
  private static let kinds: KillPoint.Kinds = share.isThorough ? .all : .order
  /// More than any operation has.
  private static let beyondAll = 1_000_000

  @Test(
    "whatever step it dies before, nothing is half there, and it can be finished",
    arguments: CrashOperation.allCases)
  func sweep(operation: CrashOperation) async throws {
    let directory = try TemporaryDirectory()
    let killPoint = try await KillPoint(in: directory)
    let client = try HTTPClient()
    defer { client.shutDown() }
    var unfinished: CrashOperation.Subject?
    /// The next server finishes what the one before it left, and dies before that step; answers how many there are if it does not.
    func attempt(step: Int) async throws -> Int? {
      let daemon = try await Daemon.start(
        "pullbox-server", Self.arguments(operation, directory), name: "server", in: directory,
        environment: killPoint.environment(step: step, Self.kinds))
      let desk = PublishingDesk(
        web: Web(
          base: "http://" + (daemon.addresses.first ?? ""), credential: "operator-key-of-a-crash",
          client: client),
        directory: directory)
      do {
        if var subject = unfinished {
          try await operation.checkAfterCrash(subject, desk)
          try await operation.perform(&subject, desk)
          try await operation.checkFinished(subject, desk)
          unfinished = nil
        }
        switch try await end(of: daemon, in: operation, step: step, desk, killPoint) {
        case .unfinished(let subject):
          unfinished = subject
          return nil
        case .finished(let steps):
          await daemon.process.killAndWait()
          return steps
        }
      } catch {
        await daemon.process.killAndWait()
        let log = try Executables.text(daemon.log).suffix(2000)
        throw Failure(description: "\(operation), step \(step): \(error)\n\(log)")
      }
    }
    let steps = try await Self.share.sweep { try await attempt(step: $0 + 1) }
    #expect(steps > 0, "the operation has no durable step")
    // The operation that died last is finished as well.
    _ = try await attempt(step: Self.beyondAll)
    #expect(unfinished == nil)
  }

  /// Prepares the operation and lets the server die in the middle, unless it comes to its end before that step.
  private func end(
    of daemon: Daemon, in operation: CrashOperation, step: Int, _ desk: PublishingDesk, _ killPoint: KillPoint
  ) async throws -> Ending {
    var subject = try await operation.prepare(step, desk)
    try killPoint.arm()
    do {
      try await operation.perform(&subject, desk)
    } catch is HTTPClientError {
      #expect(await daemon.process.ending() == .killed(signal: 9))
      _ = try killPoint.disarm()
      return .unfinished(subject)
    }
    let steps = try killPoint.disarm().count
    try await operation.checkFinished(subject, desk)
    return .finished(steps: steps)
  }

  private static func arguments(_ operation: CrashOperation, _ directory: TemporaryDirectory) -> [String] {
    [
      "--listen", "127.0.0.1:0", "--state", PublishingDesk.state(in: directory), "--operator-key",
      "operator-key-of-a-crash",
      "--store-credential", "credential",
      "--loops", "1", "--log-level", "warning",
    ] + operation.serverOptions
  }
}
