import HTTPClient
import Testing

struct ClientRequestTests {
  private func code(_ request: ClientRequest) async throws -> HTTPClientError.Code? {
    let client = try HTTPClient()
    defer { client.shutDown() }
    return await client.failure(request, to: RecordingReceiver())?.code
  }

  @Test(
    "a URL that is not plainly http or https is refused before anything is sent",
    arguments: [
      "", "file:///etc/passwd", "ftp://127.0.0.1/", "127.0.0.1/", "//127.0.0.1/", "http:/127.0.0.1",
      "http://127.0.0.1/a b", "http://127.0.0.1/\r\nX: y", "http://127.0.0.1/\u{0}",
      "http://user:pw@127.0.0.1/",
      "http://127.0.0.1:99999/",
    ])
  func urls(url: String) async throws {
    #expect(try await code(ClientRequest(method: "GET", url: url)) == .invalidRequest)
  }

  @Test("a method that is not a token is refused", arguments: ["", "GE T", "GET\r\n", "GÉT", "GET/"])
  func methods(method: String) async throws {
    #expect(try await code(ClientRequest(method: method, url: "http://127.0.0.1/")) == .invalidRequest)
  }

  @Test(
    "a field that would break its line is refused",
    arguments: [("A", "b\r\nC: d"), ("A", "b\nc"), ("A", "b\u{0}"), ("A:", "b"), ("", "b"), ("A b", "c")])
  func fields(name: String, value: String) async throws {
    #expect(
      try await code(ClientRequest(method: "GET", url: "http://127.0.0.1/", headers: [(name, value)]))
        == .invalidRequest)
  }

  @Test("GET and HEAD take no body", arguments: ["GET", "HEAD"])
  func bodies(method: String) async throws {
    #expect(
      try await code(ClientRequest(method: method, url: "http://127.0.0.1/", body: .bytes([1])))
        == .invalidRequest)
  }

  @Test("a Unix socket's path longer than the kernel takes is refused")
  func longSocketPath() async throws {
    var request = ClientRequest(method: "GET", url: "http://agent/")
    request.unixSocketPath = "/" + String(repeating: "a", count: 107)
    #expect(try await code(request) == .invalidRequest)
  }

  @Test("an error's description is its code and its sentence")
  func description() {
    let error = HTTPClientError(code: .connectionLost, message: "the connection broke", isRetryable: true)
    #expect("\(error)" == "connectionLost: the connection broke")
    #expect("\(error.code)" == "connectionLost")
  }
}
