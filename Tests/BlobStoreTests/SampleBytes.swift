/// Bytes of which no two pieces are alike; made once, because that is slow without optimization.
enum SampleBytes {
  static let all: [UInt8] = {
    let line = (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    var bytes: [UInt8] = []
    for number in 0..<768 {
      bytes.append(UInt8(truncatingIfNeeded: number))
      bytes.append(UInt8(truncatingIfNeeded: number >> 8))
      bytes.append(contentsOf: line)
    }
    return bytes
  }()
}
