import CoreTypes
import Crypto
import HTTPClient
import PullboxTesting
import ServiceRuntime
import Synchronization
import SystemCalls

@testable import ObjectStore

/// The time of AWS's examples.
let exampleDate = Timestamp(millisecondsSinceEpoch: 1_369_353_600_000)

/// Clocks that a test moves.
struct ManualClocks {
  let clock = ManualMonotonicClock()
  let wall = ManualWallClock(exampleDate)
}

/// Runs `body` with a client of `s3://comics/production` in a store that follows `scripts`; both are gone afterwards, however `body` ends.
func withStore<Value>(
  _ scripts: [[ScriptedPeer.Step]], clocks: ManualClocks? = nil,
  wall: ManualWallClock = ManualWallClock(exampleDate),
  configuration: ObjectStoreConfiguration = ObjectStoreConfiguration(),
  _ body: (ObjectStore, ScriptedPeer) async throws -> Value
) async throws -> Value {
  let peer = try ScriptedPeer(scripts)
  let thread = BlockingThread(name: "store")
  let client = try HTTPClient()
  let store = try ObjectStore(
    address: ObjectStoreAddress(
      location: "s3://comics/production", endpoint: peer.url, region: "eu-central-1"),
    credentials: testCredentials, client: client, configuration: configuration,
    clock: clocks.map { $0.clock as any MonotonicClock } ?? SystemMonotonicClock(),
    wallClock: clocks?.wall ?? wall)
  async let served: Void = thread.run { peer.serve() }
  do {
    let value = try await body(store, peer)
    peer.close()
    await served
    client.shutDown()
    return value
  } catch {
    peer.close()
    await served
    throw error
  }
}

let testCredentials: ObjectStoreCredentials = {
  guard let credentials = ObjectStoreCredentials(accessKey: "test:tester", secretKey: "hidden") else {
    preconditionFailure("these are keys")
  }
  return credentials
}()

/// How a call fails; nil when it does not.
func failure<Value>(_ body: () async throws(ObjectStoreError) -> Value) async -> ObjectStoreError? {
  do throws(ObjectStoreError) {
    _ = try await body()
    return nil
  } catch {
    return error
  }
}

/// A whole answer, whose connection ends with it.
func answer(
  _ status: String, fields: [String] = [], body: String = "", length: Int? = nil,
  date: Timestamp? = exampleDate
) -> ScriptedPeer.Step {
  var lines = ["HTTP/1.1 \(status)", "Connection: close", "Content-Length: \(length ?? body.utf8.count)"]
  if let date { lines.append("Date: \(fixedDate(date))") }
  return .send((lines + fields).joined(separator: "\r\n") + "\r\n\r\n" + body)
}

/// A refusal with S3's document.
func refusal(_ status: String, _ code: String, rest: String = "", date: Timestamp? = exampleDate)
  -> ScriptedPeer.Step
{
  let body =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>\(code)</Code>\(rest)<RequestId>1</RequestId></Error>"
  return answer(status, fields: ["Content-Type: application/xml"], body: body, date: date)
}

/// An IMF-fixdate (RFC 9110 §5.6.7).
func fixedDate(_ date: Timestamp) -> String {
  let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
  let parts = date.utc
  return "\(days[parts.weekday]), \(two(parts.day)) \(months[parts.month - 1]) \(parts.year) "
    + "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second)) GMT"
}

/// The value of a field of a request as it came over the wire.
func field(_ name: String, of request: String) -> String? {
  for line in request.split(separator: "\r\n", omittingEmptySubsequences: false) {
    if line.isEmpty { return nil }
    let parts = line.split(separator: ":", maxSplits: 1)
    if parts.count == 2, parts[0].lowercased() == name.lowercased() {
      return String(parts[1].drop { $0 == " " })
    }
  }
  return nil
}

extension Duration {
  /// Long enough for any test that does not wait for it.
  static let patience = Duration.seconds(120)
}

/// Keeps what it gets, and does with it what a test wants.
final class RecordingObjectReceiver: ObjectReceiver {
  private struct State {
    var bytes: [UInt8] = []
    var parts: [ObjectPart] = []
    var handles: [TransferHandle] = []
    var calls = 0
  }

  private let state = Mutex(State())
  private let decide: @Sendable (Int) -> BodyDecision
  /// Happens with the first byte that is consumed.
  let firstByte = Event()
  /// Happens when it has decided to pause.
  let paused = Event()

  /// `decide` gets the number of the call, from 1.
  init(decide: @escaping @Sendable (Int) -> BodyDecision = { _ in .consumed }) {
    self.decide = decide
  }

  var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }
  var parts: [ObjectPart] { state.withLock { $0.parts } }
  var handles: [TransferHandle] { state.withLock { $0.handles } }

  func start(_ handle: TransferHandle) { state.withLock { $0.handles.append(handle) } }

  func receive(_ part: ObjectPart) { state.withLock { $0.parts.append(part) } }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    let decision = state.withLock { state in
      state.calls += 1
      let decision = decide(state.calls)
      if decision == .consumed {
        unsafe bytes.withUnsafeBufferPointer { unsafe state.bytes.append(contentsOf: $0) }
      }
      return decision
    }
    if decision == .consumed { firstByte.happen() }
    if decision == .pause { paused.happen() }
    return decision
  }
}
