import HTTPServer
import PullboxAPI
import Testing

@testable import OperatorConsole

@Suite("Forms with a file (RFC 7578)")
struct MultipartFormTests {
  private static let boundary = "----a7"

  private func form(_ body: [UInt8], type: String? = nil) throws -> MultipartForm {
    try MultipartForm(
      HTTPRequest(
        method: .post, rawTarget: "/",
        headers: ["Content-Type": type ?? "multipart/form-data; boundary=\(Self.boundary)"],
        body: RequestBody(body)))
  }

  private func body(_ parts: [(head: String, content: [UInt8])]) -> [UInt8] {
    parts.reduce(into: Array("a preamble".utf8)) { bytes, part in
      bytes +=
        Array("\r\n--\(Self.boundary)\r\nContent-Disposition: form-data; \(part.head)\r\n\r\n".utf8)
        + part.content
    } + Array("\r\n--\(Self.boundary)--\r\n".utf8)
  }

  @Test(
    "fields and files come with their names and bytes, those that look like a delimiter's beginning among them"
  )
  func parts() async throws {
    let content = Array("\r\n--\(Self.boundary.dropLast())x\r\n-".utf8) + [0, 255, 13]
    var form = try form(
      body([
        ("name=\"token\"", Array("abc".utf8)), ("name=\"empty\"", []),
        ("name=\"file\"; filename=\"issue \\ 1.cbz\"\r\nContent-Type: application/zip", content),
      ]))
    #expect(try await form.next() == .init(name: "token"))
    #expect(try await form.text(upTo: 3) == "abc")
    #expect(try await form.next() == .init(name: "empty"))
    #expect(try await form.text(upTo: 0).isEmpty)
    #expect(try await form.next() == .init(name: "file", fileName: "issue \\ 1.cbz"))
    var bytes: [UInt8] = []
    while let chunk = try await form.chunk() { bytes += chunk }
    #expect(bytes == content)
    #expect(try await form.next() == nil)
  }

  @Test("a part that is not read is passed over")
  func skipped() async throws {
    var form = try form(body([("name=\"a\"", Array(repeating: 65, count: 1000)), ("name=\"b\"", [66])]))
    #expect(try await form.next()?.name == "a")
    #expect(try await form.next()?.name == "b")
    #expect(try await form.text(upTo: 9) == "B")
  }

  @Test("what is not whole, or no such form, is refused")
  func malformed() async throws {
    let whole = body([("name=\"a\"", [65])])
    for length in stride(from: 0, to: whole.count - 4, by: 5) {
      await #expect(throws: Problem.self) {
        var form = try form(Array(whole.prefix(length)))
        while try await form.next() != nil { _ = try await form.text(upTo: 100) }
      }
    }
    for type in [
      "", "application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=",
    ] {
      #expect(throws: Problem.self) { _ = try form(whole, type: type) }
    }
    await #expect(throws: Problem.self) {
      var form = try form(body([("name=\"a\"", Array(repeating: 65, count: 11))]))
      _ = try await form.next()
      _ = try await form.text(upTo: 10)
    }
  }
}
