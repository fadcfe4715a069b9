public import CoreTypes
public import HTTPClient
import ServiceRuntime
import Synchronization

/// A client of one bucket (or of the part of it below a prefix) of a store that speaks S3.
///
/// Every call has a time within which it ends, with its tries and the pauses between them. A try is sent again, signed anew, after a lost
/// connection, a silence, and the statuses and words by which stores ask for patience; pauses are random, from 100 ms on doubled up to
/// 5 s, and not shorter than the store wants. A request that the store refuses for its time is tried once more by the store's
/// clock. Nothing that comes from the store is believed: lengths and ranges are compared with what was asked for, and all that is read into
/// memory has a bound. ETags are text without a meaning, and lists may lack what was put a moment ago: ``head(_:within:)`` tells what
/// is there.
///
/// ```swift
/// let store = ObjectStore(address: address, credentials: try ObjectStoreCredentials(file: path), client: client)
/// let key = ObjectKey("packages/ab/cdef")
/// try await store.put(key, from: .file(file, 0..<length), digest: digest, within: .seconds(600))
/// try await store.get(key, range: 0..<8_388_608, within: .seconds(30), to: receiver)
/// let address = store.presignedAddress(of: key, seconds: 60)
/// ```
public final class ObjectStore: Sendable {
  /// The bucket and the store.
  public let address: ObjectStoreAddress
  /// The trust and the timeouts of requests.
  let configuration: ObjectStoreConfiguration
  /// The client that all requests go through.
  let client: HTTPClient
  /// The clock of tries and pauses.
  let clock: any MonotonicClock
  /// The time by which requests are signed.
  let time: StoreTime
  /// The keys, which may be replaced between two tries.
  let credentials: Mutex<ObjectStoreCredentials>

  /// Bytes of an object, at most: what stores take by one PUT.
  public static let maximumObjectLength = ByteCount.gibibytes(5)

  /// Sends nothing yet. `client` bounds the connections.
  public init(
    address: ObjectStoreAddress, credentials: ObjectStoreCredentials, client: HTTPClient,
    configuration: ObjectStoreConfiguration = ObjectStoreConfiguration(),
    clock: any MonotonicClock = SystemMonotonicClock(), wallClock: any WallClock = SystemWallClock()
  ) {
    self.address = address
    self.configuration = configuration
    self.client = client
    self.clock = clock
    time = StoreTime(wallClock)
    self.credentials = Mutex(credentials)
  }

  /// Signs with other keys from the next try on: for temporary ones, before they end.
  public func replaceCredentials(with credentials: ObjectStoreCredentials) {
    self.credentials.locked { $0 = credentials }
  }

  /// How far the store's clock is ahead of this machine's, as far as a refusal has told; zero before that.
  public var clockOffset: Duration { time.offset }

  /// An address by which any client that has it may read the object, ranges too, for `seconds` (1 to
  /// ``SignatureV4/longestLifetime``) from now on. It is a secret for that long. No request is sent.
  public func presignedAddress(of key: ObjectKey, seconds: Int) -> String {
    let path = PercentEncoding.path(address.path(of: key))
    return "\(address.scheme)://\(address.host)\(path)?\(presignedQuery(of: key, seconds: seconds))"
  }

  /// The part of a ``presignedAddress(of:seconds:)`` behind its question mark: for who knows the rest.
  public func presignedQuery(of key: ObjectKey, seconds: Int) -> String {
    let request = SignatureV4.Request(method: "GET", host: address.host, path: address.path(of: key))
    return signer.presignedQuery(
      for: request, seconds: min(max(1, seconds), SignatureV4.longestLifetime), at: time.now())
  }

  /// The signer with the keys of this moment.
  private var signer: SignatureV4 {
    SignatureV4(credentials: credentials.locked { $0 }, region: address.region)
  }

  /// A call as it goes over the wire, signed for now.
  func request(for call: StoreCall, within remaining: Duration) -> ClientRequest {
    let path = call.key.map(address.path(of:)) ?? address.bucketPath
    let fields = signer.fields(
      for: SignatureV4.Request(method: call.method, host: address.host, path: path, query: call.query),
      payload: call.payload, at: time.now())
    let query = call.query.isEmpty ? "" : "?\(PercentEncoding.query(call.query))"
    var request = ClientRequest(
      method: call.method, url: "\(address.scheme)://\(address.host)\(PercentEncoding.path(path))\(query)",
      headers: (call.headers + fields).map { ($0.name, $0.value) }, body: call.body)
    request.trust = configuration.trust
    request.connectTimeout = configuration.connectTimeout
    request.totalTimeout = remaining
    request.lowSpeed = ClientRequest.LowSpeedLimit(
      bytesPerSecond: ByteCount(1024),
      duration: call.body.length > .zero ? configuration.writeSilence : configuration.readSilence)
    request.maximumResponseLength = call.longestAnswer
    if call.longestAnswer != nil { request.receiveBufferLength = .kibibytes(16) }
    return request
  }
}

/// The settings of an ``ObjectStore``.
public struct ObjectStoreConfiguration: Sendable {
  /// The certificates that are trusted for `https`; nil for those that the client trusts.
  public var trust: ServerTrust?
  /// Until a connection is made, TLS included.
  public var connectTimeout: Duration = .seconds(5)
  /// A try that reads ends after so long with less than 1 KiB a second; a receiver's pauses do not count.
  public var readSilence: Duration = .seconds(15)
  /// The same of a try that sends a body, the store's own work before its answer included.
  public var writeSilence: Duration = .seconds(60)

  /// The defaults.
  public init() {}
}

/// The wall clock as the store sees it: this machine's, and what a refusal has told of the difference.
final class StoreTime: Sendable {
  /// This machine's clock.
  private let wallClock: any WallClock
  /// The store's time less this machine's.
  private let difference = Mutex(Duration.zero)

  /// A time without a difference, until a refusal tells one.
  init(_ wallClock: any WallClock) {
    self.wallClock = wallClock
  }

  /// The difference that a refusal has told.
  var offset: Duration { difference.locked { $0 } }

  /// The store's time, as far as it is known.
  func now() -> Timestamp { wallClock.now() + offset }

  /// Takes the store's date of this moment on; the way of the answer is the error.
  func takeOn(_ date: Timestamp) {
    let offset = date - wallClock.now()
    difference.locked { $0 = offset }
  }
}

/// A request of S3 before it is signed.
struct StoreCall: Sendable {
  /// The method in capitals.
  var method: String
  /// Nil for the bucket itself.
  var key: ObjectKey?
  /// The query, not encoded and in any order.
  var query: [(name: String, value: String)] = []
  /// Not signed: proxies may change them.
  var headers: [(name: String, value: String)] = []
  /// The body; a file is read while it is sent.
  var body = ClientRequest.Body.none
  /// The part of the body in the signature.
  var payload = SignatureV4.Payload.empty
  /// Nil for no bound but the receiver's.
  var longestAnswer: ByteCount? = .kibibytes(64)
}
