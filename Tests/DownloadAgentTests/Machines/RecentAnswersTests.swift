import CoreTypes
import PullboxTesting
import Synchronization
import Testing

@testable import DownloadAgent

@Suite("Answers that serve for a moment")
struct RecentAnswersTests {
  private struct Refusal: Error {}
  private typealias Answers = RecentAnswers<String, Int, Refusal>

  private let clock = ManualMonotonicClock()

  @Test("an answer serves for its lifetime, and is asked for again after it or once it was removed")
  func lifetime() async throws {
    let answers = Answers(lifetime: .seconds(10), clock: clock)
    #expect(try await answers.value(of: "a") { () throws(Refusal) in 1 } == (1, false))
    clock.advance(by: .seconds(9))
    #expect(try await answers.value(of: "a") { () throws(Refusal) in 2 } == (1, true))
    clock.advance(by: .seconds(1))
    #expect(try await answers.value(of: "a") { () throws(Refusal) in 3 } == (3, false))
    await answers.removeAll()
    #expect(try await answers.value(of: "a") { () throws(Refusal) in 4 } == (4, false))
  }

  @Test("of more answers than there is room for, the oldest goes")
  func capacity() async throws {
    let answers = Answers(lifetime: .seconds(10), capacity: 2, clock: clock)
    for (number, question) in ["a", "b", "c"].enumerated() {
      _ = try await answers.value(of: question) { () throws(Refusal) in number }
      clock.advance(by: .seconds(1))
    }
    #expect(try await answers.value(of: "c") { () throws(Refusal) in 7 } == (2, true))
    #expect(try await answers.value(of: "b") { () throws(Refusal) in 8 } == (1, true))
    #expect(try await answers.value(of: "a") { () throws(Refusal) in 9 } == (9, false))
  }

  @Test("a failure is not kept")
  func failure() async throws {
    let answers = Answers(lifetime: .seconds(10), clock: clock)
    await #expect(throws: Refusal.self) {
      try await answers.value(of: "a") { () throws(Refusal) in throw Refusal() }
    }
    #expect(try await answers.value(of: "a") { () throws(Refusal) in 2 } == (2, false))
  }
}
