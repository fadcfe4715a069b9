internal import Files
internal import MessageBus
internal import SystemCalls

/// Tells which programs on the user's bus are in a sandbox of Flatpak's, and which one: by the root of their process, as xdg-desktop-portal
/// does. The process of such a program's connection is the sandbox's own proxy, which has the same root.
struct SandboxedCallers: Sendable {
  /// A process, as it was found.
  struct Finding: Hashable, Sendable {
    /// In no sandbox, or in that of an application; never unknown.
    var sandbox: ProcessSandbox
    /// When it began, in ticks since the boot.
    var began: UInt64
  }

  /// The user's bus.
  let bus: BusConnection
  /// `/proc` but for tests, and that of the agent's process.
  let processes: String
  private let agents: String
  /// Whether this program is in a sandbox itself, which shows it no process of others.
  let isSandboxed: Bool
  private static let patience: Duration = .seconds(10)

  /// `bus` is the user's.
  init(on bus: BusConnection, processes: String = "/proc", agents: String? = nil, isSandboxed: Bool) {
    self.bus = bus
    self.processes = processes
    self.agents = agents ?? processes
    self.isSandboxed = isSandboxed
  }

  /// Looks at the process of a connection. Throws `unknownCaller` for one of another user, for one that has gone, and where its number may
  /// belong to another process by now: the bus's descriptor of it says so, or, of a bus from before 1.16, that the process began after `time`,
  /// when the call was there.
  func look(at connection: BusName, since time: UInt64) async throws(DocumentError) -> Finding {
    try await look(at: connection, since: time, in: processes)
  }

  private func look(
    at connection: BusName, since time: UInt64, in processes: String
  ) async throws(DocumentError) -> Finding {
    let answer: [BusValue]
    do throws(BusError) {
      answer = try await bus.call(
        BusMethodCall(
          "GetConnectionCredentials", of: .bus, at: "/org/freedesktop/DBus", destination: .bus,
          arguments: [.string(connection.description)]), timeout: Self.patience)
    } catch {
      throw Self.unknown
    }
    guard let members = answer.first?.members,
      members["UnixUserID"]?.number == Int(FileOwner.ofThisProcess.user),
      let process = members["ProcessID"]?.number.flatMap(Int32.init(exactly:))
    else { throw Self.unknown }
    let file = members["ProcessFD"]?.openDescriptor
    return try await look(at: process, since: time, file, in: processes)
  }

  /// Looks at a process by its number. Throws `unknownCaller` as well.
  func look(at process: Int32, since time: UInt64) async throws(DocumentError) -> Finding {
    try await look(at: process, since: time, nil, in: processes)
  }

  private func look(
    at process: Int32, since time: UInt64, _ file: BusDescriptor?, in processes: String
  ) async throws(DocumentError) -> Finding {
    guard !isSandboxed else { throw Self.unknown }
    let found = await BlockingPool.shared.run { () -> Finding? in
      do throws(SystemError) {
        let entry = try ProcessEntry(process, in: processes)
        guard let began = entry.startTime(), began <= time else { return nil }
        let sandbox = entry.sandbox()
        // While it has not ended, no other has its number: the entry is its own.
        if let file, try file.descriptor.hasEnded() { return nil }
        return sandbox == .unknown ? nil : Finding(sandbox: sandbox, began: began)
      } catch {
        return nil
      }
    }
    guard let found else { throw Self.unknown }
    return found
  }

  /// Whether the connection is the agent of this user, and in no sandbox.
  func isAgent(_ connection: BusName, since time: UInt64) async -> Bool {
    await agent(since: time) == connection
  }

  /// The connection of the agent of this user; nil where there is none, and where it is in a sandbox or not known to be in none.
  func agent(since time: UInt64) async -> BusName? {
    let owner = try? await bus.call(
      BusMethodCall(
        "GetNameOwner", of: .bus, at: "/org/freedesktop/DBus", destination: .bus,
        arguments: [.string(AgentFollower.agent.description)]), timeout: Self.patience)
    guard let connection = owner?.first?.text.flatMap({ BusName($0) }),
      let found = try? await look(at: connection, since: time, in: agents), found.sandbox == .none
    else { return nil }
    return connection
  }

  private static let unknown = DocumentError(
    .unknownCaller, "it is not known whether the program is in a sandbox")
}
