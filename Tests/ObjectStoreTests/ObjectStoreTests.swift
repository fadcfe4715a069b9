import CoreTypes
import Crypto
import Files
import HTTPClient
import PullboxTesting
import SystemCalls
import Testing

@testable import ObjectStore

/// Calls as they go over the wire, by the API reference of Amazon S3.
@Suite(.timeLimit(.minutes(2)))
struct ObjectStoreTests {
  private let key = ObjectKey("packages/ab/c d")
  private let emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  private func expectSigned(
    _ request: String, _ peer: ScriptedPeer, method: String,
    path: String = "/comics/production/packages/ab/c d",
    query: [(name: String, value: String)] = [], payload: SignatureV4.Payload = .empty
  ) throws {
    let signer = SignatureV4(credentials: testCredentials, region: "eu-central-1")
    let meant = SignatureV4.Request(method: method, host: "127.0.0.1:\(peer.port)", path: path, query: query)
    for (name, value) in signer.fields(for: meant, payload: payload, at: exampleDate) {
      #expect(field(name, of: request) == value)
    }
    #expect(field("Host", of: request) == "127.0.0.1:\(peer.port)")
  }

  @Test("PUT sends the bytes, signed with the digest that the caller gives")
  func put() async throws {
    let digest = SHA256Digest.of("Welcome".utf8)
    try await withStore([[.readRequest, answer("200 OK", fields: ["ETag: \"1\""])]]) { store, peer in
      try await store.put(key, from: .bytes(Array("Welcome".utf8)), digest: digest, within: .patience)
      let request = try #require(peer.requests.first)
      #expect(request.hasPrefix("PUT /comics/production/packages/ab/c%20d HTTP/1.1\r\n"))
      #expect(request.hasSuffix("\r\n\r\nWelcome"))
      #expect(field("Content-Length", of: request) == "7")
      #expect(field("Content-Type", of: request) == "application/octet-stream")
      #expect(field("x-amz-content-sha256", of: request) == digest.hexadecimal)
      try expectSigned(request, peer, method: "PUT", payload: .digest(digest))
    }
  }

  @Test("PUT sends a range of a file")
  func putFile() async throws {
    let directory = try TemporaryDirectory()
    let bytes = (0..<300_000).map { UInt8(0x61 + $0 % 26) }
    try DurableFile.write(bytes.span, to: directory.path("file"))
    let digest = SHA256Digest.of(bytes[1000..<299_000])
    try await withStore([[.readRequest, answer("200 OK")]]) { store, peer in
      let file = try UploadFile(path: directory.path("file"))
      try await store.put(key, from: .file(file, 1000..<299_000), digest: digest, within: .patience)
      let request = try #require(peer.requests.first)
      #expect(request.utf8.suffix(298_000).elementsEqual(bytes[1000..<299_000]))
      try expectSigned(request, peer, method: "PUT", payload: .digest(digest))
    }
  }

  @Test("a file that is shorter than its range is not asked for again")
  func shortFile() async throws {
    let directory = try TemporaryDirectory()
    try DurableFile.write([1, 2, 3].span, to: directory.path("file"))
    try await withStore([[.readRequest]]) { store, _ in
      let file = try UploadFile(path: directory.path("file"))
      let error = await failure { () async throws(ObjectStoreError) in
        try await store.put(key, from: .file(file, 0..<4), digest: .of([]), within: .patience)
      }
      #expect(error?.code == .unreadableSource)
    }
  }

  @Test("more than 5 GiB are refused before anything is sent")
  func tooLong() async throws {
    let directory = try TemporaryDirectory()
    try DurableFile.write([1].span, to: directory.path("file"))
    try await withStore([]) { store, peer in
      let file = try UploadFile(path: directory.path("file"))
      let error = await failure { () async throws(ObjectStoreError) in
        try await store.put(key, from: .file(file, 0..<5_368_709_121), digest: .of([]), within: .patience)
      }
      #expect(error?.code == .tooLarge)
      #expect(peer.connections == 0)
    }
  }

  @Test("HEAD tells length, ETag and date, and nothing is nil")
  func head() async throws {
    let fields = ["ETag: \"a-1\"", "Last-Modified: Fri, 24 May 2013 00:00:00 GMT", "x-amz-request-id: 1"]
    try await withStore([
      [.readRequest, answer("200 OK", fields: fields, length: 4_294_967_296)],
      [.readRequest, answer("404 Not Found", fields: ["x-amz-request-id: 1"], length: 200)],
      [.readRequest, answer("200 OK", length: 0)],
    ]) { store, peer in
      let attributes = try await store.head(key, within: .patience)
      #expect(
        attributes
          == ObjectAttributes(length: .gibibytes(4), entityTag: "\"a-1\"", lastModified: exampleDate))
      #expect(try await store.head(key, within: .patience) == nil)
      #expect(try await store.head(key, within: .patience) == ObjectAttributes(length: .zero))
      let request = try #require(peer.requests.first)
      #expect(request.hasPrefix("HEAD /comics/production/packages/ab/c%20d HTTP/1.1\r\n"))
      try expectSigned(request, peer, method: "HEAD")
    }
  }

  @Test("DELETE succeeds for what is there and for what is not")
  func delete() async throws {
    try await withStore([
      [.readRequest, .send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")],
      [.readRequest, refusal("404 Not Found", "NoSuchKey")],
      [.readRequest, refusal("404 Not Found", "NoSuchBucket")],
    ]) { store, peer in
      try await store.delete(key, within: .patience)
      try await store.delete(key, within: .patience)
      let error = await failure { () async throws(ObjectStoreError) in
        try await store.delete(key, within: .patience)
      }
      #expect(error?.code == .noSuchBucket)
      let request = try #require(peer.requests.first)
      #expect(request.hasPrefix("DELETE /comics/production/packages/ab/c%20d HTTP/1.1\r\n"))
      try expectSigned(request, peer, method: "DELETE")
    }
  }

  @Test("a list is asked for by pages, below the address's prefix")
  func list() async throws {
    let first = """
      <?xml version="1.0" encoding="UTF-8"?>
      <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>comics</Name><Prefix>production/a/</Prefix>
      <KeyCount>2</KeyCount><MaxKeys>2</MaxKeys><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
      <Contents><Key>production/a/1</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified>
      <ETag>&quot;e&quot;</ETag><Size>7</Size><StorageClass>STANDARD</StorageClass></Contents>
      <Contents><Key>production/a/2+3%26</Key><Size>0</Size></Contents></ListBucketResult>
      """
    let last = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
    try await withStore([
      [.readRequest, answer("200 OK", body: first)], [.readRequest, answer("200 OK", body: last)],
    ]) { store, peer in
      let page = try await store.list(prefix: "a/", limit: 2, within: .patience)
      #expect(
        page.objects == [
          ListedObject(
            key: ObjectKey("a/1"),
            attributes: ObjectAttributes(length: ByteCount(7), entityTag: "\"e\"", lastModified: exampleDate)),
          ListedObject(key: ObjectKey("a/2 3&"), attributes: ObjectAttributes(length: .zero)),
        ])
      #expect(page.unnamedCount == 0)
      #expect(page.next == ListPosition(after: ObjectKey("a/2 3&")))
      let end = try await store.list(prefix: "a/", after: page.next, within: .patience)
      #expect(end.objects.isEmpty)
      #expect(end.next == nil)
      let requests = peer.requests
      #expect(
        requests[0].hasPrefix(
          "GET /comics/?encoding-type=url&list-type=2&max-keys=2&prefix=production%2Fa%2F HTTP/1.1\r\n"))
      #expect(
        requests[1].hasPrefix(
          "GET /comics/?encoding-type=url&list-type=2&max-keys=1000&prefix=production%2Fa%2F"
            + "&start-after=production%2Fa%2F2%203%26 HTTP/1.1\r\n"))
      try expectSigned(
        requests[0], peer, method: "GET", path: "/comics/",
        query: [
          ("list-type", "2"), ("prefix", "production/a/"), ("max-keys", "2"), ("encoding-type", "url"),
        ])
    }
  }

  @Test("a page has 1 to 1000 names", arguments: [0, -1, 1001])
  func pageLength(count: Int) async throws {
    try await withStore([]) { store, _ in
      let error = await failure { () async throws(ObjectStoreError) in
        try await store.list(limit: count, within: .patience)
      }
      #expect(error?.code == .invalidRequest)
    }
  }

  @Test("a presigned address is that of the object, with the signature in its query")
  func presigned() async throws {
    try await withStore([]) { store, peer in
      let signer = SignatureV4(credentials: testCredentials, region: "eu-central-1")
      let request = SignatureV4.Request(
        method: "GET", host: "127.0.0.1:\(peer.port)", path: "/comics/production/packages/ab/c d")
      let query = signer.presignedQuery(for: request, seconds: 60, at: exampleDate)
      #expect(
        store.presignedAddress(of: key, seconds: 60)
          == "http://127.0.0.1:\(peer.port)/comics/production/packages/ab/c%20d?\(query)")
      #expect(store.presignedAddress(of: key, seconds: 0).contains("&X-Amz-Expires=1&"))
      #expect(store.presignedAddress(of: key, seconds: 604_801).contains("&X-Amz-Expires=604800&"))
    }
  }

  @Test("keys that were replaced sign from then on")
  func replacedCredentials() async throws {
    let other = try #require(
      ObjectStoreCredentials(accessKey: "other", secretKey: "s", sessionToken: "temporary"))
    try await withStore([[.readRequest, answer("200 OK")]]) { store, peer in
      store.replaceCredentials(with: other)
      _ = try await store.head(key, within: .patience)
      let request = try #require(peer.requests.first)
      #expect(field("x-amz-security-token", of: request) == "temporary")
      #expect(field("Authorization", of: request)?.contains("Credential=other/20130524/") == true)
    }
  }

  @Test("nothing that a store prints or throws has the secret")
  func secrecy() async throws {
    try await withStore([[.readRequest, refusal("403 Forbidden", "AccessDenied")]]) { store, _ in
      let error = await failure { () async throws(ObjectStoreError) in
        try await store.head(key, within: .patience)
      }
      var dumped = ""
      dump(store, to: &dumped)
      dump(error, to: &dumped)
      #expect(!dumped.contains("hidden"))
      #expect(!dumped.contains("Signature="))
    }
  }
}
