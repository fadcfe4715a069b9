import CoreTypes
import MessageBus
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@Suite(
  "A connection to a bus of the test's own",
  .enabled(if: PrivateBus.isAvailable, "this machine has no dbus-daemon"))
struct BusConnectionTests {
  /// A connection that serves `com.pullbox.Test1`: it echoes, refuses, keeps silent, and hands over a file.
  private final class Service: Sendable {
    static let name: BusName = "com.pullbox.Test1"
    let bus: BusConnection

    init(on address: String) throws {
      bus = try BusConnection.open(
        .address(address), configuration: BusConfiguration(service: Self.name))
    }

    func serve() async {
      var silent: [BusRequest] = []
      while let request = await bus.nextRequest() {
        switch request.member {
        case "Echo": request.answer.reply(request.arguments)
        case "Refuse": request.answer.refuse("com.pullbox.Error.No", "not today")
        case "Silent": silent.append(request)
        case "Open":
          guard let file = try? FileDescriptor.open("/proc/self/comm", .readOnly) else { continue }
          request.answer.reply([.descriptor(BusDescriptor(file))])
        case "Large": request.answer.reply([.bytes([UInt8](repeating: 1, count: 5 << 20))])
        default: break
        }
      }
    }

    func call(_ member: String, _ arguments: [BusValue] = []) -> BusMethodCall {
      BusMethodCall(
        member, of: "com.pullbox.Test1", at: "/com/pullbox/Test1", destination: Self.name,
        arguments: arguments)
    }
  }

  private func ready(_ bus: BusConnection, ownsService: Bool = false) async {
    for await state in bus.states() where state.isConnected && (!ownsService || state.ownsService) { return }
  }

  private func withService(
    _ body: (PrivateBus, Service, BusConnection) async throws -> Void
  ) async throws {
    let daemon = try PrivateBus()
    try daemon.start()
    let service = try Service(on: daemon.address)
    let client = try BusConnection.open(.address(daemon.address))
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { await service.serve() }
      await ready(service.bus, ownsService: true)
      await ready(client)
      try await body(daemon, service, client)
      service.bus.close()
    }
    client.close()
    await daemon.stop()
  }

  @Test("every kind of value comes back as it was sent")
  func values() async throws {
    try await withService { _, service, client in
      let values: [BusValue] = [
        .byte(255), .boolean(true), .int16(.min), .uint16(.max), .int32(.min), .uint32(.max), .int64(.min),
        .uint64(.max), .double(-0.5), .string("grün \u{202E}😀"), .path("/a/b"), .signature("a{sv}"),
        .bytes([0, 1, 255]), .bytes([]), .array(of: "s", []), .strings(["a", ""]),
        .array(of: "(ib)", [.structure([.int32(1), .boolean(false)])]),
        .structure([.string("a"), .structure([.byte(1)])]),
        .properties(["a": .uint32(1), "b": .strings(["c"])]),
        .dictionary(key: "u", value: "s", [BusEntry(key: .uint32(7), value: .string("seven"))]),
        .variant(.variant(.string("x"))), .array(of: "ay", [.bytes([1]), .bytes([])]),
        .array(of: "a{sv}", [.properties([:])]),
      ]
      let echoed = try await client.call(service.call("Echo", values))
      #expect(echoed == values)
    }
  }

  @Test("an error of the other side has its name and its words")
  func refusals() async throws {
    try await withService { _, service, client in
      let error = await #expect(throws: BusError.self) { try await client.call(service.call("Refuse")) }
      #expect(
        error?.code == .refused && error?.name == "com.pullbox.Error.No" && error?.message == "not today")
      let missing = await #expect(throws: BusError.self) {
        try await client.call(
          BusMethodCall("A", of: "a.b", at: "/", destination: "com.pullbox.NobodyHasThisName"))
      }
      #expect(missing?.isServiceMissing == true)
    }
  }

  @Test("a call that gets no answer ends at its time-out, and one whose task is canceled at once")
  func endings() async throws {
    try await withService { _, service, client in
      let late = await #expect(throws: BusError.self) {
        try await client.call(service.call("Silent"), timeout: .milliseconds(1))
      }
      #expect(late?.code == .timedOut)
      let call = service.call("Silent")
      let task = Task { try await client.call(call, timeout: .seconds(3600)) }
      task.cancel()
      let cancelled = await #expect(throws: BusError.self) { try await task.value }
      #expect(cancelled?.code == .cancelled)
    }
  }

  @Test("a request that is let go without an answer is refused")
  func forgotten() async throws {
    try await withService { _, service, client in
      let error = await #expect(throws: BusError.self) { try await client.call(service.call("Forget")) }
      #expect(error?.name == "org.freedesktop.DBus.Error.NoReply")
    }
  }

  @Test("an open file comes over the bus")
  func descriptors() async throws {
    try await withService { _, service, client in
      let answer = try await client.call(service.call("Open"))
      let file = try #require(answer.first?.openDescriptor)
      var bytes: [UInt8] = []
      try file.descriptor.read(upTo: 64, at: ByteCount(0), into: &bytes)
      #expect(!bytes.isEmpty)
    }
  }

  @Test("what is over the bounds is refused on either side, and the connection goes on")
  func bounds() async throws {
    try await withService { _, service, client in
      let large = await #expect(throws: BusError.self) { try await client.call(service.call("Large")) }
      #expect(large?.name == "org.freedesktop.DBus.Error.LimitsExceeded")
      let long = BusValue.bytes([UInt8](repeating: 0, count: 100_000))
      let refused = await #expect(throws: BusError.self) {
        try await client.call(service.call("Echo", [long]))
      }
      #expect(refused?.name == "org.freedesktop.DBus.Error.LimitsExceeded")
      let own = BusValue.bytes([UInt8](repeating: 0, count: 2 << 20))
      let tooLarge = await #expect(throws: BusError.self) {
        try await client.call(service.call("Echo", [own]))
      }
      #expect(tooLarge?.code == .tooLarge)
      let echoed = try await client.call(service.call("Echo", [.byte(1)]))
      #expect(echoed == [.byte(1)])
    }
  }

  @Test("a connection that asks for more than sixteen answers at once is refused, and others are answered")
  func greedy() async throws {
    try await withService { daemon, service, client in
      let call = service.call("Silent")
      await withTaskGroup(of: BusError?.self) { group in
        for _ in 0..<17 {
          group.addTask {
            do throws(BusError) {
              _ = try await client.call(call, timeout: .seconds(3600))
              return nil
            } catch {
              return error
            }
          }
        }
        // The other sixteen wait.
        let refused = await group.next()
        #expect(refused??.name == "org.freedesktop.DBus.Error.LimitsExceeded")
        let again = await #expect(throws: BusError.self) { try await client.call(service.call("Echo")) }
        #expect(again?.name == "org.freedesktop.DBus.Error.LimitsExceeded")
        let other = try? BusConnection.open(.address(daemon.address))
        let echoed = try? await other?.call(service.call("Echo", [.byte(2)]))
        #expect(echoed == [.byte(2)])
        group.cancelAll()
      }
    }
  }

  /// Runs a script in Python with python3-dbus and the service's `call(bus, member)`, which answers the name of the error, if any.
  private func python(_ daemon: PrivateBus, _ script: String) async throws -> String {
    let start = """
      import dbus, dbus.bus, sys
      def connect():
          return dbus.bus.BusConnection(sys.argv[1])
      def call(bus, member, **options):
          service = bus.get_object('com.pullbox.Test1', '/com/pullbox/Test1', introspect=False)
          try:
              service.get_dbus_method(member, 'com.pullbox.Test1')(**options)
              return 'done'
          except dbus.DBusException as error:
              return error.get_dbus_name().split('.')[-1]

      """
    return try #require(try await daemon.run("python3", ["-c", start + script, daemon.address])).output
  }

  @Test(
    "calls that want no answer count like others, for their connection and for its user, until they are dealt with",
    .enabled(if: PrivateBus.hasMockServices, "this machine has no python3-dbus"))
  func unansweredCalls() async throws {
    try await withService { daemon, service, client in
      let script = """
        busses = [connect() for _ in range(5)]
        for _ in range(100):
            call(busses[4], 'Forget', ignore_reply=True)
            assert call(busses[4], 'Echo') == 'done'
        for bus in busses[:4]:
            for _ in range(16):
                call(bus, 'Silent', ignore_reply=True)
            print(call(bus, 'Echo'))
        print(call(busses[4], 'Echo'))
        """
      let output = try await python(daemon, script)
      #expect(output == String(repeating: "LimitsExceeded\n", count: 5))
    }
  }

  @Test("a call ends with the connection that was asked, and with the bus's word that it may not be made")
  func errorsOfTheBus() async throws {
    try await withService { daemon, service, client in
      let other = try BusConnection.open(
        .address(daemon.address), configuration: BusConfiguration(service: "com.pullbox.Test2"))
      await ready(other, ownsService: true)
      let name = try #require(other.state.uniqueName)
      let pending = Task {
        try await client.call(
          BusMethodCall("Silent", of: "a.b", at: "/", destination: name), timeout: .seconds(3600))
      }
      // Not let go before the end: that would be an answer.
      let request = await other.nextRequest()
      other.close()
      let gone = await #expect(throws: BusError.self) { try await pending.value }
      #expect(gone?.code == .refused && request?.member == "Silent")
    }
    let daemon = try PrivateBus(type: "system", isStock: true)
    try daemon.start()
    let (asking, asked) = (
      try BusConnection.open(.address(daemon.address)), try BusConnection.open(.address(daemon.address))
    )
    await ready(asking)
    await ready(asked)
    let name = try #require(asked.state.uniqueName)
    let error = await #expect(throws: BusError.self) {
      try await asking.call(
        BusMethodCall("Ping", of: .peer, at: "/", destination: name), timeout: .seconds(3600))
    }
    #expect(error?.name == "org.freedesktop.DBus.Error.AccessDenied")
    await daemon.stop()
  }

  @Test("a name that the bus refuses is asked for again, and why it was refused is told meanwhile")
  func refusedName() async throws {
    let daemon = try PrivateBus(type: "system", isStock: true)
    try daemon.start()
    let quick = Backoff(initial: .milliseconds(20), factor: 1, cap: .milliseconds(20), jitter: 0)
    let bus = try BusConnection.open(
      .address(daemon.address), configuration: BusConfiguration(service: Service.name, backoff: quick))
    for await state in bus.states() {
      guard let error = state.serviceError else { continue }
      #expect(error.name == "org.freedesktop.DBus.Error.AccessDenied" && !state.ownsService)
      break
    }
    try daemon.configure(policy: "<policy context='default'><allow own='\(Service.name)'/></policy>")
    _ = try await bus.call(
      BusMethodCall("ReloadConfig", of: .bus, at: "/org/freedesktop/DBus", destination: .bus))
    await ready(bus, ownsService: true)
    #expect(bus.state.serviceError == nil)
    await daemon.stop()
  }

  @Test("a signal of the sender comes; the same signal of another connection is ignored, to all or to one")
  func forgery() async throws {
    try await withService { daemon, service, client in
      var news = client.subscribe(BusMatch(sender: Service.name, .signals(path: "/a"))).makeAsyncIterator()
      guard case .appeared(let owner)? = await news.next() else { return #expect(Bool(false)) }
      #expect(owner == service.bus.state.uniqueName)
      let forger = try BusConnection.open(.address(daemon.address))
      await ready(forger)
      let forged = BusSignal("Changed", of: "a.b", at: "/a", arguments: [.string("forged")])
      try forger.send(forged)
      try forger.send(forged, to: client.state.uniqueName)
      // The bus takes the messages of one connection in their order.
      _ = try await forger.call(service.call("Echo"))
      let own = BusSignal("Changed", of: "a.b", at: "/a", arguments: [.string("own")])
      try service.bus.send(own)
      #expect(await news.next() == .signal(own))
    }
  }

  @Test(
    "a thousand names of a hostile connection change nothing, nor does its word that a name has another owner"
  )
  func manyNames() async throws {
    try await withService { daemon, service, client in
      var news = client.subscribe(BusMatch(sender: Service.name, .signals())).makeAsyncIterator()
      guard case .appeared? = await news.next() else { return #expect(Bool(false)) }
      let hostile = try BusConnection.open(.address(daemon.address))
      for number in 0..<1000 {
        _ = try await hostile.call(
          BusMethodCall(
            "RequestName", of: .bus, at: "/org/freedesktop/DBus", destination: .bus,
            arguments: [.string("com.hostile.Name\(number)"), .uint32(0)]))
      }
      let unique = try #require(hostile.state.uniqueName).description
      let lie = BusSignal(
        "NameOwnerChanged", of: .bus, at: "/org/freedesktop/DBus",
        arguments: [.string("com.pullbox.Test1"), .string(""), .string(unique)])
      try hostile.send(lie, to: client.state.uniqueName)
      try hostile.send(BusSignal("Changed", of: "a.b", at: "/a"), to: client.state.uniqueName)
      _ = try await hostile.call(service.call("Echo"))
      let own = BusSignal("Changed", of: "a.b", at: "/b")
      try service.bus.send(own)
      #expect(await news.next() == .signal(own))
    }
  }

  @Test("a subscriber that reads nothing is told that it missed signals, and others lose none")
  func slowReaders() async throws {
    try await withService { _, service, client in
      var slow = client.subscribe(BusMatch(sender: Service.name, .signals())).makeAsyncIterator()
      var quick = client.subscribe(BusMatch(sender: Service.name, .signals())).makeAsyncIterator()
      guard case .appeared? = await quick.next(), case .appeared? = await slow.next() else {
        return #expect(Bool(false))
      }
      for number in 0..<600 {
        let signal = BusSignal("Changed", of: "a.b", at: "/a", arguments: [.int32(Int32(number))])
        try service.bus.send(signal)
        #expect(await quick.next() == .signal(signal))
      }
      // Those that came since.
      var missed = 0
      for number in 0..<600 {
        let news = await slow.next()
        if news == .missed { missed += 1 }
        if case .signal(let signal)? = news, signal.arguments == [.int32(599)] { break }
        _ = number
      }
      #expect(missed == 1)
    }
  }

  @Test(
    "a bus that goes and comes back has its names and subscriptions again; a bus that comes later is taken")
  func restarts() async throws {
    let daemon = try PrivateBus()
    let service = try Service(on: daemon.address)
    let client = try BusConnection.open(.address(daemon.address))
    var news = client.subscribe(BusMatch(sender: Service.name, .signals())).makeAsyncIterator()
    #expect(await news.next() == .vanished)
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { await service.serve() }
      for _ in 0..<2 {
        try daemon.start()
        while case .vanished? = await news.next() {}
        let echoed = try await client.call(service.call("Echo", [.byte(1)]))
        #expect(echoed == [.byte(1)])
        let signal = BusSignal("Changed", of: "a.b", at: "/a")
        try service.bus.send(signal)
        #expect(await news.next() == .signal(signal))
        await daemon.stop()
        #expect(await news.next() == .vanished)
      }
      service.bus.close()
    }
    let error = await #expect(throws: BusError.self) {
      try await client.call(service.call("Echo"), timeout: .milliseconds(1))
    }
    #expect(error?.code == .notConnected)
    client.close()
    let closed = await #expect(throws: BusError.self) { try await client.call(service.call("Echo")) }
    #expect(closed?.code == .closed)
    #expect(await news.next() == nil)
  }

  @Test(
    "busctl calls the service, and is told what the library answers for it",
    .enabled(if: PrivateBus.program("busctl") != nil, "this machine has no busctl"))
  func otherLibraries() async throws {
    try await withService { daemon, _, _ in
      let echoed = try #require(
        try await daemon.run(
          "busctl",
          [
            "--user", "call", "com.pullbox.Test1", "/com/pullbox/Test1", "com.pullbox.Test1", "Echo", "s",
            "x",
          ]))
      #expect(echoed.ending == .exited(0) && echoed.output == "s \"x\"\n")
      let ping = try await daemon.run(
        "busctl",
        ["--user", "call", "com.pullbox.Test1", "/com/pullbox/Test1", "org.freedesktop.DBus.Peer", "Ping"])
      #expect(ping?.ending == .exited(0))
    }
  }

  @Test(
    "messages of 126 MiB, called and signaled, are refused and ignored",
    .enabled(if: PrivateBus.hasMockServices, "this machine has no python3-dbus"))
  func hugeMessages() async throws {
    try await withService { daemon, service, client in
      var news = client.subscribe(BusMatch(sender: Service.name, .signals())).makeAsyncIterator()
      guard case .appeared? = await news.next() else { return #expect(Bool(false)) }
      let script = """
        import dbus, dbus.lowlevel, sys
        bus = dbus.SessionBus()
        part = dbus.ByteArray(bytes(63 << 20))
        signal = dbus.lowlevel.SignalMessage('/a', 'a.b', 'Changed')
        signal.set_destination(sys.argv[1])
        signal.append(part, part, signature='ayay')
        bus.send_message(signal)
        bus.flush()
        service = bus.get_object('com.pullbox.Test1', '/com/pullbox/Test1', introspect=False)
        try:
            service.Echo(part, part, dbus_interface='com.pullbox.Test1', signature='ayay', timeout=300)
        except dbus.DBusException as error:
            print(error.get_dbus_name())
        """
      let name = try #require(client.state.uniqueName).description
      let answer = try #require(try await daemon.run("python3", ["-c", script, name]))
      #expect(answer.output == "org.freedesktop.DBus.Error.LimitsExceeded\n")
      let own = BusSignal("Changed", of: "a.b", at: "/a")
      try service.bus.send(own)
      #expect(await news.next() == .signal(own))
    }
  }
}
