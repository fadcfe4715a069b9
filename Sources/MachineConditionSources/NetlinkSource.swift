package import AgentRecords
package import CoreTypes
package import SystemCalls

/// The kernel's own word about the way to the network: it asks for all links, addresses and routes once, and hears of each change.
package struct NetlinkSource: ConditionSource {
  /// The shortest time between two looks: routes of a large router change by the second.
  static let rest: Duration = .milliseconds(100)

  /// So many answers in a row may be cut short before the source rests.
  static let maximumTries = 10

  package let name = ConditionSourceName.netlink
  private let thread: ReadinessThread
  private let clock: any MonotonicClock

  package init(thread: ReadinessThread, clock: any MonotonicClock) {
    self.thread = thread
    self.clock = clock
  }

  package func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    var told: MachineObservation?
    var failures = 0
    while !Task.isCancelled {
      // Where something was lost, all is asked for anew, and of a new socket, which holds no rest of an old answer.
      let socket = try Self.open()
      guard var table = try await read(socket) else {
        failures += 1
        guard failures < Self.maximumTries else {
          throw ConditionSourceError(.away, "the kernel has given no whole answer in \(failures) tries")
        }
        try await clock.sleep(for: Self.rest)
        continue
      }
      failures = 0
      repeat {
        let news = table.observation
        if told != news {
          told = news
          await report(news)
        }
        guard await thread.wait(for: socket.number) else { return }
        try await clock.sleep(for: Self.rest)
      } while try drain(socket, into: &table)
    }
  }

  private static func open() throws(ConditionSourceError) -> NetlinkSocket {
    do throws(SystemError) {
      return try NetlinkSocket.network()
    } catch {
      throw ConditionSourceError(.absent, "\(error)")
    }
  }

  /// All that there is; nil where something of it was lost.
  private func read(_ socket: NetlinkSocket) async throws -> NetworkTable? {
    var reading = NetworkReading()
    while let question = reading.question {
      do throws(SystemError) {
        try socket.requestDump(of: question.kind, sequence: question.sequence)
      } catch {
        throw NetworkReading.refusal(error.number, "\(error)")
      }
      while reading.question == question {
        switch try socket.receive() {
        case .nothing: guard await thread.wait(for: socket.number) else { throw CancellationError() }
        case .lost: return nil
        case .messages(let bytes): guard try reading.take(bytes) else { return nil }
        }
      }
    }
    return reading.table
  }

  /// Takes in what has come. False where something was lost.
  private func drain(_ socket: NetlinkSocket, into table: inout NetworkTable) throws -> Bool {
    while true {
      switch try socket.receive() {
      case .nothing: return true
      case .lost: return false
      case .messages(let bytes): for message in NetlinkMessages(bytes) { table.apply(message) }
      }
    }
  }
}
