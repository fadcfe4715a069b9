import CoreTypes
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import ContentLibrary
@testable import DownloadAgent

/// The times at which a download counts as read, and as wanted now.
@Suite struct DownloadReadingTests {
  @Test(
    "a download is hastened until a minute after the last request that may, and is read until one after the last"
  )
  func haste() throws {
    let clock = ManualMonotonicClock()
    let reading = DownloadReading(
      DownloadReading.Standing(status: try BusContractTests.download(), source: .pending),
      changes: ChangeSignal(), clock: clock, wakeUp: AsyncSignal())
    var watching = [reading.begin()]
    #expect(!reading.isHastened && reading.idleTime == nil && reading.hasteIdleTime == nil)
    var hastening = [reading.begin(), reading.begin()]
    #expect(hastening.map { $0.hasten() } == [true, false], "the first makes it so")
    #expect(!hastening[0].hasten() && reading.isHastened)
    hastening.removeFirst()
    #expect(reading.hasteIdleTime == nil && !reading.endHaste(idleFor: .zero), "one is open")
    hastening.removeAll()
    clock.advance(by: .seconds(59))
    #expect(reading.hasteIdleTime == .seconds(59) && !reading.endHaste(idleFor: .seconds(60)))
    #expect(reading.isHastened && reading.idleTime == nil)
    clock.advance(by: .seconds(1))
    #expect(reading.endHaste(idleFor: .seconds(60)) && !reading.isHastened)
    #expect(!reading.endHaste(idleFor: .zero) && reading.hasteIdleTime == nil, "it ends once")
    watching.removeAll()
    #expect(reading.idleTime == .zero)
    let again = reading.begin()
    #expect(again.hasten() && reading.isHastened)
  }
}
