import Testing

@testable import MessageBus

struct BusValueTests {
  private func code(_ values: [BusValue], within limits: BusLimits = .message) -> BusError.Code? {
    do throws(BusError) {
      _ = try BusValue.length(of: values, within: limits)
      return nil
    } catch {
      return error.code
    }
  }

  @Test("a value is read through the variants around it")
  func reading() {
    let value = BusValue.properties(["Percentage": .double(12.5), "OnBattery": .boolean(true)])
    #expect(value.type == "a{sv}")
    #expect(BusValue.variant(value)["OnBattery"]?.flag == true)
    #expect(value["Percentage"]?.fraction == 12.5)
    #expect(value["Missing"] == nil)
    #expect(BusValue.uint64(.max).number == nil)
    #expect(BusValue.variant(.variant(.int16(-3))).number == -3)
  }

  @Test("text, bytes, values and depth have bounds")
  func bounds() {
    let limits = BusLimits(bytes: 100, values: 10, depth: 2)
    #expect(code([.string(String(repeating: "a", count: 100))], within: limits) == nil)
    #expect(code([.string(String(repeating: "a", count: 101))], within: limits) == .tooLarge)
    #expect(code([.bytes([UInt8](repeating: 0, count: 101))], within: limits) == .tooLarge)
    #expect(code((0..<11).map { .byte($0) }, within: limits) == .tooLarge)
    #expect(code([.variant(.variant(.byte(1)))], within: limits) == nil)
    #expect(code([.variant(.variant(.variant(.byte(1))))], within: limits) == .tooLarge)
  }

  @Test("a value that no message can hold is refused")
  func invalid() {
    #expect(code([.string("a\u{0}b")]) == .invalidValue)
    #expect(code([.signature("a")]) == .invalidValue)
    #expect(code([.structure([])]) == .invalidValue)
    #expect(code([.array(of: "s", [.byte(1)])]) == .invalidValue)
    #expect(code([.dictionary(key: "v", value: "s", [])]) == .invalidValue)
    #expect(
      code([.dictionary(key: "s", value: "v", [BusEntry(key: .string("a"), value: .string("b"))])])
        == .invalidValue)
  }

  @Test("only Unix sockets are connected to")
  func addresses() throws {
    #expect(
      try BusAddress.session.text(environment: ["XDG_RUNTIME_DIR": "/run/user/1000"])
        == "unix:path=/run/user/1000/bus")
    #expect(try BusAddress.session.text(environment: ["XDG_RUNTIME_DIR": "/a b"]) == "unix:path=/a%20b/bus")
    #expect(try BusAddress.system.text(environment: [:]) == "unix:path=/run/dbus/system_bus_socket")
    #expect(throws: BusError.self) { try BusAddress.session.text(environment: [:]) }
    for text in ["unixexec:path=/bin/sh", "autolaunch:", "tcp:host=a", "", "unix:path=/a;unixexec:path=/b"] {
      #expect(throws: BusError.self) { try BusAddress.address(text).text(environment: [:]) }
    }
  }

  @Test("a match names a sender, and nothing can leave its quotes")
  func rules() {
    let match = BusMatch(
      sender: "org.freedesktop.UPower", .signals(path: "/a", interface: "b.c", member: "D"))
    #expect(
      match.rule == "type='signal',sender='org.freedesktop.UPower',path='/a',interface='b.c',member='D'")
    #expect(BusMatch(sender: "a.b", .signals(member: "x',type='error")).rule == "type='signal',sender='a.b'")
    #expect(BusMatch(sender: "a.b", .none).rule == nil)
    #expect(match.includes("/a", "b.c", "D"))
    #expect(!match.includes("/a/b", "b.c", "D"))
    #expect(BusMatch(sender: "a.b", .signals(below: "/a")).includes("/a/b", "b.c", "D"))
    #expect(!BusMatch(sender: "a.b", .signals(below: "/a")).includes("/ab", "b.c", "D"))
  }
}
