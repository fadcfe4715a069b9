import Commerce
import CoreTypes
import Crypto
import Dispatch
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import ContentDelivery

@Suite("Meters of many grants")
struct MeterRegistryTests {
  private let clock = ManualMonotonicClock()
  private let registry: MeterRegistry

  init() {
    registry = MeterRegistry(timer: clock)
  }

  private func meter(_ number: UInt64, device: UInt64? = nil, content: SHA256Digest = .of([1])) -> GrantMeter
  {
    registry.meter(for: DeliveryHandle(high: 0, low: number), device: device ?? number, content: content)
  }

  @Test("of 100,000 grants no lock covers more than a hundredth, so that no loop waits for all of them")
  func shelves() {
    for number in 0..<100_000 as Range<UInt64> { _ = meter(number, device: number / 2) }
    #expect(registry.longestShelf < 1000)
    #expect(registry.all { _ in true }.count == 100_000)
  }

  @Test("grants of one device share its meter, and are drained together by package, wherever they lie")
  func devices() {
    let meters = (0..<100).map { meter($0, device: 7, content: .of([UInt8($0 % 2)])) }
    #expect(Set(meters.map { ObjectIdentifier($0.device) }).count == 1)
    for meter in meters { meter.didSend(10) }
    #expect(meters[0].device.rate.total == 1000)
    let drained = registry.drain(content: .of([0]), device: 7).drained
    #expect(drained.count == 50 && drained.allSatisfy { $0.bytes == ByteCount(10) })
    #expect(registry.drain(content: .of([0]), device: 8).drained.isEmpty)
    let others = registry.drain()
    #expect(others.count == 50)
    // Bytes that could not be written down are handed out again.
    registry.restore(others)
    #expect(registry.drain().count == 50)
    #expect(registry.total == ByteCount(1000))
  }

  @Test(
    "a grant that no connection holds is forgotten after a minute with its device, unless it is being recorded"
  )
  func forgetting() {
    let device = Weak(object: meter(1).device)
    let recorded = Weak(object: meter(2))
    recorded.object?.didSend(5)
    let held = meter(3)
    let sent = registry.drain()
    #expect(sent.count == 1)
    for _ in 0..<3 {
      clock.advance(by: MeterRegistry.retention + .seconds(1))
      _ = registry.drain()
    }
    #expect(device.object == nil)
    #expect(recorded.object != nil)
    #expect(registry.meter(for: held.handle, device: 3, content: held.content) === held)
    registry.confirm(sent)
    _ = registry.drain()
    #expect(recorded.object == nil)
    #expect(registry.total == ByteCount(5))
  }

  private struct Weak<Object: AnyObject> {
    weak var object: Object?
  }

  /// A ticket of which only the cache knows, as it is once the connection that brought it has gone.
  private func remember(_ text: [UInt8], _ meter: GrantMeter, of package: OpenPackage, in cache: TicketCache)
  {
    var ticket = VerifiedTicket()
    for index in 0..<72 { ticket.ticket[index] = text[index] }
    ticket.expiry = .max
    ticket.package = package
    ticket.meter = meter
    cache.remember(ticket, for: text.span)
  }

  private func openPackage(in directory: TemporaryDirectory) throws -> OpenPackage {
    let file = try FileDescriptor.open(directory.path("content"), .readWrite, options: .create)
    return OpenPackage(digest: .of([1]), file: try SharedDescriptor(file), mediaType: "application/zip")
  }

  @Test("what is sent while a loop remembers, lets go and remembers again is recorded to the last byte")
  func forgottenMeanwhile() throws {
    let directory = try TemporaryDirectory()
    let package = try openPackage(in: directory)
    let (sent, recorded, calls) = (Locked<Int64>(0), Locked<Int64>(0), Locked(0))
    registry.releaseIdle { calls.withLock { $0 += 1 } }
    for number in 0..<500 as Range<UInt64> {
      let cache = TicketCache()
      let text = (0..<72).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) }
      remember(text, meter(number), of: package, in: cache)
      _ = registry.drain()
      clock.advance(by: MeterRegistry.retention + .seconds(1))
      DispatchQueue.concurrentPerform(iterations: 2) { worker in
        if worker == 0 {
          for _ in 0..<2 {
            for entry in registry.drain() { recorded.withLock { $0 += entry.bytes.rawValue } }
          }
          return
        }
        for turn in 0..<100 {
          if turn % 3 == 0 { cache.removeAll() }
          let known = cache.ticket(text.span, for: package.digest, now: 0, generation: 0)?.meter
          let meter = known ?? meter(number)
          if known == nil { remember(text, meter, of: package, in: cache) }
          meter.didSend(1)
          sent.withLock { $0 += 1 }
        }
      }
      for entry in registry.drain() { recorded.withLock { $0 += entry.bytes.rawValue } }
    }
    #expect(sent.current == 50_000)
    #expect(sent.current == recorded.current)
    #expect(calls.current > 0)
  }

  @Test("a meter and a package that only a loop remembers are let go after a quiet minute, by one call")
  func remembered() throws {
    let directory = try TemporaryDirectory()
    let cache = TicketCache()
    let calls = Locked(0)
    registry.releaseIdle {
      calls.withLock { $0 += 1 }
      cache.removeAll()
    }
    let text = [UInt8](repeating: 7, count: 72)
    let forgotten = Weak(object: meter(1))
    let closed: Weak<OpenPackage>
    do {
      let package = try openPackage(in: directory)
      closed = Weak(object: package)
      remember(text, try #require(forgotten.object), of: package, in: cache)
    }
    let held = meter(2)
    let sending = meter(3)
    sending.didBegin()
    _ = registry.drain()
    clock.advance(by: MeterRegistry.retention)
    _ = registry.drain()
    #expect(calls.current == 0 && forgotten.object != nil && closed.object != nil)
    clock.advance(by: .seconds(1))
    for _ in 0..<2 { _ = registry.drain() }
    #expect(calls.current == 1 && forgotten.object == nil && closed.object == nil)
    #expect(cache.ticket(text.span, for: .of([1]), now: 0, generation: 0) == nil)
    // One that is held all the same, and one by which a body is on its way, are kept.
    #expect(registry.meter(for: held.handle, device: 2, content: held.content) === held)
    #expect(registry.meter(for: sending.handle, device: 3, content: sending.content) === sending)
    clock.advance(by: MeterRegistry.retention - .seconds(1))
    _ = registry.drain()
    #expect(calls.current == 1)
    clock.advance(by: .seconds(2))
    _ = registry.drain()
    #expect(calls.current == 2)
  }

  @Test("a withdrawn edition ends all its bodies by one call, however many grants there are")
  func withdrawal() {
    let revocations = RevocationList(meters: registry, generation: Generation())
    let calls = Locked<[Int]>([])
    revocations.abortBodies { meters in calls.withLock { $0.append(meters.count) } }
    let meters = (0..<1000).map { meter($0, content: .of([UInt8($0 % 2)])) }
    revocations.block(content: .of([0]))
    #expect(calls.current == [500])
    // It ends those that begin late, too.
    for meter in meters { meter.didBegin() }
    revocations.sweep(at: Timestamp(millisecondsSinceEpoch: 0))
    #expect(calls.current == [500, 500])
    revocations.revoke(grant: meters[1].handle)
    #expect(calls.current == [500, 500, 1])
  }

  @Test("thousands of refunds end their bodies by one call, which names no other grant")
  func refunds() {
    let revocations = RevocationList(meters: registry, generation: Generation())
    let calls = Locked<[Set<DeliveryHandle>]>([])
    revocations.abortBodies { meters in calls.withLock { $0.append(Set(meters.map(\.handle))) } }
    let handles = (0..<4000).map { meter($0, content: .of([0])).handle }
    revocations.enforce(handles.prefix(3000).map { ($0, true) })
    #expect(calls.current == [Set(handles.prefix(3000))])
    // Again, and of grants that nothing is sent for: no call. What is given back at once stays open.
    revocations.enforce(handles.prefix(10).map { ($0, true) })
    revocations.enforce([(handles[3500], true), (handles[3500], false)])
    #expect(calls.current.count == 1)
    #expect(revocations.reason(for: handles[3500], content: .of([0])) == nil)
    #expect(revocations.reason(for: handles[2999], content: .of([0])) == .entitlementRevoked)
    revocations.enforce(handles.map { ($0, false) })
    #expect(revocations.reason(for: handles[2999], content: .of([0])) == nil)
  }

  @Test("what a policy has closed is remembered as long as there may be a ticket for it")
  func closed() throws {
    let revocations = RevocationList(meters: registry, generation: Generation())
    let magazine = try #require(ProductIdentifier("com.example.heroes"))
    let (first, second) = (meter(1, content: .of([0])).handle, meter(2, content: .of([0])).handle)
    func end(_ seconds: Int64) -> Timestamp { Timestamp(millisecondsSinceEpoch: seconds * 1000) }
    revocations.close(grants: [first], of: magazine, until: end(10))
    revocations.close(grants: [second], of: magazine, until: end(20), others: .unchanged)
    #expect(revocations.reason(for: first, content: .of([0])) == .ticketExpired)
    revocations.sweep(at: end(10))
    #expect(revocations.closedCount == 2)
    revocations.sweep(at: end(11))
    #expect(revocations.closedCount == 1)
    #expect(revocations.reason(for: second, content: .of([0])) == .ticketExpired)
    // Another look says what is closed, and nothing else is.
    revocations.close(grants: [first], of: magazine, until: end(30))
    #expect(revocations.reason(for: first, content: .of([0])) == .ticketExpired)
    #expect(revocations.reason(for: second, content: .of([0])) == nil)
  }
}
