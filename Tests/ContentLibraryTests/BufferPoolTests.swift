import PullboxTesting
import Testing

@testable import ContentLibrary

@Suite struct BufferPoolTests {
  /// Where the bytes lie, once one is written: elsewhere than before, if the buffer had another owner.
  private static func place(of buffer: inout [UInt8]) -> UInt {
    buffer.removeAll(keepingCapacity: true)
    buffer.append(1)
    return unsafe buffer.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
  }

  @Test("a buffer that one waits for has no other owner when it is handed out: it is not made anew")
  func oneOwner() throws {
    let pool = BufferPool(limit: 1)
    let acquired = pool.acquire {}
    var first = try #require(acquired)
    first.reserveCapacity(1 << 20)
    let place = Self.place(of: &first)
    let again = Locked<UInt?>(nil)
    let missing = pool.acquire { [pool] in
      guard var buffer = pool.acquire(otherwise: {}) else { return }
      again.withLock { $0 = Self.place(of: &buffer) }
    }
    #expect(missing == nil)
    pool.release(consume first)
    #expect(again.current == place)
    #expect(pool.available == 0)
  }

  @Test("no more buffers are out than there are, and all who wait are woken when one is back")
  func bound() throws {
    let pool = BufferPool(limit: 2)
    let woken = Locked(0)
    let buffers = (0..<2).map { _ in pool.acquire {} }
    #expect(!buffers.contains(nil))
    for _ in 0..<3 {
      let missing = pool.acquire { woken.withLock { $0 += 1 } }
      #expect(missing == nil)
    }
    #expect(woken.current == 0)
    // One that was lost counts as one that is back.
    pool.release(nil)
    #expect(woken.current == 3)
    let again = pool.acquire {}
    #expect(again != nil)
    #expect(pool.available == 0)
  }
}
