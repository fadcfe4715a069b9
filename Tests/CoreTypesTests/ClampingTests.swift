import CoreTypes
import Testing

@Suite("Numbers from outside")
struct ClampingTests {
  @Test(
    "a floating-point number becomes the nearest integer toward zero, within the type's range",
    arguments: [
      (0.0, 0), (-0.0, 0), (2.9, 2), (-2.9, -2), (9e15, 9_000_000_000_000_000), (0x1p63, .max),
      (-0x1p63, .min), (0x1.fffffffffffffp62, 9_223_372_036_854_774_784), (1e300, .max), (-1e300, .min),
      (.infinity, .max), (-.infinity, .min), (.nan, 0), (.signalingNaN, 0),
      (.leastNonzeroMagnitude, 0),
    ] as [(Double, Int64)])
  func integers(value: Double, expected: Int64) {
    #expect(Int64(clamping: value) == expected)
  }

  @Test("the range is the type's own")
  func ranges() {
    #expect(UInt8(clamping: 255.9) == 255)
    #expect(UInt8(clamping: 256.0) == 255)
    #expect(UInt8(clamping: -0.9) == 0)
    #expect(UInt8(clamping: -1.0) == 0)
    #expect(UInt64(clamping: 0x1p64) == .max)
    #expect(UInt64(clamping: -Double.infinity) == 0)
    #expect(UInt64(clamping: Double.nan) == 0)
  }

  @Test("seconds become a duration, whatever they are")
  func durations() {
    #expect(Duration(clampingSeconds: 1.5) == .milliseconds(1500))
    #expect(Duration(clampingSeconds: -1.5) == .milliseconds(-1500))
    #expect(Duration(clampingSeconds: .nan) == .zero)
    let longest = Duration.seconds(9_223_372_036)
    for huge in [1e10, 1e300, .infinity] {
      #expect(Duration(clampingSeconds: huge) == longest)
      #expect(Duration(clampingSeconds: -huge) == .zero - longest)
    }
  }

  @Test(
    "seconds to wait are brought into 1 s to 15 minutes",
    arguments: [(Int.min, 1), (-1, 1), (0, 1), (1, 1), (7, 7), (900, 900), (901, 900), (Int.max, 900)])
  func retryAfter(asked: Int, seconds: Int) {
    #expect(RetryAfter.seconds(clamping: asked) == seconds)
    #expect(RetryAfter.seconds(clamping: Duration.seconds(asked)) == seconds)
  }

  @Test(
    "a client obeys 1 s to a day",
    arguments: [(Int.min, 1), (0, 1), (901, 901), (86_400, 86_400), (86_401, 86_400), (Int.max, 86_400)])
  func obeyed(asked: Int, seconds: Int) {
    #expect(RetryAfter.obeyedSeconds(clamping: asked) == seconds)
    #expect(RetryAfter.obeyedSeconds(clamping: Duration.seconds(asked)) == seconds)
  }

  @Test("a begun second is waited for in full")
  func begunSeconds() {
    #expect(RetryAfter.seconds(clamping: .milliseconds(1001)) == 2)
    #expect(RetryAfter.seconds(clamping: .milliseconds(1)) == 1)
    #expect(RetryAfter.seconds(clamping: .seconds(Int64.max) + .milliseconds(500)) == 900)
  }
}
