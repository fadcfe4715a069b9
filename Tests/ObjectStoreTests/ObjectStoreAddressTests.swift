import ObjectStore
import Testing

struct ObjectStoreAddressTests {
  @Test("a location, an endpoint and a region are an address")
  func parts() throws {
    let address = try ObjectStoreAddress(
      location: "s3://comics/production/eu", endpoint: "HTTPS://Store.Example:8443/", region: "eu-central-1")
    #expect(address.bucket == "comics")
    #expect(address.prefix == "production/eu/")
    #expect(address.region == "eu-central-1")
    #expect(address.isPathStyle)
    #expect(address.scheme == "https")
    #expect(address.host == "store.example:8443")
    #expect(address.bucketPath == "/comics/")
    #expect(address.path(of: ObjectKey("a/b c")) == "/comics/production/eu/a/b c")
    #expect("\(address)" == "s3://comics/production/eu at https://store.example:8443")
  }

  @Test("without an endpoint the store is AWS, and the bucket a part of the host's name")
  func aws() throws {
    let address = try ObjectStoreAddress(location: "s3://comics", region: "eu-central-1")
    #expect(address.host == "comics.s3.eu-central-1.amazonaws.com")
    #expect(address.scheme == "https")
    #expect(address.prefix == "")
    #expect(address.path(of: ObjectKey("a")) == "/a")
    #expect(address.bucketPath == "/")
    #expect(try ObjectStoreAddress(location: "s3://comics").region == "us-east-1")
    // No certificate of AWS covers a label more.
    let dotted = try ObjectStoreAddress(location: "s3://comics.example")
    #expect(dotted.host == "s3.us-east-1.amazonaws.com")
    #expect(dotted.path(of: ObjectKey("a")) == "/comics.example/a")
  }

  @Test("path style is the endpoint's matter unless it is given")
  func pathStyle() throws {
    #expect(
      try ObjectStoreAddress(location: "s3://comics", endpoint: "https://store.example", pathStyle: false)
        .host
        == "comics.store.example")
    #expect(
      try ObjectStoreAddress(location: "s3://comics", pathStyle: true).host == "s3.us-east-1.amazonaws.com")
  }

  @Test(
    "the port of the scheme is left out, as clients leave it out of Host (RFC 9110 section 7.2)",
    arguments: [
      ("http://store.example:80", "store.example"), ("https://store.example:443", "store.example"),
      ("http://store.example:443", "store.example:443"), ("http://127.0.0.1:8480", "127.0.0.1:8480"),
      ("http://[::1]:8480", "[::1]:8480"), ("http://[::1]", "[::1]"),
    ])
  func ports(endpoint: String, host: String) throws {
    #expect(try ObjectStoreAddress(location: "s3://comics", endpoint: endpoint).host == host)
  }

  @Test(
    "a location that is none is refused",
    arguments: [
      "", "comics", "s3:/comics", "S3://comics", "https://comics", "s3://", "s3://ab", "s3://Comics",
      "s3://co_mics",
      "s3://-comics", "s3://comics-", "s3://co..mics", "s3://.comics", "s3://comics.-a", "s3://127.0.0.1",
      "s3://" + String(repeating: "a", count: 64), "s3://comics?x", "s3://comics/..", "s3://comics/a/../b",
      "s3://comics/./a", "s3://comics//a", "s3://comics/a//", "s3://comics/a?b", "s3://comics/a#b",
      "s3://comics/a b",
      "s3://comics/%41", "s3://comics/ä", "s3://comics//",
      "s3://comics/" + String(repeating: "a", count: 512),
    ])
  func locations(text: String) throws {
    let error = try #require(throws: ObjectStoreAddressError.self) { try ObjectStoreAddress(location: text) }
    #expect(error.part == .location)
  }

  @Test(
    "an endpoint that is none is refused",
    arguments: [
      "", "store.example", "ftp://store.example", "http://", "http:///", "http://store.example/path",
      "http://store.example?x", "http://store.example/?x", "http://store.example#x",
      "http://user:pw@store.example",
      "http://store.example:", "http://store.example:0", "http://store.example:65536",
      "http://store.example:+1",
      "http://store example", "http://store..example", "http://[::1", "http://[1]", "http://störe.example",
    ])
  func endpoints(text: String) throws {
    let error = try #require(throws: ObjectStoreAddressError.self) {
      try ObjectStoreAddress(location: "s3://comics", endpoint: text)
    }
    #expect(error.part == .endpoint)
  }

  @Test("a bucket is no part of a numeric host", arguments: ["http://127.0.0.1:8480", "http://[::1]"])
  func numericHosts(endpoint: String) throws {
    let error = try #require(throws: ObjectStoreAddressError.self) {
      try ObjectStoreAddress(location: "s3://comics", endpoint: endpoint, pathStyle: false)
    }
    #expect(error.part == .endpoint)
  }

  @Test(
    "a region that is none is refused",
    arguments: ["", "us east", "us/east", String(repeating: "a", count: 65)])
  func regions(text: String) throws {
    let error = try #require(throws: ObjectStoreAddressError.self) {
      try ObjectStoreAddress(location: "s3://comics", region: text)
    }
    #expect(error.part == .region)
  }

  @Test("a key has parts between slashes, none of them empty or of periods that lead elsewhere")
  func keys() {
    for text in [
      "a", "packages/ab/cdef", "a b", "ä/€", "...", "a/.b/c..", "a%2Fb", String(repeating: "a", count: 512),
    ] {
      #expect(ObjectKey(rawValue: text)?.rawValue == text)
    }
    for text in [
      "", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a\u{0}", "a\nb", "a\u{7F}",
      String(repeating: "a", count: 513), String(repeating: "ä", count: 257),
    ] {
      #expect(ObjectKey(rawValue: text) == nil)
    }
  }
}
