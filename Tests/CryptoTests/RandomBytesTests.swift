import Testing

@testable import Crypto

@Suite("Random bytes") struct RandomBytesTests {
  @Test(
    "there are as many as asked for, also more than one call of the kernel gives",
    arguments: [0, 1, 32, 256, 257, 600])
  func count(_ count: Int) {
    #expect(RandomBytes.make(count).count == count)
  }

  @Test("every byte is drawn: over some draws none stays as it was made")
  func everyByte() {
    var seen = [UInt8](repeating: 0, count: 600)
    // A byte is zero in all of 20 draws once in 2^160.
    for _ in 0..<20 { seen = zip(seen, RandomBytes.make(600)).map { $0 | $1 } }
    #expect(!seen.contains(0))
  }

  @Test("no draw is like another") func distinct() {
    #expect(Set((0..<1000).map { _ in RandomBytes.make(16) }).count == 1000)
  }
}
