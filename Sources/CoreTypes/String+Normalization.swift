@_spi(_Unicode) import Swift

// The standard library normalizes to compare strings, and shows that to modules that say so. Foundation does the same with tables of its own,
// of which a program that needs nothing else of it would load ten megabytes.
extension String {
  /// The text in Unicode's form C: characters with their marks in one, as far as there is such a one (UAX #15).
  public var composed: String {
    guard !utf8.allSatisfy({ $0 < 0x80 }) else { return self }
    var scalars = UnicodeScalarView()
    for scalar in _nfc { scalars.append(scalar) }
    return String(scalars)
  }

  /// The text in Unicode's form D: each character followed by its marks (UAX #15).
  public var decomposed: String {
    guard !utf8.allSatisfy({ $0 < 0x80 }) else { return self }
    var scalars = UnicodeScalarView()
    for scalar in _nfd { scalars.append(scalar) }
    return String(scalars)
  }
}
