internal import CoreTypes
internal import Files
internal import Synchronization
internal import SystemCalls

/// A `dbus-daemon` of a test's own, with a configuration and a socket of its own: no bus of the machine is asked anything.
public final class PrivateBus: Sendable {
  /// Whether this machine has a `dbus-daemon`.
  public static let isAvailable = program("dbus-daemon") != nil
  /// Whether this machine has python3-dbusmock, whose templates stand for services of the system.
  public static let hasMockServices = isFile("/usr/lib/python3/dist-packages/dbusmock/__main__.py")

  /// The directory of the socket, the configuration and what the programs print.
  public let directory: TemporaryDirectory
  /// The daemon; nil while it does not run.
  private let daemon = Mutex<ChildProcess?>(nil)
  /// Numbers the files of programs' output.
  private let runs = Mutex(0)

  /// A bus that does not run yet. `policy` is XML that comes behind a policy that allows everything, such as service directories; `type`
  /// is what the bus says it is, `session` or `system`. With `isStock`, the policy in front is that of a machine's own bus of the system
  /// instead.
  public init(type: String = "session", policy: String = "", isStock: Bool = false) throws {
    directory = try TemporaryDirectory()
    configuration = (type, isStock)
    try configure(policy: policy)
  }

  /// The kind of bus, and whether the policy in front of the test's is that of a machine.
  private let configuration: (type: String, isStock: Bool)

  /// That of dbus-daemon's own system.conf, as distributions have it.
  private static let stockPolicy = """
    <policy context="default">
      <allow user="*"/>
      <deny own="*"/>
      <deny send_type="method_call"/>
      <allow send_type="signal"/>
      <allow send_requested_reply="true" send_type="method_return"/>
      <allow send_requested_reply="true" send_type="error"/>
      <allow receive_type="method_call"/>
      <allow receive_type="method_return"/>
      <allow receive_type="error"/>
      <allow receive_type="signal"/>
      <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus"/>
      <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Introspectable"/>
      <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Properties"/>
    </policy>
    """

  private static let openPolicy = """
    <policy context="default">
      <allow send_destination="*" eavesdrop="true"/>
      <allow eavesdrop="true"/>
      <allow own="*"/>
    </policy>
    """

  /// Writes the configuration with another policy of the test, which a daemon that runs takes when it is told `ReloadConfig`.
  public func configure(policy: String) throws {
    let text = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
       "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <type>\(configuration.type)</type>
        <keep_umask/>
        <listen>unix:path=\(directory.path("bus"))</listen>
        <auth>EXTERNAL</auth>
        \(configuration.isStock ? Self.stockPolicy : Self.openPolicy)
        \(policy)
        <limit name="max_message_size">134217728</limit>
        <limit name="max_incoming_bytes">1000000000</limit>
        <limit name="max_outgoing_bytes">1000000000</limit>
        <limit name="max_names_per_connection">50000</limit>
        <limit name="max_match_rules_per_connection">50000</limit>
        <limit name="max_replies_per_connection">50000</limit>
        <limit name="max_completed_connections">5000</limit>
        <limit name="max_connections_per_user">5000</limit>
      </busconfig>
      """
    let file = try FileDescriptor.open(directory.path("bus.conf"), .writeOnly, options: [.create, .truncate])
    try file.write(Array(text.utf8).span)
  }

  deinit { daemon.withLock { $0?.send(signal: 9) } }

  /// The address, whether or not the bus runs.
  public var address: String { "unix:path=\(directory.path("bus"))" }

  /// The environment for programs on this bus, which is both the system's and the user's for them.
  public var environment: [String: String] {
    ChildProcess.inheritedEnvironment.merging([
      "DBUS_SYSTEM_BUS_ADDRESS": address, "DBUS_SESSION_BUS_ADDRESS": address, "LC_ALL": "C.UTF-8",
    ]) { _, own in own }
  }

  /// Starts the daemon. It may not listen yet when this returns: what connects waits for its socket.
  public func start() throws {
    guard let path = Self.program("dbus-daemon") else { return }
    let process = try ChildProcess(
      path, ["--config-file=\(directory.path("bus.conf"))", "--nofork", "--nopidfile", "--nosyslog"],
      environment: ChildProcess.inheritedEnvironment, output: directory.path("daemon.log"))
    daemon.withLock { $0 = process }
  }

  /// Kills the daemon, whose socket stays as it does after a crash.
  public func stop() async {
    await daemon.withLock { $0.take() }?.killAndWait()
  }

  /// Starts a program on the bus, with its path from `PATH`; nil where the machine has no such program.
  public func launch(_ name: String, _ arguments: [String]) throws -> (process: ChildProcess, output: String)?
  {
    guard let path = Self.program(name) else { return nil }
    let number = runs.withLock { runs in
      runs += 1
      return runs
    }
    let output = directory.path("\(name)-\(number).log")
    return (try ChildProcess(path, arguments, environment: environment, output: output), output)
  }

  /// Runs a program to its end and answers all that it printed; nil where the machine has no such program.
  public func run(
    _ name: String, _ arguments: [String]
  ) async throws -> (ending: ChildProcess.Ending, output: String)? {
    guard let (process, output) = try launch(name, arguments) else { return nil }
    let ending = await process.ending()
    return (ending, String(decoding: try FileSystem.read(output, upTo: .mebibytes(64)), as: UTF8.self))
  }

  /// The path of a program of this machine; nil without it.
  public static func program(_ name: String) -> String? {
    ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"].map { "\($0)/\(name)" }.first(where: isFile)
  }

  private static func isFile(_ path: String) -> Bool {
    // A place that cannot be looked at has no program for a test.
    (try? FileSystem.status(of: path)) != nil
  }
}
