import AgentRecords
import Glibc
import SystemCalls
import Testing

@testable import MachineConditionSources

@Suite struct NetworkReadingTests {
  private static let link = Netlink.link(2, "eth0", flags: 0x1_0041)

  @Test("three answers make a table, and the last of them ends the reading") func whole() throws {
    var reading = NetworkReading()
    #expect(reading.question == .init(kind: .links, sequence: 1))
    #expect(try reading.take(Self.link + Netlink.done(1)))
    #expect(reading.question == .init(kind: .addresses, sequence: 2))
    #expect(try reading.take(Netlink.address(2, [192, 0, 2, 7])))
    #expect(try reading.take(Netlink.done(2)))
    #expect(reading.question == .init(kind: .routes, sequence: 3))
    #expect(try reading.take(Netlink.done(3)))
    #expect(reading.question == nil && reading.table.observation.way == .open)
  }

  @Test(
    "an answer that is refused is no table",
    arguments: [
      (EPERM, ConditionSourceError.Code.absent), (EACCES, .absent), (EOPNOTSUPP, .absent), (ENOMEM, .away),
    ])
  func refused(_ error: Int32, _ code: ConditionSourceError.Code) {
    for answer in [Netlink.refusal(1, error: error), Netlink.done(1, error: error)] {
      var reading = NetworkReading()
      let thrown = #expect(throws: ConditionSourceError.self) { try reading.take(answer) }
      #expect(thrown?.code == code && reading.question != nil)
    }
  }

  @Test("an answer that the kernel cannot give now, or that changed under it, is asked for again")
  func again()
    throws
  {
    var reading = NetworkReading()
    #expect(try !reading.take(Netlink.refusal(1, error: EBUSY)))
    reading = NetworkReading()
    #expect(try !reading.take(Netlink.message(3, flags: 0x12, sequence: 1, [0, 0, 0, 0])))
  }

  @Test("the end of another answer ends nothing") func stale() throws {
    var reading = NetworkReading()
    #expect(try reading.take(Netlink.done(7) + Netlink.refusal(0, error: EPERM)))
    #expect(reading.question == .init(kind: .links, sequence: 1))
  }
}
