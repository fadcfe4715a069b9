import Testing

@testable import PostgreSQLEngine

/// A server, or a pooler before it, that answers in another order than it was asked in.
struct AnswerOrderTests {
  private func message(_ kind: Character, _ body: String = "") -> [UInt8] {
    ConversationProperties.message(kind, body)
  }

  @Test("the end of a pipeline in the place of a statement's answer is no answer without rows")
  func sync() throws {
    let stream = ConversationProperties.begun + message("1") + message("Z", "T")
    #expect(try ConversationProperties.rows(of: stream, .read) == nil)
  }

  @Test("a question for rows to copy is none either")
  func copy() throws {
    let stream = ConversationProperties.begun + message("1") + message("2") + message("G", "\0\0\0")
    #expect(try ConversationProperties.rows(of: stream, .write) == nil)
  }

  @Test("the end of a command in the place of a preparation's answer is an error")
  func preparation() throws {
    let stray = message("2") + message("n") + message("C", "SELECT 1\0")
    let answer = message("1") + message("2") + message("n") + message("C", "SELECT 0\0")
    #expect(try ConversationProperties.rows(of: ConversationProperties.begun + stray + answer, .read) == nil)
  }

  @Test("an answer without rows is one")
  func none() throws {
    let answer = message("1") + message("2") + message("n") + message("C", "UPDATE 0\0")
    #expect(try ConversationProperties.rows(of: ConversationProperties.begun + answer, .read) == [])
  }
}
