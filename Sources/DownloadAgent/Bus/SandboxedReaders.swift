import Commerce
import Files
import HTTPServer
import MessageBus
import Synchronization
import SystemCalls

/// Programs in a sandbox of Flatpak's on the bus of the agent's user: which of those who ask are in one, and where they find content. What the
/// kernel hides from this process, as it does from one whose unit has `PrivateUsers=`, `pullbox-desktop` is asked, which runs as its user
/// does.
struct SandboxedReaders: SandboxWitness {
  /// The name of `pullbox-desktop` on the bus of the user.
  static let desktop: BusName = "com.pullbox.Desktop"
  private static let path: BusPath = "/com/pullbox/Desktop"
  private static let interface: BusInterface = "com.pullbox.Desktop1"
  /// The time that it may take to tell where a process runs, and to show content, for which a portal is asked.
  private static let patience: Duration = .seconds(60)
  private static let denied = "org.freedesktop.DBus.Error.AccessDenied"

  /// The bus of the user; nil for an agent that is not on it.
  private let bus: BusConnection?
  /// The directory of processes.
  let processes: String
  /// Whether this process is in a sandbox itself: numbers that the bus tells are others there.
  private var isSandboxed: Bool { ownApplication != nil }
  /// The application of this process's own sandbox; nil in none.
  private let ownApplication: String?
  private let promptness: Duration
  /// Whether the bus was waited for in vain; every copy knows it.
  private let absence = Absence()

  private final class Absence: Sendable { let isKnown = Atomic<Bool>(false) }

  /// The directory of processes is `/proc` but for tests.
  init(
    bus: BusConnection?, processes: String = "/proc", ownApplication: String? = FlatpakSandbox.ownApplication,
    promptness: Duration = .seconds(5)
  ) {
    self.bus = bus
    self.processes = processes
    self.ownApplication = ownApplication
    self.promptness = promptness
  }

  /// These, where the agent is on the bus of its user; nil elsewhere.
  var onUserBus: SandboxedReaders? { bus == nil ? nil : self }

  /// Looks at a process. At the socket `pullbox-desktop` is asked only where it runs; for a caller of the bus it is started. Where it is not
  /// installed, does not run, or takes this process for no agent, no one tells. An agent in a sandbox is the agent of that application, which
  /// is as its user at the socket.
  func look(at process: Int32, since time: UInt64, isOnUserBus: Bool) async -> SandboxFinding {
    if !(isSandboxed && isOnUserBus) {
      var found = await ownLook(at: process, since: time)
      if isSandboxed, case .application(let name) = found.sandbox, name == ownApplication {
        found.sandbox = .none
      }
      if found.sandbox != .unknown || found.isTold { return found }
    }
    guard !isSandboxed else { return .unknown }
    // At the agent's start the bus may be on its way while questions wait at the socket already. One that did not come is not waited for again.
    guard let bus, bus.state.isConnected || !absence.isKnown.load(ordering: .relaxed) else { return .untold }
    guard let number = UInt32(exactly: process), number > 0 else { return .unknown }
    var call = BusMethodCall(
      "Sandbox", of: Self.interface, at: Self.path, destination: Self.desktop, arguments: [.uint32(number)])
    call.startsService = isOnUserBus
    let answer: [BusValue]
    do throws(BusError) {
      answer = try await bus.call(call, timeout: promptness)
    } catch {
      if error.code == .notConnected { absence.isKnown.store(true, ordering: .relaxed) }
      // An agent that stops leaves the bus first.
      let isAbsent = error.code == .notConnected || error.code == .closed
      return isAbsent || error.isServiceMissing || error.name == Self.denied ? .untold : .unknown
    }
    guard answer.count == 2, case .string(let application) = answer[0], case .uint64(let began) = answer[1],
      began <= time, application.isEmpty || FlatpakSandbox.isApplication(application)
    else { return .unknown }
    return SandboxFinding(
      sandbox: application.isEmpty ? .none : .application(application), began: began)
  }

  /// The kernel's sight of a process. It is untold where it hides it; one that has ended, or began later, is unknown.
  private func ownLook(at process: Int32, since time: UInt64) async -> SandboxFinding {
    let processes = processes
    return await BlockingPool.shared.run {
      do throws(SystemError) {
        let entry = try ProcessEntry(process, in: processes)
        guard let began = entry.startTime() else { return .unknown }
        guard began <= time else { return .unknown }
        let sandbox = entry.sandbox()
        return SandboxFinding(sandbox: sandbox, began: began, isTold: sandbox != .unknown)
      } catch {
        // Of a process in another namespace the number is 0. Where not even the first process is shown, nothing says that this one has ended.
        let showsAll = (try? FileSystem.status(of: "\(processes)/1")) != nil
        return error.isFileMissing && process > 0 && showsAll ? .unknown : .untold
      }
    }
  }

  /// The path at which the one who asks finds the content: that in the library, or for a program in a sandbox that of a document of its own.
  /// Throws ``BusRefusal`` where it can be shown none.
  func path(
    _ content: String, of product: ProductIdentifier, to caller: BusName, _ credentials: PeerCredentials?
  ) async throws(BusRefusal) -> String {
    guard let bus, let credentials else { return content }
    let found =
      isSandboxed ? .untold : await ownLook(at: credentials.process, since: ProcessEntry.now())
    guard found.sandbox != .none else { return content }
    do throws(BusError) {
      let answer = try await bus.call(
        BusMethodCall(
          "Show", of: Self.interface, at: Self.path, destination: Self.desktop,
          arguments: [.string(caller.description), .string(product.description), .string(content)]),
        timeout: Self.patience)
      guard answer.count == 1, case .string(let path) = answer[0], path.hasPrefix("/") else {
        throw BusError(.malformed, "pullbox-desktop has answered no path")
      }
      return path
    } catch {
      // Without it no one tells of this one, and it is as any other program of its user. It takes this process for no agent where one of the two
      // is in a sandbox: documents are shown by neither then.
      if error.isServiceMissing || error.name == Self.denied, found.sandbox == .unknown { return content }
      throw Self.refusal(error)
    }
  }

  private static func refusal(_ error: BusError) -> BusRefusal {
    guard !error.isServiceMissing else {
      return BusRefusal(
        name: "com.pullbox.Agent1.Error.NoDocumentPortal",
        message: "pullbox-desktop, which shows content to programs in a sandbox, is not installed")
    }
    let prefix = "\(interface).Error."
    let word = error.name.flatMap { $0.hasPrefix(prefix) ? $0.dropFirst(prefix.count) : nil }
    return BusRefusal(
      name: BusInterface("com.pullbox.Agent1.Error.\(word ?? "NoDocumentPortal")")
        ?? "com.pullbox.Agent1.Error.NoDocumentPortal",
      message: error.message)
  }
}
