import CoreTypes
import Testing

@Suite("Binary search")
struct PartitioningIndexTests {
  @Test("the first place whose element fits is found, as by looking at each", arguments: 0...9)
  func first(count: Int) {
    let values = (0..<count).map { $0 / 2 }
    for bound in -1...5 {
      let found = values.partitioningIndex { $0 >= bound }
      #expect(found == values.firstIndex { $0 >= bound } ?? values.endIndex)
    }
  }

  @Test("places are those of the collection, which may begin elsewhere than at 0")
  func slice() {
    let slice = [9, 9, 1, 2, 3][2...]
    #expect(slice.partitioningIndex { $0 >= 2 } == 3)
    #expect(slice.partitioningIndex { $0 >= 4 } == 5)
    #expect(slice[..<2].partitioningIndex { $0 >= 0 } == 2)
  }
}
