internal import Glibc

extension [UInt8] {
  /// Whether `other` has the same bytes, by memcmp(3): in a build for debugging, `==` takes a call for each byte.
  public func hasSameBytes(as other: [UInt8]) -> Bool {
    guard count == other.count else { return false }
    let expected = other.span
    return unsafe span.withUnsafeBufferPointer { left in
      unsafe expected.withUnsafeBufferPointer { right in
        guard let left = left.baseAddress, let right = right.baseAddress else { return true }
        return unsafe memcmp(left, right, other.count) == 0
      }
    }
  }
}
