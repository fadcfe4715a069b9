import CoreTypes
import Files
import HTTPServer
import MessageBus
import ServiceRuntime
import Synchronization
import SystemCalls

/// polkit on the bus of the system: decides of those whom the configuration does not name.
final class BusAuthority: ChangeJudge {
  /// The bus on which polkit is asked.
  private let bus: BusConnection
  /// The directory of processes.
  private let processes: String
  private let log: Log
  /// Whether the log has the failure of polkit that goes on.
  private let isReported = Mutex(false)

  /// Asks polkit on `bus`. The directory of processes is `/proc` but for tests.
  init(bus: BusConnection, log: Log, processes: String = "/proc") {
    self.bus = bus
    self.log = log
    self.processes = processes
  }

  /// polkit's name on the bus.
  static let name: BusName = "org.freedesktop.PolicyKit1"
  /// The time that a person may take to give a password.
  private static let patience: Duration = .seconds(600)
  /// The time that polkit may take to look a rule up.
  private static let promptness: Duration = .seconds(10)
  /// The user that the kernel tells for users of another user namespace.
  private static let unknownUser: UInt32 = 65_534

  /// Asks polkit; false where it is not there, does not answer, or cannot be told who asks.
  func allows(_ action: ChangeAction, _ subject: ChangeSubject, mayAsk: Bool) async -> Bool {
    guard let subject = description(of: subject) else { return false }
    let call = BusMethodCall(
      "CheckAuthorization", of: "org.freedesktop.PolicyKit1.Authority",
      at: "/org/freedesktop/PolicyKit1/Authority", destination: Self.name,
      arguments: [
        subject, .string(action.identifier), .dictionary(key: "s", value: "s", []),
        .uint32(mayAsk ? 1 : 0), .string(""),
      ])
    do throws(BusError) {
      let answer = try await bus.call(call, timeout: mayAsk ? Self.patience : Self.promptness)
      isReported.locked { $0 = false }
      return answer.first?.elements?.first?.flag ?? false
    } catch {
      report(error)
      return false
    }
  }

  /// Says once that polkit gives no answer, until it has given one. A question that its own asker gave up is no failure.
  private func report(_ error: BusError) {
    guard error.code != .cancelled, error.code != .closed else { return }
    let isFirst = isReported.locked { isReported in
      defer { isReported = true }
      return !isReported
    }
    guard isFirst else { return }
    log.warning(
      "polkit does not answer; whom the configuration does not name is refused", ["error": LogValue(error)])
  }

  /// The subject as polkit reads it: by its name on the bus, which polkit asks the bus about, else by its process. A process is named with
  /// its start and its user, so that neither a number that was given again nor a program that has changed its user counts for it; one of
  /// which the kernel does not tell these is not asked about, nor one that began after its connection.
  private func description(of subject: ChangeSubject) -> BusValue? {
    if let name = subject.busName {
      return .structure([.string("system-bus-name"), .properties(["name": .string(name)])])
    }
    guard let credentials = subject.credentials, credentials.user != Self.unknownUser,
      let process = UInt32(exactly: credentials.process), let start = subject.began ?? startTime(of: process),
      // What began later has got the number of the one who asks.
      start <= credentials.accepted ?? .max
    else { return nil }
    return .structure([
      .string("unix-process"),
      .properties([
        "pid": .uint32(process), "start-time": .uint64(start),
        "uid": .int32(Int32(bitPattern: credentials.user)),
      ]),
    ])
  }

  /// Nil where the process is gone or hidden.
  private func startTime(of process: UInt32) -> UInt64? {
    guard let number = Int32(exactly: process) else { return nil }
    do throws(SystemError) {
      return try ProcessEntry(number, in: processes).startTime()
    } catch {
      return nil
    }
  }
}

/// polkit for an agent that needs it only of programs in a sandbox: the bus of the system is connected to with the first question.
final class LateBusAuthority: ChangeJudge {
  private let open: @Sendable () throws(BusError) -> BusConnection
  private let log: Log
  private let processes: String
  private let authority = Mutex<BusAuthority?>(nil)
  /// Whether the log has the failure to connect that goes on.
  private let isReported = Mutex(false)

  /// Asks polkit on the bus that `open` connects to. The directory of processes is `/proc` but for tests.
  init(log: Log, processes: String = "/proc", open: @escaping @Sendable () throws(BusError) -> BusConnection)
  {
    self.open = open
    self.log = log
    self.processes = processes
  }

  /// Asks polkit as ``BusAuthority/allows(_:_:mayAsk:)`` does; false where there is no bus of the system.
  func allows(_ action: ChangeAction, _ subject: ChangeSubject, mayAsk: Bool) async -> Bool {
    let found: BusAuthority
    do throws(BusError) {
      found = try authority.locked { authority throws(BusError) in
        if let authority { return authority }
        let new = BusAuthority(bus: try open(), log: log, processes: processes)
        authority = new
        return new
      }
    } catch {
      let isKnown = isReported.locked { isReported in
        defer { isReported = true }
        return isReported
      }
      if !isKnown { log.warning("polkit cannot be asked", ["error": LogValue(error)]) }
      return false
    }
    return await found.allows(action, subject, mayAsk: mayAsk)
  }
}

extension BusConnection {
  /// The process, user and groups of the connection with that unique name, as the bus knows them. Nil for one that is gone.
  func credentials(of name: BusName) async -> PeerCredentials? {
    let call = BusMethodCall(
      "GetConnectionCredentials", of: .bus, at: "/org/freedesktop/DBus", destination: .bus,
      arguments: [.string(name.description)])
    guard let answer = try? await self.call(call, timeout: .seconds(10)), let members = answer.first?.members,
      let user = members["UnixUserID"]?.number.flatMap(UInt32.init(exactly:))
    else { return nil }
    let groups = (members["UnixGroupIDs"]?.elements ?? []).compactMap(\.number).compactMap(
      UInt32.init(exactly:))
    let process = members["ProcessID"]?.number.flatMap(Int32.init(exactly:)) ?? 0
    // Buses from before 1.14 tell no groups; then the configuration's group does not count here, and polkit's rules do.
    return PeerCredentials(
      process: process, user: user, group: groups.first ?? .max, supplementaryGroups: groups)
  }
}
