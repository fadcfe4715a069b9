import Crypto
import HTTPServer

/// Counts the body bytes that the kernel took for a grant, on every loop at once, for its device as well.
final class GrantMeter: BodyMeter {
  let grant: Ticket.InlineGrant
  /// The one package that the grant is about.
  let content: SHA256Digest
  let device: DeviceMeter
  let rate: RateMeter

  init(grant: Ticket.InlineGrant, content: SHA256Digest, device: DeviceMeter, start: UInt64) {
    rate = RateMeter(start: start)
    self.grant = grant
    self.content = content
    self.device = device
  }

  var hasBodies: Bool { rate.bodies > 0 }

  func didBegin() {
    rate.didBegin()
    device.rate.didBegin()
  }

  func didSend(_ count: Int) {
    rate.didSend(count)
    device.rate.didSend(count)
  }

  func didEnd() {
    rate.didEnd()
    device.rate.didEnd()
  }

  func didSendAtOnce(_ count: Int) {
    rate.didSendAtOnce(count)
    device.rate.didSendAtOnce(count)
  }
}
