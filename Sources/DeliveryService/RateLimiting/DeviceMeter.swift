/// Counts for all grants of one device.
final class DeviceMeter: Sendable {
  let rate: RateMeter

  init(start: UInt64) {
    rate = RateMeter(start: start)
  }
}
