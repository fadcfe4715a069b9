import AgentRecords
import CoreTypes
import MessageBus
import ServiceRuntime
import Synchronization

/// Follows one service of a bus: reads all that it tells when it appears and after its signals, and ends when it goes. A bus that is not
/// there is waited for.
struct BusFollower: Sendable {
  /// Two looks lie so far apart: a service that tells ten changes a second is read as often as that.
  static let rest: Duration = .milliseconds(100)
  /// A service that takes longer to answer does not answer.
  static let patience: Duration = .seconds(5)

  /// The services that are followed, as far as they are known.
  private final class Presence: Sendable {
    struct State {
      var there: Set<BusName> = []
      /// The bus takes no such subscription.
      var end: BusError?
    }

    let state = Mutex(State())
  }

  let bus: BusConnection
  let clock: any MonotonicClock

  /// Returns when the task is cancelled; throws ``ConditionSourceError`` when all that had been there are gone, or one answers nonsense.
  ///
  /// - Parameters:
  ///   - matches: the signals after which it reads; of one service or of several names of it.
  ///   - interval: a service that has spoken is read again so long after it was read last, without a signal; nil for never.
  ///   - read: asks the service of that name.
  func follow(
    _ matches: [BusMatch], every interval: Duration? = nil,
    report: @Sendable (MachineObservation) async -> Void,
    read: @escaping @Sendable (BusName) async throws -> MachineObservation
  ) async throws {
    let (presence, changed) = (Presence(), AsyncSignal())
    try await withThrowingTaskGroup(of: Void.self) { group in
      for match in matches {
        let subscription = bus.subscribe(match)
        group.addTask {
          for await news in subscription {
            presence.state.locked { state in
              switch news {
              case .appeared: state.there.insert(match.sender)
              case .vanished: state.there.remove(match.sender)
              case .refused(let error): state.end = error
              case .signal, .missed: break
              }
            }
            changed.signal()
          }
        }
      }
      defer { group.cancelAll() }
      var hasSpoken = false
      while !Task.isCancelled {
        let isSignalled = await changed.wait(atMost: hasSpoken ? interval : nil, clock: clock)
        guard isSignalled || !Task.isCancelled else { return }
        let known = presence.state.locked { $0 }
        if let error = known.end { throw ConditionSourceError(.away, "\(error)") }
        // Of two names of one service the one that comes first counts.
        guard let name = matches.map(\.sender).first(where: known.there.contains) else {
          if hasSpoken { throw ConditionSourceError(.away, "it is gone from the bus") }
          continue
        }
        let observation: MachineObservation
        do {
          observation = try await read(name)
        } catch let error as BusError {
          throw ConditionSourceError(error.code == .malformed ? .nonsense : .away, "\(error)")
        }
        hasSpoken = true
        await report(observation)
        try await clock.sleep(for: Self.rest)
      }
    }
  }

  /// All members of an interface. Throws what the bus throws.
  func members(
    of interface: BusInterface, at path: BusPath, _ destination: BusName
  ) async throws(BusError) -> [String: BusValue] {
    try await bus.properties(of: interface, at: path, destination: destination, timeout: Self.patience)
  }
}
