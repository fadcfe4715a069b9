import ContentPackage
import PackageTesting
import PullboxTesting
import Testing

@testable import ContentPacking

@Suite("The order of pages")
struct NaturalOrderTests {
  private static let orders: [[String]] = [
    ["p1.png", "p1 b.png", "p1-2.png", "p1.5.png", "p1a.png", "p2.png"],
    ["Chapter 1/001.jpg", "Chapter 1 Extra/001.jpg", "Chapter 1.5/001.jpg", "Chapter 2/001.jpg"],
    ["a/2.jpg", "a b/1.jpg", "ab/1.jpg"],
    ["1.jpg", "2.jpg", "10.jpg", "a.jpg"],
    ["001.jpg", "01.jpg", "1.jpg"],
    ["0.jpg", "00.jpg", "1.jpg"],
    ["1/0.jpg", "1.jpg", "1.png"],
    ["v01/p9.jpg", "v1/p10.jpg"],
    ["９.jpg", "10.jpg", "１１.jpg"],
    ["p9223372036854775807.jpg", "p9223372036854775808.jpg", "p18446744073709551616.jpg"],
    ["A.jpg", "a.jpg", "B.jpg"],
    ["É 1.jpg", "e\u{301} 2.jpg", "é 10.jpg"],
    ["ς1.jpg", "Σ2.jpg", "σ3.jpg"],
    ["p.jpg", "p1.jpg", "p-1.jpg"],
    ["", "a"],
  ]

  @Test(
    "names are ordered as people number them",
    arguments: orders)
  func ordered(_ names: [String]) {
    for (index, name) in names.enumerated() {
      #expect(!NaturalOrder.precedes(name, name))
      for later in names[(index + 1)...] {
        #expect(NaturalOrder.precedes(name, later), "\(name) \(later)")
        #expect(!NaturalOrder.precedes(later, name), "\(later) \(name)")
      }
    }
  }

  @Test("the order is total and strict: of any three names, in any order", arguments: [1, 2, 3] as [UInt64])
  func total(_ seed: UInt64) {
    let parts = [
      "0", "1", "01", "10", "１", "٢", "a", "A", "é", "e\u{301}", "É", " ", "-", ".", "/", ".jpg", "ß", "ı",
      "İ", "😀",
      "99999999999999999999", "Ǆ", "ǆ", "K",
    ]
    var random = SplitMix(seed: seed)
    let names = (0..<36).map { _ in
      (0..<Int.random(in: 1...5, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
        .joined()
    }
    func precedes(_ left: String, _ right: String) -> Bool { NaturalOrder.precedes(left, right) }
    for first in names {
      for second in names {
        let isSame = first.utf8.elementsEqual(second.utf8)
        #expect([precedes(first, second), precedes(second, first), isSame].count { $0 } == 1)
        guard precedes(first, second) else { continue }
        for third in names where precedes(second, third) { #expect(precedes(first, third)) }
      }
    }
  }

  @Test("the pages of 65,535 files are ordered, each name reduced once")
  func many() {
    let names = (0..<65_535).reversed().map { "Chapter \($0 / 100)/page \($0 % 100).jpg" }
    let sorted = NaturalOrder.sorted(names) { $0 }
    #expect(sorted == names.reversed())
  }
}
