import PullboxTesting
import Testing

@testable import PullboxAPI

/// Refusals as RFC 9457 and docs/problems.md have them.
@Suite("Problem documents and docs/problems.md")
struct ProblemDocumentTests {
  /// The rows of the page's tables: code, status and title.
  private static func rows() throws -> [[String]] {
    let lines = try RepositoryFile("docs/problems.md").text.split(separator: "\n")
    return lines.filter { $0.hasPrefix("| `") }.map {
      DocumentedTable.cells($0).map { $0.filter { $0 != "`" } }
    }
  }

  @Test("each code of the page has its status and its title, and no code is missing there")
  func page() throws {
    let rows = try Self.rows()
    for row in rows {
      try #require(row.count == 3, "\(row)")
      let code = try #require(ProblemCode(type: "urn:pullbox:problem:\(row[0])"), "\(row)")
      #expect([code.text, "\(code.status)", code.title] == row)
    }
    #expect(rows.compactMap(\.first).sorted() == ProblemCode.all.map(\.text).sorted())
  }

  @Test("a problem has the members of its occurrence and no others", arguments: ProblemCode.all)
  func members(code: ProblemCode) throws {
    let bare = try JSONText.members(String(decoding: APIJSON.encode(Problem(code)), as: UTF8.self))
    #expect(bare.keys.sorted() == ["status", "title", "type"])
    #expect(bare["title"] as? String == code.title)
    let told = Problem(code, "why", retryAfterSeconds: 5)
    let members = try JSONText.members(String(decoding: APIJSON.encode(told), as: UTF8.self))
    #expect(members.keys.sorted() == ["detail", "retryAfterSeconds", "status", "title", "type"])
    #expect(members["detail"] as? String == "why")
  }

  @Test("a document is read with members of other servers, of whatever kind, beside those of RFC 9457")
  func extensions() throws {
    let text = """
      {"balance":30,"accounts":["/account/12345",null],"detail":"no credit","status":403,"title":"No",\
      "type":"https://example.com/probs/out-of-credit","nested":{"type":1}}
      """
    let problem = try APIJSON.decode(Problem.self, from: Array(text.utf8))
    #expect(problem.code == nil && problem.status == 403 && problem.detail == "no credit")
    #expect(problem.type == "https://example.com/probs/out-of-credit")
    #expect(problem.description == "No: no credit")
  }

  @Test("an occurrence is named by the request's id, as the log has it")
  func instances() {
    #expect(Problem.instance(ofRequest: "7s") == "urn:pullbox:request:7s")
  }

  @Test("codes are equal by their names, and problems by all that they say")
  func equality() {
    #expect(ProblemCode(type: "urn:pullbox:problem:not-found") == .notFound)
    #expect(Set(ProblemCode.all + ProblemCode.all).count == ProblemCode.all.count)
    #expect(Problem(.notFound) == Problem(.notFound) && Problem(.notFound) != Problem(.notFound, "why"))
    #expect(Problem(.unavailable, retryAfterSeconds: 1) != Problem(.unavailable, retryAfterSeconds: 2))
  }

  @Test("a link of the chain that is missing is told by its word", arguments: CompletionStep.allCases)
  func missingSteps(step: CompletionStep) throws {
    let problem = Problem(.completionMismatch, missingStep: step)
    let read = try APIJSON.decode(Problem.self, from: APIJSON.encode(problem))
    #expect(read == problem && read.missingStep == step.rawValue && read.status == 409)
  }
}
