import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxTesting
import Testing

/// The server is killed before its first durable step of an operation, before its second, and so on, until the operation
/// needs fewer. Each next server shows the state truly, and doing the same again finishes it.
///
/// With PULLBOX_CRASH_SWEEP=all in the environment every single write counts as a step, and no step of any operation is left
/// out, in parts if it says so (`FaultSweep`).
@Suite("SIGKILL at every durable step of publishing", .serialized, .timeLimit(.minutes(30)))
struct CrashTests {
  private static let plan = FaultSweep.environment
  private static let kinds: KillPoint.Kinds = plan.triesAll ? .all : .order

  @Test(
    "whatever step it dies before, nothing is half there, and it can be finished",
    arguments: CrashOperation.allCases)
  func sweep(operation: CrashOperation) async throws {
    let directory = try TemporaryDirectory()
    let killPoint = try await KillPoint(in: directory)
    let client = try HTTPClient()
    defer { client.shutDown() }
    var step = Self.plan.first + 1
    var unfinished: CrashOperation.Subject?
    while true {
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
        }
        unfinished = try await dies(daemon, in: operation, step: step, desk, killPoint)
      } catch {
        await daemon.process.killAndWait()
        Issue.record("\(operation), step \(step): \(error)\n\(try Executables.text(daemon.log).suffix(2000))")
        return
      }
      if unfinished == nil {
        await daemon.process.killAndWait()
        break
      }
      step += Self.plan.triesAll ? Self.plan.stride : operation.stride
    }
    #expect(step > 1, "the operation has no durable step")
  }

  /// Prepares the operation and lets the server die in the middle; nil when it came to its end before that step.
  private func dies(
    _ daemon: Daemon, in operation: CrashOperation, step: Int, _ desk: PublishingDesk, _ killPoint: KillPoint
  ) async throws -> CrashOperation.Subject? {
    var subject = try await operation.prepare(step, desk)
    try killPoint.arm()
    do {
      try await operation.perform(&subject, desk)
    } catch is HTTPClientError {
      #expect(await daemon.process.ending() == .killed(signal: 9))
      _ = try killPoint.disarm()
      return subject
    }
    _ = try killPoint.disarm()
    try await operation.checkFinished(subject, desk)
    return nil
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
