import Testing

@testable import HTTPServer

@Suite("Names of connections")
struct ConnectionTagTests {
  private static let last: UInt32 = 1 << 30 - 1

  @Test(
    "an event of a connection is taken for one, however many connections its place has had",
    arguments: [0, 1, 1 << 29, last - 1, last])
  func everyGeneration(_ generation: UInt32) {
    for index in [0, 1, 4_159, 1 << 20] {
      let tag = ConnectionTag(index: index, generation: .init(rawValue: generation))
      let subject = EventSubject.connection(tag)
      #expect(EventSubject(rawValue: subject.rawValue) == subject)
    }
  }

  @Test("a place that was given away half a billion times begins anew")
  func generationsEnd() {
    let last = ConnectionTag.Generation(rawValue: Self.last)
    #expect(last.next == ConnectionTag.Generation(rawValue: 0))
    #expect(last.next.next == ConnectionTag.Generation(rawValue: 1))
  }

  @Test("listeners and the mailbox are told apart from connections", arguments: [0, 1, 65_535, 70_000])
  func others(_ position: Int) {
    #expect(EventSubject(rawValue: EventSubject.listener(position).rawValue) == .listener(position))
    #expect(EventSubject(rawValue: EventSubject.mailbox.rawValue) == .mailbox)
  }
}
