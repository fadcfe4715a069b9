import CoreTypes
import Crypto
import DeliveryRecords
import PullboxTesting
import Testing

@testable import ContentPublishing

@Suite("The next part of an upload")
struct UploadPartPlanTests {
  private static let partLength = ByteCount(1024)

  /// The parts of an upload after requests of these lengths, and how often each byte was put.
  private func parts(after requests: [Int]) -> (lengths: [Int64], puts: [Int]) {
    var parts: [UploadPart] = []
    var puts: [Int] = []
    for count in requests {
      puts += [Int](repeating: 0, count: count)
      let end = ByteCount(puts.count)
      while parts.last?.end ?? .zero < end {
        let plan = UploadPartPlan(behind: parts, upTo: end, partLength: Self.partLength)
        let range = plan.range
        for place in range.lowerBound.rawValue..<range.upperBound.rawValue { puts[Int(place)] += 1 }
        parts.replaceSubrange(
          plan.kept...,
          with: [
            UploadPart(
              start: range.lowerBound, length: range.upperBound - range.lowerBound, digest: .of([]), name: "")
          ])
      }
    }
    return (parts.map(\.length.rawValue), puts)
  }

  @Test("what has no part yet is cut into whole ones and a rest")
  func whole() {
    #expect(parts(after: [2100]).lengths == [1024, 1024, 52])
    #expect(parts(after: [0]).lengths.isEmpty)
  }

  @Test("a short part is put again with as many bytes behind it, or to make a whole one")
  func short() {
    #expect(parts(after: [300, 299]).lengths == [300, 299])
    #expect(parts(after: [300, 300]).lengths == [600])
    #expect(parts(after: [300, 299, 10]).lengths == [300, 299, 10])
    #expect(parts(after: [300, 299, 10, 425]).lengths == [1024, 10])
    #expect(parts(after: [4, 2, 1, 1]).lengths == [8])
  }

  @Test(
    "the parts follow each other, all but a few at the end are whole, and no byte is put more often than a part may be doubled",
    arguments: 1...20)
  func anyRequests(seed: UInt64) {
    var random = SplitMix(seed: seed)
    let longest = UInt64(1) << (random.next() % 12)
    let requests = (0..<600).map { _ in Int(random.next() % longest) + 1 }
    let (lengths, puts) = parts(after: requests)
    #expect(lengths.reduce(0, +) == Int64(requests.reduce(0, +)))
    let short = lengths.drop { $0 == 1024 }
    #expect(short.count <= 10)
    #expect(short.reduce(0, +) < 1024)
    #expect(puts.allSatisfy { (1...11).contains($0) })
  }
}
