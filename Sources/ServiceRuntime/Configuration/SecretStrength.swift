/// How hard a secret is to guess, as far as its characters tell.
public enum SecretStrength {
  /// Secrets of fewer bits can be found by trying.
  public static let minimum = 128

  /// The bits of a secret of that length that was drawn at random from the kinds of characters it has: hexadecimal digits
  /// have 4 bits each, letters of both cases with digits 6. Characters that repeat a few count once.
  public static func bits(of secret: String) -> Int {
    let characters = Array(secret.utf8)
    let distinct = Set(characters).count
    let count = distinct < 8 ? distinct : characters.count
    return count * hundredthsOfBits(of: characters) / 100
  }

  /// Hundredths of the bits that one character has: log2 of the number of characters that could stand there, which are
  /// 10, 16, 26, 36 or 64.
  private static func hundredthsOfBits(of characters: [UInt8]) -> Int {
    let characters = characters.map { Character(Unicode.Scalar($0)) }
    let hasDigits = characters.contains { $0.isWholeNumber }
    let hasCapitals = characters.contains { $0.isUppercase }
    let hasSmall = characters.contains { $0.isLowercase }
    let hasOthers = characters.contains { !$0.isLetter && !$0.isWholeNumber }
    let isHexadecimal = characters.allSatisfy { $0.isHexDigit }
    if hasOthers || (hasCapitals && hasSmall) { return 600 }
    if isHexadecimal { return hasCapitals || hasSmall ? 400 : 332 }
    return hasDigits ? 517 : 470
  }
}
