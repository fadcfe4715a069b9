extension FixedWidthInteger {
  /// The whole part of `value`, rounded toward zero; the nearest bound beyond the type's range, and zero for what
  /// is not a number. `Int(value)` traps there: a number from outside is converted only by this
  /// (`scripts/lib/check-conversions`).
  ///
  /// ```swift
  /// Int(clamping: 2.9)  // 2
  /// Int64(clamping: Double.infinity)  // Int64.max
  /// ```
  @specialized(where Self == Int)
  @specialized(where Self == Int64)
  @specialized(where Self == UInt64)
  public init(clamping value: Double) {
    if value.isNaN {
      self = 0
    } else {
      self = Self(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
    }
  }
}

extension Duration {
  /// `seconds` as a duration. What is not a number is none; what lies beyond 292 years is cut there, where
  /// `Duration.seconds` traps at some point.
  public init(clampingSeconds seconds: Double) {
    let limit = 9_223_372_036.0
    self = seconds.isNaN ? .zero : .seconds(min(max(seconds, -limit), limit))
  }
}
