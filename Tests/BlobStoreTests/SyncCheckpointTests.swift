import CoreTypes
import Testing

@testable import BlobStore

@Suite struct SyncCheckpointTests {
  @Test("within one run of the machine everything written counts, afterwards what was synced") func trust() {
    let recorded = SyncCheckpoint(bootIdentifier: "a", length: ByteCount(10))
    #expect(recorded.trusted(fileLength: ByteCount(15), bootIdentifier: "a") == ByteCount(15))
    #expect(recorded.trusted(fileLength: ByteCount(15), bootIdentifier: "b") == ByteCount(10))
    #expect(recorded.trusted(fileLength: ByteCount(5), bootIdentifier: "b") == ByteCount(5))
  }

  @Test("it reads back what it wrote") func roundTrip() {
    let recorded = SyncCheckpoint(bootIdentifier: "5b0b3ee6-7d4f", length: ByteCount(1 << 31))
    #expect(recorded.text == "5b0b3ee6-7d4f 2147483648\n")
    #expect(SyncCheckpoint(text: recorded.text) == recorded)
  }

  @Test("bytes that wait for a verdict do not count, whether the machine was restarted or not") func ceiling()
  {
    let recorded = SyncCheckpoint(bootIdentifier: "a", length: ByteCount(10), ceiling: ByteCount(12))
    #expect(recorded.text == "a 10 unchecked 12\n")
    #expect(SyncCheckpoint(text: recorded.text) == recorded)
    #expect(recorded.trusted(fileLength: ByteCount(15), bootIdentifier: "a") == ByteCount(12))
    #expect(recorded.trusted(fileLength: ByteCount(11), bootIdentifier: "a") == ByteCount(11))
    #expect(recorded.trusted(fileLength: ByteCount(15), bootIdentifier: "b") == ByteCount(10))
  }

  @Test(
    "anything else is nothing",
    arguments: [
      "", "a", "a 1", "a b\n", "a -1\n", " 1\n", "a 1 2\n", "a 1\n\n", "a 1 unchecked\n",
      "a 1 unchecked -1\n", "a 1 held 2\n",
    ])
  func malformed(text: String) {
    #expect(SyncCheckpoint(text: text) == nil)
  }
}
