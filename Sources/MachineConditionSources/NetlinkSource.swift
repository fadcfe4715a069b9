package import AgentRecords
package import CoreTypes
package import SystemCalls

/// The kernel's own word about the way to the network: it asks for all links, addresses and routes once, and hears of each change.
package struct NetlinkSource: ConditionSource {
  /// The shortest time between two looks: routes of a large router change by the second.
  static let rest: Duration = .milliseconds(100)

  package let name = ConditionSourceName.netlink
  private let thread: ReadinessThread
  private let clock: any MonotonicClock

  package init(thread: ReadinessThread, clock: any MonotonicClock) {
    self.thread = thread
    self.clock = clock
  }

  package func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    let socket: NetlinkSocket
    do throws(SystemError) {
      socket = try NetlinkSocket.network()
    } catch {
      throw ConditionSourceError(.absent, "\(error)")
    }
    var told: MachineObservation?
    while !Task.isCancelled {
      // Where something was lost, all is asked for anew.
      var table = NetworkTable()
      guard try await read(socket, into: &table) else { continue }
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

  /// Asks for one kind after the other, for the kernel answers one question at a time. False where something was lost.
  private func read(_ socket: NetlinkSocket, into table: inout NetworkTable) async throws -> Bool {
    for kind in NetlinkSocket.Kind.allCases {
      try socket.requestDump(of: kind)
      var isOver = false
      while !isOver {
        switch try socket.receive() {
        case .nothing: guard await thread.wait(for: socket.number) else { throw CancellationError() }
        case .lost: return false
        case .messages(let bytes):
          for message in NetlinkMessages(bytes) {
            isOver = isOver || message.kind == NetworkTable.done || message.kind == NetworkTable.refusal
            table.apply(message)
          }
        }
      }
    }
    return true
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
