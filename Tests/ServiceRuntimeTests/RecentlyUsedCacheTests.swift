import CoreTypes
import Testing

@testable import ServiceRuntime

@Suite("Values that were used lately")
struct RecentlyUsedCacheTests {
  @Test("the lengths stay within the bound, whatever comes and goes")
  func lengths() {
    var cache = RecentlyUsedCache<Int, String>(maximumCount: 1000, maximumLength: ByteCount(1000))
    for number in 0..<500 {
      cache.insert("\(number)", for: number % 60, length: ByteCount(number % 90))
      if number.isMultiple(of: 7) { cache.remove(number % 50) }
      _ = cache.value(for: number % 40)
      #expect(cache.length <= ByteCount(1000))
    }
    for number in 0..<60 { cache.remove(number) }
    #expect(cache.count == 0)
    #expect(cache.length == .zero)
  }

  @Test("a value is replaced, and one that is too long removes what the key had")
  func replacement() {
    var cache = RecentlyUsedCache<Int, String>(maximumCount: 10, maximumLength: ByteCount(100))
    cache.insert("first", for: 1, length: ByteCount(10))
    cache.insert("second", for: 1, length: ByteCount(20))
    #expect(cache.value(for: 1) == "second")
    #expect(cache.length == ByteCount(20))
    cache.insert("too long", for: 1, length: ByteCount(51))
    #expect(cache.value(for: 1) == nil)
    #expect(cache.count == 0)
  }
}
