package import Crypto
import HTTPServer
import PullboxAPI
package import ServiceAPI
import Synchronization

/// Counts the body bytes that the kernel accepted for a grant and for its device, on every loop at once.
package final class GrantMeter: BodyMeter {
  package let handle: DeliveryHandle
  /// The package that the grant opens.
  package let content: SHA256Digest
  package let device: DeviceMeter
  /// The tag that stands for the device in tickets.
  let deviceTag: UInt64
  package let rate: RateMeter
  /// The rates of which running bodies have their shares, in bytes a second; 0 for one that paces nothing.
  private let pacedRate = Atomic<Int64>(0)
  private let devicePacedRate = Atomic<Int64>(0)

  package init(
    handle: DeliveryHandle, content: SHA256Digest, device: DeviceMeter, deviceTag: UInt64, start: UInt64
  ) {
    rate = RateMeter(start: start)
    self.deviceTag = deviceTag
    self.handle = handle
    self.content = content
    self.device = device
  }

  package var hasBodies: Bool { rate.bodies > 0 }

  func didBegin() {
    rate.didBegin()
    device.rate.didBegin()
  }

  func didSend(_ count: Int) {
    rate.didSend(count)
    device.rate.didSend(count)
  }

  package func didEnd() {
    rate.didEnd()
    device.rate.didEnd()
  }

  func didSendAtOnce(_ count: Int) {
    rate.didSendAtOnce(count)
    device.rate.didSendAtOnce(count)
  }
}

/// Counts for all grants of one device.
package final class DeviceMeter: Sendable {
  package let rate: RateMeter

  package init(start: UInt64) {
    rate = RateMeter(start: start)
  }
}

extension GrantMeter {
  /// Whether the limits admit one more body.
  package enum Admission: Hashable, Sendable {
    /// It may begin now; nil if it need not be paced.
    case begin(bytesPerSecond: UInt64?)
    /// It may not begin before so many nanoseconds have passed.
    case wait(nanoseconds: UInt64)
  }

  /// The delay for a client that has as many bodies running as the limits allow; when one of them ends is not known.
  static let bodyDelay: UInt64 = 1_000_000_000

  /// Whether a body of `length` bytes may begin under these limits, and how fast. `now` is in nanoseconds of a monotonic
  /// clock and asked for only where a bucket needs it.
  package func admission(of length: Int64, under limits: RateLimits, now: () -> UInt64) -> Admission {
    let delay = delay(under: limits, now: now)
    guard delay == 0 else { return .wait(nanoseconds: delay) }
    return .begin(bytesPerSecond: pace(under: limits, length: length, now: now))
  }

  /// Nanoseconds until another body may begin under these limits; zero when it may begin now. `now` is in nanoseconds of
  /// a monotonic clock and asked for only where a bucket needs it.
  package func delay(under limits: RateLimits, now: () -> UInt64) -> UInt64 {
    guard rate.bodies < limits.bodiesPerGrant, device.rate.bodies < limits.bodiesPerDevice else {
      return Self.bodyDelay
    }
    let own = if let bucket = limits.grant { rate.delay(by: bucket, now: now) } else { UInt64(0) }
    guard own == 0, let bucket = limits.device else { return own }
    return device.rate.delay(by: bucket, now: now)
  }

  /// Bytes a second for a body of that length that begins now; nil if it need not be paced: the rates are too high for
  /// that, or the bursts have room for all of it. Otherwise the smaller of the shares that the other bodies leave it.
  package func pace(under limits: RateLimits, length: Int64, now: () -> UInt64) -> UInt64? {
    Self.note(limits.grant, in: pacedRate)
    Self.note(limits.device, in: devicePacedRate)
    let own = Self.share(of: limits.grant, meter: rate, length: length, now: now)
    let shared = Self.share(of: limits.device, meter: device.rate, length: length, now: now)
    return own.map { own in min(own, shared ?? own) } ?? shared
  }

  private static func share(
    of bucket: TokenBucket?, meter: borrowing RateMeter, length: Int64, now: () -> UInt64
  ) -> UInt64? {
    guard let bucket, bucket.rate <= RateLimits.largestPacedRate, meter.room(in: bucket, now: now()) < length
    else { return nil }
    return UInt64(max(1, bucket.rate / Int64(max(0, meter.bodies) + 1)))
  }

  private static func note(_ bucket: TokenBucket?, in rate: borrowing Atomic<Int64>) {
    let paced = bucket.map { $0.rate <= RateLimits.largestPacedRate ? $0.rate : 0 } ?? 0
    // A store would take the line from the other loops.
    if rate.load(ordering: .relaxed) != paced { rate.store(paced, ordering: .relaxed) }
  }

  /// The share of one of the bodies that run now, by the limits of the one that began last.
  package var pace: UInt64? {
    let own = Self.share(of: pacedRate, among: rate.bodies)
    let shared = Self.share(of: devicePacedRate, among: device.rate.bodies)
    return own.map { own in min(own, shared ?? own) } ?? shared
  }

  private static func share(of rate: borrowing Atomic<Int64>, among bodies: Int) -> UInt64? {
    let rate = rate.load(ordering: .relaxed)
    return rate > 0 ? UInt64(max(1, rate / Int64(max(1, bodies)))) : nil
  }
}
