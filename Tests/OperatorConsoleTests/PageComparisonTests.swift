import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI
import Testing

@testable import OperatorConsole

@Suite("Pages of two versions, compared")
struct PageComparisonTests {
  private func pages(_ files: [(String, String)]) -> [VersionPages.Page] {
    files.enumerated().map { index, file in
      VersionPages.Page(
        number: index + 1, path: file.0, length: ByteCount(1), digest: .of(Array(file.1.utf8)))
    }
  }

  @Test(
    "a page is the same, changed, added or removed by its path, and the same under another path by its bytes")
  func changes() {
    let old = pages([("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")])
    let new = pages([("a", "1"), ("b", "9"), ("e", "3"), ("f", "5")])
    let comparison = PageComparison(from: old, to: new)
    #expect(comparison.rows.map(\.change) == [.same, .changed, .same, .added, .removed])
    #expect(comparison.rows.map { $0.old?.path } == ["a", "b", "c", nil, "d"])
    #expect(comparison.rows.map { $0.new?.path } == ["a", "b", "e", "f", nil])
    #expect(comparison.count(.same) == 2)
  }

  @Test("a page that is there once stands for one page of the other version, however many have its bytes")
  func once() {
    let old = pages([("a", "1")])
    let new = pages([("b", "1"), ("c", "1")])
    #expect(PageComparison(from: old, to: new).rows.map(\.change) == [.same, .added])
    #expect(PageComparison(from: [], to: []).rows.isEmpty)
  }
}
