import HTTPServer
import PullboxTesting
import Testing

@testable import RouteAccess

@Suite("Wrong operator keys")
struct WrongKeyTests {
  private func peer(_ host: String) throws -> PeerAddress {
    try #require(PeerAddress(host: host, port: 4711))
  }

  @Test("ten at once, then one a second, by address: the first 64 bits of version 6")
  func allowance() throws {
    let timer = ManualMonotonicClock()
    let wrong = WrongKeys(timer: timer)
    let address = try peer("2001:db8::7")
    for _ in 0..<10 { #expect(wrong.charge(address) == nil) }
    #expect(wrong.charge(address) == 1)
    #expect(try wrong.charge(peer("2001:db8::8")) == 1)
    #expect(try wrong.charge(peer("2001:db8:0:1::7")) == nil)
    #expect(try wrong.charge(peer("192.0.2.7")) == nil)
    timer.advance(by: .seconds(1))
    #expect(wrong.charge(address) == nil)
    #expect(wrong.charge(address) == 1)
    timer.advance(by: .seconds(3600))
    for _ in 0..<10 { #expect(wrong.charge(address) == nil) }
    #expect(wrong.charge(address) != nil)
  }

  @Test("an address is reported once a minute with its count, and forgotten when it is quiet")
  func reports() throws {
    let timer = ManualMonotonicClock()
    let wrong = WrongKeys(timer: timer)
    let address = try peer("192.0.2.7")
    let network = PeerNetwork("192.0.2.7")
    for _ in 0..<100 { _ = wrong.charge(address) }
    let first = wrong.takeReports()
    #expect(first == [WrongKeys.Report(network: network, count: 100)])
    for _ in 0..<50 { _ = wrong.charge(address) }
    timer.advance(by: .seconds(59))
    #expect(wrong.takeReports().isEmpty)
    timer.advance(by: .seconds(1))
    let second = wrong.takeReports()
    #expect(second == [WrongKeys.Report(network: network, count: 50)])
    // Counts that could not be written down are reported again.
    wrong.restore(second)
    #expect(wrong.takeReports() == second)
    timer.advance(by: .seconds(60))
    #expect(wrong.takeReports().isEmpty && wrong.addresses == 0)
  }

  @Test("a hundred thousand addresses take the room of a few hundred, and share what is left")
  func bounded() throws {
    let wrong = WrongKeys(timer: ManualMonotonicClock())
    for number in 0..<100_000 as Range<UInt64> {
      _ = wrong.charge(PeerAddress(family: .version4, port: 1, high: 0, low: number))
    }
    #expect(wrong.addresses == WrongKeys.maximumAddresses + 1)
    let reports = wrong.takeReports()
    #expect(reports.count == Int(WrongKeys.reportBurst))
    #expect(reports.reduce(0) { $0 + $1.count } == 100_000)
    #expect(reports.last?.network == nil)
  }

  @Test("where no one takes reports, addresses that have been quiet make room for others")
  func unreported() throws {
    let timer = ManualMonotonicClock()
    let wrong = WrongKeys(timer: timer, isReported: false)
    for number in 0..<1000 as Range<UInt64> {
      _ = wrong.charge(PeerAddress(family: .version4, port: 1, high: 0, low: number))
    }
    #expect(wrong.addresses == WrongKeys.maximumAddresses + 1)
    #expect(try wrong.charge(peer("192.0.2.7")) != nil)
    timer.advance(by: .seconds(3600))
    for _ in 0..<10 { #expect(try wrong.charge(peer("192.0.2.7")) == nil) }
    #expect(wrong.addresses == 1)
  }

  @Test("an attack from many addresses is a line a minute after the first ones, and no wrong key is lost")
  func lines() {
    let timer = ManualMonotonicClock()
    let wrong = WrongKeys(timer: timer)
    var (offered, reports) = (0, [WrongKeys.Report]())
    for _ in 0..<3600 {
      for _ in 0..<4 {
        _ = wrong.charge(
          PeerAddress(family: .version4, port: 1, high: 0, low: UInt64(offered % 256)))
        offered += 1
      }
      let found = wrong.takeReports()
      // Half of the time the database takes nothing.
      if offered % 8 == 0 { wrong.restore(found) } else { reports += found }
      timer.advance(by: .seconds(1))
    }
    #expect(reports.count <= Int(WrongKeys.reportBurst) + 60)
    #expect(reports.suffix(10).allSatisfy { $0.network == nil && $0.addresses > 1 })
    timer.advance(by: WrongKeys.reportInterval * Int(WrongKeys.reportBurst))
    reports += wrong.takeReports()
    #expect(reports.reduce(0) { $0 + $1.count } == offered)
  }
}
