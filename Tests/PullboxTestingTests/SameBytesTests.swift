import PullboxTesting
import Testing

@Suite("A comparison of many bytes") struct SameBytesTests {
  @Test("bytes are the same if each of them is, and none is missing")
  func comparison() {
    let bytes = [UInt8](0...200)
    #expect(bytes.hasSameBytes(as: Array(bytes)))
    #expect([UInt8]().hasSameBytes(as: []))
    #expect(![UInt8]().hasSameBytes(as: [0]))
    #expect(!bytes.hasSameBytes(as: Array(bytes.dropLast())))
    for index in bytes.indices {
      var other = bytes
      other[index] ^= 1
      #expect(!bytes.hasSameBytes(as: other), "\(index)")
    }
  }
}
