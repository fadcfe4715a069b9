import CoreTypes
import Crypto
import Files
import HTTPClient
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import ObjectStore

/// The operations that Pullbox asks of a store (docs/object-stores.md), tried on a real one. PULLBOX_TEST_S3_ENDPOINT, _BUCKET and _KEY_FILE name it,
/// perhaps also _REGION; the bucket has to be there.
@Suite(.enabled(if: StoreUnderTest.present != nil), .serialized, .timeLimit(.minutes(5)))
struct ContractTests {
  private let client: HTTPClient
  private let store: ObjectStore
  private let tested: StoreUnderTest
  private let limit = Duration.seconds(60)

  init() throws {
    tested = try #require(StoreUnderTest.present)
    client = try HTTPClient()
    store = try ObjectStore(
      address: ObjectStoreAddress(
        location: tested.location, endpoint: tested.endpoint, region: tested.region),
      credentials: ObjectStoreCredentials(file: tested.keyFile), client: client)
  }

  private func put(_ key: ObjectKey, _ text: String) async throws {
    let bytes = Array(text.utf8)
    try await store.put(key, from: .bytes(bytes), digest: .of(bytes), within: limit)
  }

  @Test(
    "what was put is there, whole and in ranges, until it is deleted",
    arguments: ["packages/ab/cdef", "a b+c&d=e%20'(!)*~@:,;$", "ä/€/😀", "dots/.a/b..", "plus+"])
  func roundTrip(name: String) async throws {
    let key = ObjectKey(name)
    try await put(key, "abcdefghij")
    let attributes = try #require(try await store.head(key, within: limit))
    #expect(attributes.length == ByteCount(10))
    #expect(attributes.entityTag?.isEmpty == false)
    let age = SystemWallClock().now() - (try #require(attributes.lastModified))
    #expect(age < .seconds(3600) && age > .seconds(-3600))
    #expect(try await store.bytes(of: key, upTo: ByteCount(10), within: limit) == Array("abcdefghij".utf8))
    for range in [Int64(0)..<1, 3..<7, 9..<10, 0..<10] {
      let bytes = try await store.bytes(of: key, range: range, within: limit)
      #expect(bytes == Array(Array("abcdefghij".utf8)[Int(range.lowerBound)..<Int(range.upperBound)]))
    }
    for range in [Int64(9)..<11, 10..<11, 100..<200] {
      let error = await failure { () async throws(ObjectStoreError) in
        try await store.bytes(of: key, range: range, within: limit)
      }
      #expect(error?.code == .outOfRange)
    }
    try await put(key, "other")
    #expect(try await store.bytes(of: key, upTo: ByteCount(10), within: limit) == Array("other".utf8))
    try await store.delete(key, within: limit)
    #expect(try await store.head(key, within: limit) == nil)
    try await store.delete(key, within: limit)
    let error = await failure { () async throws(ObjectStoreError) in
      try await store.bytes(of: key, upTo: ByteCount(10), within: limit)
    }
    #expect(error?.code == .notFound)
  }

  @Test("an empty object is one")
  func empty() async throws {
    let key = ObjectKey("empty")
    try await put(key, "")
    #expect(try await store.head(key, within: limit)?.length == .zero)
    #expect(try await store.bytes(of: key, upTo: .zero, within: limit) == [])
    try await store.delete(key, within: limit)
  }

  @Test("a range of a file of 24 MiB is put with its digest, and comes back")
  func file() async throws {
    let directory = try TemporaryDirectory()
    let bytes = RandomBytes.make(24 << 20)
    try DurableFile.write(bytes.span, to: directory.path("file"))
    let range = Int64(1000)..<Int64(bytes.count - 1000)
    let part = Array(bytes[1000..<bytes.count - 1000])
    let key = ObjectKey("file")
    let file = try UploadFile(path: directory.path("file"))
    try await store.put(key, from: .file(file, range), digest: .of(part), within: limit)
    #expect(try await store.head(key, within: limit)?.length == ByteCount(part.count))
    let block = try await store.bytes(of: key, range: 8_388_608..<16_777_216, within: limit)
    #expect(block == Array(part[8_388_608..<16_777_216]))
    #expect(SHA256Digest.of(try await store.bytes(of: key, upTo: .mebibytes(24), within: limit)) == .of(part))
    try await store.delete(key, within: limit)
  }

  @Test("other bytes than the digest's are refused, and nothing is kept of them", arguments: [10, 2_000_000])
  func wrongDigest(length: Int) async throws {
    let key = ObjectKey("wrong")
    let bytes = [UInt8](repeating: 0x61, count: length)
    let error = await failure { () async throws(ObjectStoreError) in
      try await store.put(key, from: .bytes(bytes), digest: .of([]), within: limit)
    }
    #expect(error?.code == .digestMismatch)
    #expect(try await store.head(key, within: limit) == nil)
  }

  @Test("names are listed by pages, in order, each once")
  func list() async throws {
    let names = (0..<7).map { "list/\($0)" } + ["list/a b", "list/a&b<c>", "list/ä", "listed"]
    for name in names { try await put(ObjectKey(name), name) }
    let sorted = names.filter { $0.hasPrefix("list/") }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    var found: [ListedObject] = []
    var position: ListPosition?
    var pages = 0
    repeat {
      let page = try await store.list(prefix: "list/", after: position, limit: 3, within: limit)
      #expect(page.objects.count <= 3)
      found += page.objects
      position = page.next
      pages += 1
    } while position != nil && pages < 20
    #expect(found.map(\.key.rawValue) == sorted)
    #expect(found.map(\.attributes.length) == sorted.map { ByteCount($0.utf8.count) })
    #expect(pages >= 4)
    #expect(found.allSatisfy { $0.attributes.lastModified != nil })
    let rest = try await store.list(
      prefix: "list/", after: ListPosition(after: ObjectKey(sorted[8])), within: limit)
    #expect(rest.objects.map(\.key.rawValue) == Array(sorted[9...]))
    #expect(rest.next == nil)
    #expect(try await store.list(prefix: "none/", within: limit).objects.isEmpty)
    for name in names { try await store.delete(ObjectKey(name), within: limit) }
  }

  private func other(
    location: String? = nil, region: String? = nil, accessKey: String? = nil, secretKey: String? = nil,
    wallClock: any WallClock = SystemWallClock()
  ) throws -> ObjectStore {
    let own = try ObjectStoreCredentials(file: tested.keyFile)
    let credentials = try #require(
      ObjectStoreCredentials(
        accessKey: accessKey ?? own.accessKey, secretKey: secretKey ?? own.secretKey.revealed))
    return try ObjectStore(
      address: ObjectStoreAddress(
        location: location ?? tested.location, endpoint: tested.endpoint, region: region ?? tested.region),
      credentials: credentials, client: client, wallClock: wallClock)
  }

  @Test("another secret, and an unknown access key, are denied", arguments: [true, false])
  func wrongKey(isSecret: Bool) async throws {
    let other =
      try isSecret ? other(secretKey: "0123456789") : other(accessKey: "nobody:there", secretKey: "s")
    let key = ObjectKey("denied")
    let put = await failure { () async throws(ObjectStoreError) in
      try await other.put(key, from: .bytes([1]), digest: .of([1]), within: limit)
    }
    let head = await failure { () async throws(ObjectStoreError) in try await other.head(key, within: limit) }
    let list = await failure { () async throws(ObjectStoreError) in try await other.list(within: limit) }
    let read = await failure { () async throws(ObjectStoreError) in
      try await other.bytes(of: key, range: 0..<1, within: limit)
    }
    // A store may refuse a body before it has come: its answer counts, and not the connection that breaks.
    let body = [UInt8](repeating: 0x61, count: 1_000_000)
    let long = await failure { () async throws(ObjectStoreError) in
      try await other.put(key, from: .bytes(body), digest: .of(body), within: limit)
    }
    for error in [put, head, list, read, long] {
      #expect(error?.code == .denied, "\(String(describing: error))")
    }
  }

  @Test("a region that is not the bucket's is of no matter, or is told with the right one")
  func wrongRegion() async throws {
    let other = try other(region: "nowhere-1")
    let key = ObjectKey("region")
    let put = await failure { () async throws(ObjectStoreError) in
      try await other.put(key, from: .bytes([1]), digest: .of([1]), within: limit)
    }
    let list = await failure { () async throws(ObjectStoreError) in try await other.list(within: limit) }
    for error in [put, list] {
      guard let error else { continue }
      #expect(error.code == .wrongRegion)
      #expect(error.region == tested.region ?? ObjectStoreAddress.defaultRegion)
    }
    try await store.delete(key, within: limit)
  }

  @Test("a bucket that is not there is told apart from an object, but for HEAD")
  func noBucket() async throws {
    let name = "pullbox-none-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    let other = try other(location: "s3://\(name)")
    let key = ObjectKey("a")
    let put = await failure { () async throws(ObjectStoreError) in
      try await other.put(key, from: .bytes([1]), digest: .of([1]), within: limit)
    }
    let list = await failure { () async throws(ObjectStoreError) in try await other.list(within: limit) }
    let read = await failure { () async throws(ObjectStoreError) in
      try await other.bytes(of: key, range: 0..<1, within: limit)
    }
    for error in [put, list, read] { #expect(error?.code == .noSuchBucket, "\(String(describing: error))") }
    #expect(try await other.head(key, within: limit) == nil)
  }

  @Test("a clock that is wrong by an hour takes on the store's", arguments: [3600, -3600])
  func skew(seconds: Int) async throws {
    let wall = ManualWallClock(SystemWallClock().now() + .seconds(seconds))
    let key = ObjectKey("skewed")
    let first = try other(wallClock: wall)
    try await first.put(key, from: .bytes([1]), digest: .of([1]), within: limit)
    #expect(abs(first.clockOffset.inSeconds + Double(seconds)) < 60)
    let second = try other(wallClock: wall)
    #expect(try await second.head(key, within: limit)?.length == ByteCount(1))
    try await store.delete(key, within: limit)
  }

  @Test("a presigned address gives the object and its ranges without a key, until it is changed")
  func presigned() async throws {
    let key = ObjectKey("presigned/a b")
    try await put(key, "abcdefghij")
    let address = store.presignedAddress(of: key, seconds: 60)
    let whole = try await client.send(ClientRequest(url: address))
    #expect(whole.status == 200)
    #expect(whole.body == Array("abcdefghij".utf8))
    let part = try await client.send(ClientRequest(url: address, headers: [("Range", "bytes=3-6")]))
    #expect(part.status == 206)
    #expect(part.head.contentRange == ContentRange(range: 3..<7, completeLength: 10))
    #expect(part.body == Array("defg".utf8))
    let changed = try await client.send(
      ClientRequest(url: address.replacing("Expires=60", with: "Expires=61")))
    #expect(changed.status == 403)
    try await store.delete(key, within: limit)
  }
}
