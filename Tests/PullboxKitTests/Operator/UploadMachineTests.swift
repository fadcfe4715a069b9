import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import Testing

@testable import PullboxOperatorKit

@Suite("What a tus client does next")
struct UploadMachineTests {
  private func machine(
    url: String? = nil, part: Int64 = .max, failures: Int = 3, jitter: Double = 0, seed: UInt64 = 1
  ) -> UploadMachine {
    UploadMachine(
      length: 100, url: url, partLength: part,
      backoff: Backoff(initial: .seconds(1), cap: .seconds(4), jitter: jitter), maximumFailures: failures,
      generator: SplitMix(seed: seed))
  }

  private static let lost = APICallError.unreachable(
    HTTPClientError(code: .connectionLost, message: "lost", isRetryable: true))

  @Test("a new upload is created and sent from its beginning")
  func new() {
    var machine = machine()
    #expect(machine.handle(.begun).text == "create")
    #expect(machine.handle(.created(url: "u")).text == "send u 0..<100")
    #expect(machine.handle(.sent(upTo: 100)).text == "done u")
  }

  @Test("a remembered upload goes on where the server says")
  func remembered() {
    var machine = machine(url: "u")
    #expect(machine.handle(.begun).text == "ask u")
    #expect(machine.handle(.stands(at: 40, length: 100)).text == "send u 40..<100")
  }

  @Test("a remembered upload that is whole is done without a byte")
  func complete() {
    var machine = machine(url: "u")
    #expect(machine.handle(.stands(at: 100, length: nil)).text == "done u")
  }

  @Test(
    "a remembered upload of another length, or beyond it, is not ours", arguments: [(50, 60), (101, 100)])
  func other(offset: Int, length: Int) {
    var machine = machine(url: "u")
    #expect(machine.handle(.stands(at: Int64(offset), length: Int64(length))).text == "create")
  }

  @Test("parts follow one another")
  func parts() {
    var machine = machine(part: 60)
    #expect(machine.handle(.created(url: "u")).text == "send u 0..<60")
    #expect(machine.handle(.sent(upTo: 60)).text == "send u 60..<100")
  }

  @Test("after a lost connection the server is asked, and only the rest is sent")
  func lostConnection() {
    var machine = machine()
    _ = machine.handle(.created(url: "u"))
    #expect(machine.handle(.failed(Self.lost)).text == "wait 1.0")
    #expect(machine.handle(.waited).text == "ask u")
    #expect(machine.handle(.stands(at: 30, length: 100)).text == "send u 30..<100")
  }

  @Test("failures wait longer and longer, and it gives up; progress starts the count again")
  func patience() {
    var machine = machine(failures: 2)
    _ = machine.handle(.created(url: "u"))
    #expect(machine.handle(.failed(Self.lost)).text == "wait 1.0")
    #expect(machine.handle(.failed(Self.lost)).text == "wait 2.0")
    _ = machine.handle(.stands(at: 10, length: 100))
    #expect(machine.handle(.failed(Self.lost)).text == "wait 1.0")
    #expect(machine.handle(.failed(Self.lost)).text == "wait 2.0")
    #expect(machine.handle(.failed(Self.lost)).text == "fail")
  }

  @Test("jitter takes up to its part of a delay, by the generator that was given, never of a Retry-After")
  func jitter() {
    func delay(_ seed: UInt64, _ error: APICallError = Self.lost) -> Duration? {
      var machine = machine(url: "u", jitter: 0.5, seed: seed)
      guard case .wait(let delay, _) = machine.handle(.failed(error)) else { return nil }
      return delay
    }
    let delays = (0..<50).map { delay($0) }
    #expect(delays.allSatisfy { $0.map { $0 >= .milliseconds(500) && $0 <= .seconds(1) } ?? false })
    #expect(Set(delays).count > 40)
    #expect(delay(7) == delay(7))
    #expect(delay(7, .problem(Problem(.uploadLocked, retryAfterSeconds: 7))) == .seconds(7))
  }

  @Test(
    "an offset that differs, a locked upload and bytes that did not arrive well lead to the question where it stands",
    arguments: [ProblemCode.uploadOffsetMismatch, .uploadLocked, .checksumMismatch])
  func conflict(code: ProblemCode) {
    var machine = machine(url: "u")
    _ = machine.handle(.stands(at: 0, length: 100))
    #expect(machine.handle(.failed(.problem(Problem(code)))).text == "wait 1.0")
    #expect(machine.handle(.waited).text == "ask u")
  }

  @Test("an upload whose time has passed begins anew") func expired() {
    var machine = machine(url: "u")
    #expect(machine.handle(.begun).text == "ask u")
    #expect(machine.handle(.failed(.problem(Problem(.uploadExpired)))).text == "create")
    #expect(machine.handle(.created(url: "v")).text == "send v 0..<100")
  }

  @Test("how long to wait is the server's to say")
  func retryAfter() {
    var machine = machine(url: "u")
    let locked = Problem(.uploadLocked, retryAfterSeconds: 7)
    #expect(machine.handle(.failed(.problem(locked))).text == "wait 7.0")
  }

  @Test("an upload that the server has forgotten begins anew, a bounded number of times")
  func forgotten() {
    var machine = machine(url: "u")
    for _ in 0..<3 {
      #expect(machine.handle(.failed(.problem(Problem(.uploadUnknown)))).text == "create")
      _ = machine.handle(.created(url: "v"))
    }
    #expect(machine.handle(.failed(.unexpectedResponse(status: 410, detail: ""))).text == "fail")
  }

  @Test(
    "what repeating does not change ends it",
    arguments: [
      ProblemCode.unauthorized, .forbidden, .uploadTooLarge, .uploadVersionUnsupported, .outOfSpace,
    ])
  func permanent(code: ProblemCode) {
    var machine = machine(url: "u")
    #expect(machine.handle(.failed(.problem(Problem(code)))).text == "fail")
  }
}

extension UploadMachine.Action {
  fileprivate var text: String {
    switch self {
    case .create: "create"
    case .ask(let url): "ask \(url)"
    case .send(let url, let range): "send \(url) \(range)"
    case .wait(let delay, _): "wait \(delay.inSeconds)"
    case .done(let url): "done \(url)"
    case .fail: "fail"
    }
  }
}
