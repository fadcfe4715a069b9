import CoreTypes
import Crypto
import FoundationEssentials
import PullboxTesting
import ServiceRuntime
import Testing

@testable import ObjectStore

/// The examples of "Authenticating Requests: Using the Authorization Header" and "Using Query Parameters" in AWS's documentation of S3, and
/// requests that another implementation has signed.
struct SignatureV4Tests {
  private static let emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  private func signer(token: String? = nil) throws -> SignatureV4 {
    let credentials = try #require(
      ObjectStoreCredentials(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        sessionToken: token))
    return SignatureV4(credentials: credentials, region: "us-east-1")
  }

  private func date() throws -> Timestamp { try #require(Timestamp(rfc3339: "2013-05-24T00:00:00Z")) }

  private func request(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)] = []
  ) -> SignatureV4.Request {
    SignatureV4.Request(
      method: method, host: "examplebucket.s3.amazonaws.com", path: path, query: query, headers: headers)
  }

  private func authorization(_ names: String, _ signature: String) -> String {
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
      + "SignedHeaders=\(names),Signature=\(signature)"
  }

  private func fields(
    _ request: SignatureV4.Request, _ payload: SignatureV4.Payload = .empty
  ) throws -> [String: String] {
    let fields = try signer().fields(for: request, payload: payload, at: date())
    return Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.value) })
  }

  @Test("AWS's example of GET with a range")
  func getObject() throws {
    let request = request("GET", "/test.txt", headers: [("Range", "bytes=0-9")])
    let fields = try fields(request)
    #expect(
      fields == [
        "x-amz-content-sha256": Self.emptyDigest, "x-amz-date": "20130524T000000Z",
        "Authorization": authorization(
          "host;range;x-amz-content-sha256;x-amz-date",
          "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
      ])
  }

  @Test("AWS's example of GET with a range, step by step")
  func steps() throws {
    let headers = SignedHeaders([
      ("x-amz-date", "20130524T000000Z"), ("Host", "examplebucket.s3.amazonaws.com"),
      ("x-amz-content-sha256", Self.emptyDigest), ("range", "bytes=0-9"),
    ])
    let canonical = CanonicalRequest.text(
      request("GET", "/test.txt"), query: [], headers: headers, payload: .empty)
    #expect(
      canonical == """
        GET
        /test.txt

        host:examplebucket.s3.amazonaws.com
        range:bytes=0-9
        x-amz-content-sha256:\(Self.emptyDigest)
        x-amz-date:20130524T000000Z

        host;range;x-amz-content-sha256;x-amz-date
        \(Self.emptyDigest)
        """)
    #expect(
      try signer().stringToSign(canonical, at: SignatureDate(date())) == """
        AWS4-HMAC-SHA256
        20130524T000000Z
        20130524/us-east-1/s3/aws4_request
        7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972
        """)
  }

  @Test("AWS's example of PUT")
  func putObject() throws {
    let request = request(
      "PUT", "/test$file.text",
      headers: [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")])
    let digest = SHA256Digest.of("Welcome to Amazon S3.".utf8)
    let fields = try fields(request, .digest(digest))
    #expect(
      fields["x-amz-content-sha256"] == "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
    #expect(
      fields["Authorization"]
        == authorization(
          "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
          "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"))
  }

  @Test("AWS's example of a query item without a value")
  func bucketLifecycle() throws {
    #expect(
      try fields(request("GET", "/", query: [("lifecycle", "")]))["Authorization"]
        == authorization(
          "host;x-amz-content-sha256;x-amz-date",
          "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"))
  }

  @Test("AWS's example of a list, whatever the order of its query")
  func listObjects() throws {
    let items: [(name: String, value: String)] = [("prefix", "J"), ("max-keys", "2")]
    for query in [items, items.reversed()] {
      #expect(
        try fields(request("GET", "/", query: query))["Authorization"]
          == authorization(
            "host;x-amz-content-sha256;x-amz-date",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
    }
  }

  @Test("AWS's example of a presigned address")
  func presigned() throws {
    let query = try signer().presignedQuery(for: request("GET", "/test.txt"), seconds: 86_400, at: date())
    #expect(
      query == "X-Amz-Algorithm=AWS4-HMAC-SHA256"
        + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
  }

  @Test("a session token goes along, and is signed")
  func sessionToken() throws {
    let signer = try signer(token: "to+ken==")
    let fields = try signer.fields(for: request("GET", "/"), payload: .unsigned, at: date())
    #expect(
      fields.map(\.name) == ["x-amz-content-sha256", "x-amz-date", "x-amz-security-token", "Authorization"])
    #expect(fields[0].value == "UNSIGNED-PAYLOAD")
    #expect(fields[2].value == "to+ken==")
    #expect(
      fields[3].value.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"))
    let query = try signer.presignedQuery(for: request("GET", "/"), seconds: 1, at: date())
    #expect(query.contains("&X-Amz-Security-Token=to%2Bken%3D%3D&"))
  }

  @Test("a path keeps its slashes and unreserved characters, and every other byte is encoded once")
  func paths() {
    #expect(PercentEncoding.path("/a/b-c_d.e~f") == "/a/b-c_d.e~f")
    #expect(PercentEncoding.path("/a b+c%20:@ä") == "/a%20b%2Bc%2520%3A%40%C3%A4")
    #expect(PercentEncoding.component("a/b") == "a%2Fb")
  }

  @Test("a list's encoding is undone, and what is none is refused")
  func decoding() {
    #expect(PercentEncoding.decodeForm("a%2Fb+c%2B%C3%A4") == "a/b c+ä")
    for broken in ["%", "%4", "%4g", "a%-1", "%FF"] { #expect(PercentEncoding.decodeForm(broken) == nil) }
  }

  private struct Case: Decodable {
    var method: String
    var host: String
    var path: String
    var query: [[String]]
    var headers: [[String]]
    var region: String
    var accessKey: String
    var secretKey: String
    var sessionToken: String?
    var date: String
    var payload: String?
    var seconds: Int?
    var signature: String
  }

  @Test("requests that Python and botocore have signed have the same signatures here")
  func otherImplementations() throws {
    let file = try RepositoryFile("Tests/Fixtures/signatures/cases.json").text
    let cases = try JSONDecoder().decode([Case].self, from: Data(file.utf8))
    #expect(cases.count == 64)
    for made in cases {
      let credentials = try #require(
        ObjectStoreCredentials(
          accessKey: made.accessKey, secretKey: made.secretKey, sessionToken: made.sessionToken))
      let signer = SignatureV4(credentials: credentials, region: made.region)
      let request = SignatureV4.Request(
        method: made.method, host: made.host, path: made.path,
        query: made.query.map { ($0[0], $0[1]) }, headers: made.headers.map { ($0[0], $0[1]) })
      let date = try #require(Timestamp(rfc3339: made.date))
      let signed: String
      if let seconds = made.seconds {
        signed = signer.presignedQuery(for: request, seconds: seconds, at: date)
      } else {
        let payload = try made.payload.map { try #require(SHA256Digest(hexadecimal: $0)) }
        signed =
          signer.fields(for: request, payload: payload.map { .digest($0) } ?? .unsigned, at: date).last?.value
          ?? ""
      }
      #expect(signed.hasSuffix("Signature=\(made.signature)"), "\(made)")
    }
  }
}
