import Database
import Testing

@testable import PostgreSQLEngine

@Suite("What notifications say, and what is made of those that are missed")
struct ServerSignalTests {
  private static let topic = ChangeTopic("feeds")

  private func signal(_ revision: Int, _ names: Set<String> = []) -> ServerSignal {
    ServerSignal(topic: Self.topic, revision: revision, names: names)
  }

  @Test("a payload is read as it was written")
  func payload() {
    #expect(signal(7, ["12", "3"]).payload == "feeds 7 12 3")
    #expect(ServerSignal(payload: "feeds 7 12 3") == signal(7, ["3", "12"]))
    #expect(ServerSignal(payload: "feeds 7") == signal(7))
    #expect(ServerSignal(payload: "feeds") == nil)
    #expect(ServerSignal(payload: "feeds seven") == nil)
    #expect(ServerSignal(payload: "") == nil)
  }

  @Test("more names than PostgreSQL takes stand for anything")
  func tooManyNames() {
    let names = Set((1...2000).map(String.init))
    #expect(signal(7, names).payload == "feeds 7")
  }

  @Test("names count where no notification is missing; behind a gap it may be anything")
  func gaps() {
    var heard = HeardSignals()
    #expect(heard.see(4, of: Self.topic) == .later)
    #expect(heard.hear(signal(5, ["1"])) == .of(["1"]))
    #expect(heard.hear(signal(7, ["2"])) == .ofAnything)
    #expect(heard.hear(signal(6, ["3"])) == nil, "it was taken as missed")
    #expect(heard.hear(signal(8)) == .ofAnything)
    #expect(heard.see(8, of: Self.topic) == .known)
    #expect(heard.see(9, of: Self.topic) == .later)
    #expect(heard.hear(signal(9, ["4"])) == nil)
  }

  @Test("a revision that went back is news, and the ones behind it are again")
  func earlier() {
    var heard = HeardSignals()
    #expect(heard.see(9, of: Self.topic) == .later)
    #expect(heard.see(5, of: Self.topic) == .earlier)
    #expect(heard.hear(signal(6, ["1"])) == .of(["1"]))
    let counts = ChangeCounts()
    counts.raise(Self.topic, to: 9)
    counts.restart(Self.topic, at: 5)
    let restarted = counts.count(of: Self.topic)
    #expect(restarted > 9)
    counts.raise(Self.topic, to: 6)
    #expect(counts.count(of: Self.topic) == restarted + 1)
  }

  @Test("the first signal of a topic that was not there before is news")
  func newTopic() {
    var heard = HeardSignals()
    #expect(heard.hear(signal(1, ["1"])) == .of(["1"]))
    var late = HeardSignals()
    #expect(late.hear(signal(2, ["1"])) == .ofAnything)
  }
}
