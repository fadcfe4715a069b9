extension RandomAccessCollection {
  /// The first place whose element satisfies `predicate`, else the end, by binary search: no element before it does, and all behind
  /// it do.
  public func partitioningIndex(where predicate: (Element) -> Bool) -> Index {
    var (low, length) = (startIndex, count)
    while length > 0 {
      let half = length / 2
      let middle = index(low, offsetBy: half)
      if predicate(self[middle]) {
        length = half
      } else {
        low = index(after: middle)
        length -= half + 1
      }
    }
    return low
  }
}
