/// Conditions and ranges of RFC 9110 §13 and §14, asked of a representation of 1000 bytes with the strong
/// entity tag `"v1"`, last modified on Sun, 06 Nov 1994 08:49:37 GMT. Where the RFC leaves a choice,
/// docs/http.md says which is ours.
struct SemanticsVector: Sendable, CustomStringConvertible {
  let name: String
  let method: String
  let fields: [String]
  /// `200`, `206 0-5`, `206 0-5,500-505` (parts), `416 */1000`, `304`, `412`.
  let answer: String

  var description: String { name }

  init(_ name: String, _ fields: String..., answer: String, method: String = "GET") {
    self.name = name
    self.method = method
    self.fields = fields
    self.answer = answer
  }

  func request(_ path: String) -> String {
    "\(method) \(path) HTTP/1.1\r\nHost: h\r\n" + fields.map { "\($0)\r\n" }.joined() + "\r\n"
  }

  static let all = ranges + severalRanges + conditions + dates + order

  private static func range(_ value: String, _ answer: String) -> SemanticsVector {
    SemanticsVector("Range: \(value)", "Range: \(value)", answer: answer)
  }

  static let ranges = [
    SemanticsVector("no Range", answer: "200"),
    range("bytes=0-5", "206 0-5"),
    range("bytes=0-0", "206 0-0"),
    range("bytes=999-", "206 999-999"),
    range("bytes=0-", "206 0-999"),
    range("bytes=-1", "206 999-999"),
    range("bytes=-1000", "206 0-999"),
    range("bytes=-1001", "206 0-999"),
    range("bytes=990-2000", "206 990-999"),
    range("bytes=-0", "416 */1000"),
    range("bytes=1000-", "416 */1000"),
    range("bytes=1000-1000", "416 */1000"),
    range("bytes=0-9999999999999999999999999", "206 0-999"),
    range("bytes=9999999999999999999999999-", "416 */1000"),
    range("bytes=-9999999999999999999999999", "206 0-999"),
    range("bytes=0-2147483647", "206 0-999"),
    range("bytes=0-2147483648", "206 0-999"),
    range("bytes=0-4294967295", "206 0-999"),
    range("bytes=0-4294967296", "206 0-999"),
    range("bytes=0-9223372036854775807", "206 0-999"),
    range("bytes=0-9223372036854775808", "206 0-999"),
    range("bytes=0-18446744073709551616", "206 0-999"),
    range("bytes=4294967296-4294967297", "416 */1000"),
    range("bytes=18446744073709551616-", "416 */1000"),
    range("bytes=-18446744073709551616", "206 0-999"),
    range("bytes=00000000000000000000000000000001-2", "206 1-2"),
    range("bytes=10-5", "200"),
    range("bytes=abc", "200"),
    range("bytes=-", "200"),
    range("bytes=5", "200"),
    range("bytes=0x1-0x5", "200"),
    range("bytes=+1-5", "200"),
    range("bytes=1-+5", "200"),
    range("bytes=", "200"),
    range("bytes", "200"),
    range("bytes = 0-5", "200"),
    range("bytes=0 - 5", "200"),
    range("bytes= 0-5", "206 0-5"),
    range("BYTES=0-5", "206 0-5"),
    range("items=0-5", "200"),
    range("none", "200"),
    range("bytes=0-5;x=y", "200"),
    SemanticsVector("two Range lines", "Range: bytes=0-5", "Range: bytes=7-9", answer: "200"),
    SemanticsVector("the same Range twice", "Range: bytes=0-5", "Range: bytes=0-5", answer: "200"),
    SemanticsVector("HEAD ignores Range", "Range: bytes=0-5", answer: "200", method: "HEAD"),
    SemanticsVector("RANGE-POST", "Range: bytes=0-5", answer: "200", method: "POST"),
    SemanticsVector(
      "a HEAD that could not be satisfied", "Range: bytes=1000-", answer: "200", method: "HEAD"),
    SemanticsVector("Content-Range of a request means nothing", "Content-Range: bytes 0-5/9", answer: "200"),
  ]

  static let severalRanges = [
    range("bytes=0-5, 500-509", "206 0-5,500-509"),
    range("bytes= 0-9, 450-549, -100", "206 0-9,450-549,900-999"),
    range("bytes=500-509,0-5", "206 500-509,0-5"),
    range("bytes=0-5,,500-509", "206 0-5,500-509"),
    range("bytes=,0-5", "206 0-5"),
    range("bytes=0-5,", "206 0-5"),
    range("bytes=0-5 , \t,", "206 0-5"),
    range("bytes=,", "200"),
    range("bytes=0-5,99999999-", "206 0-5"),
    range("bytes=99999999-,0-5", "206 0-5"),
    range("bytes=-0,99999999-", "416 */1000"),
    range("bytes=0-5,10-7", "200"),
    range("bytes=0-5,abc", "200"),
    range("bytes=99999999-,abc", "200"),
    range("bytes=0-5, 7-9", "206 0-9"),
    range("bytes=0-5,3-9", "206 0-9"),
    range("bytes=7-9,0-5", "206 0-9"),
    range("bytes=0-,0-", "206 0-999"),
    range("bytes=0-9,90-99", "206 0-9,90-99"),
    range("bytes=0-9,89-99", "206 0-99"),
    range("bytes=0-9,500-509,0-9,500-509", "206 0-9,500-509"),
    range("bytes=" + Array(repeating: "0-", count: 32).joined(separator: ","), "206 0-999"),
    range("bytes=" + Array(repeating: "0-", count: 33).joined(separator: ","), "416 */1000"),
    range("bytes=" + (0..<200).map { "\($0 * 5)-\($0 * 5)" }.joined(separator: ","), "416 */1000"),
    range("bytes=" + (0..<300).map { "\($0)-" }.joined(separator: ","), "416 */1000"),
  ]

  static let conditions = [
    SemanticsVector("If-Match: the tag", "If-Match: \"v1\"", answer: "200"),
    SemanticsVector("If-Match: a list with it", "If-Match: \"a\", \"v1\"", answer: "200"),
    SemanticsVector("If-Match: it in the second line", "If-Match: \"a\"", "If-Match: \"v1\"", answer: "200"),
    SemanticsVector("If-Match: *", "If-Match: *", answer: "200"),
    SemanticsVector("If-Match: another", "If-Match: \"v2\"", answer: "412"),
    SemanticsVector("If-Match: weak", "If-Match: W/\"v1\"", answer: "412"),
    SemanticsVector("If-Match: garbage", "If-Match: v1", answer: "412"),
    SemanticsVector("If-Match: another case", "If-Match: \"V1\"", answer: "412"),
    SemanticsVector("If-Match: another, with HEAD", "If-Match: \"v2\"", answer: "412", method: "HEAD"),
    SemanticsVector("If-None-Match: the tag", "If-None-Match: \"v1\"", answer: "304"),
    SemanticsVector("If-None-Match: weak", "If-None-Match: W/\"v1\"", answer: "304"),
    SemanticsVector("If-None-Match: a list with it", "If-None-Match: \"a\" ,, W/\"v1\"", answer: "304"),
    SemanticsVector("If-None-Match: *", "If-None-Match: *", answer: "304"),
    SemanticsVector("If-None-Match: another", "If-None-Match: \"v2\"", answer: "200"),
    SemanticsVector("If-None-Match: a comma within", "If-None-Match: \"a,v1\"", answer: "200"),
    SemanticsVector("If-None-Match: garbage", "If-None-Match: v1", answer: "200"),
    SemanticsVector("If-None-Match: w/ in lower case", "If-None-Match: w/\"v1\"", answer: "200"),
    SemanticsVector("If-None-Match with HEAD", "If-None-Match: \"v1\"", answer: "304", method: "HEAD"),
    SemanticsVector("If-None-Match with POST", "If-None-Match: \"v1\"", answer: "412", method: "POST"),
    SemanticsVector("If-Range: the tag", "If-Range: \"v1\"", "Range: bytes=0-5", answer: "206 0-5"),
    SemanticsVector("If-Range: another", "If-Range: \"v2\"", "Range: bytes=0-5", answer: "200"),
    SemanticsVector("If-Range: weak", "If-Range: W/\"v1\"", "Range: bytes=0-5", answer: "200"),
    SemanticsVector("If-Range: garbage", "If-Range: v1", "Range: bytes=0-5", answer: "200"),
    SemanticsVector("If-Range: *", "If-Range: *", "Range: bytes=0-5", answer: "200"),
    SemanticsVector("If-Range: a list", "If-Range: \"a\", \"v1\"", "Range: bytes=0-5", answer: "200"),
    SemanticsVector(
      "If-Range twice", "If-Range: \"v1\"", "If-Range: \"v1\"", "Range: bytes=0-5", answer: "200"),
    SemanticsVector("If-Range without Range", "If-Range: \"v2\"", answer: "200"),
    SemanticsVector(
      "If-Range: another, and unsatisfiable", "If-Range: \"v2\"", "Range: bytes=1000-", answer: "200"),
    SemanticsVector(
      "If-Range: the tag, and unsatisfiable", "If-Range: \"v1\"", "Range: bytes=1000-",
      answer: "416 */1000"),
  ]

  private static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let before = "Sun, 06 Nov 1994 08:49:36 GMT"
  private static let after = "Sun, 06 Nov 1994 08:49:38 GMT"

  static let dates = [
    SemanticsVector("If-Modified-Since: then", "If-Modified-Since: \(modified)", answer: "304"),
    SemanticsVector("If-Modified-Since: after", "If-Modified-Since: \(after)", answer: "304"),
    SemanticsVector("If-Modified-Since: before", "If-Modified-Since: \(before)", answer: "200"),
    SemanticsVector("If-Modified-Since: no date", "If-Modified-Since: yesterday", answer: "200"),
    SemanticsVector(
      "If-Modified-Since with POST", "If-Modified-Since: \(after)", answer: "200", method: "POST"),
    SemanticsVector(
      "If-Modified-Since of RFC 850", "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT",
      answer: "304"),
    SemanticsVector(
      "If-Modified-Since of RFC 850, before", "If-Modified-Since: Sunday, 06-Nov-94 08:49:36 GMT",
      answer: "200"),
    SemanticsVector(
      "If-Modified-Since of asctime", "If-Modified-Since: Sun Nov  6 08:49:37 1994", answer: "304"),
    SemanticsVector(
      "If-Modified-Since of asctime, before", "If-Modified-Since: Sun Nov  6 08:49:36 1994",
      answer: "200"),
    SemanticsVector("If-Unmodified-Since: then", "If-Unmodified-Since: \(modified)", answer: "200"),
    SemanticsVector("If-Unmodified-Since: after", "If-Unmodified-Since: \(after)", answer: "200"),
    SemanticsVector("If-Unmodified-Since: before", "If-Unmodified-Since: \(before)", answer: "412"),
    SemanticsVector("If-Unmodified-Since: no date", "If-Unmodified-Since: 0", answer: "200"),
    SemanticsVector(
      "If-Unmodified-Since of asctime, before", "If-Unmodified-Since: Sun Nov  6 08:49:36 1994",
      answer: "412"),
    SemanticsVector("If-Range: the date", "If-Range: \(modified)", "Range: bytes=0-5", answer: "206 0-5"),
    SemanticsVector("If-Range: a later date", "If-Range: \(after)", "Range: bytes=0-5", answer: "200"),
    SemanticsVector("If-Range: an earlier date", "If-Range: \(before)", "Range: bytes=0-5", answer: "200"),
  ]

  static let order = [
    SemanticsVector(
      "unsatisfiable, and If-None-Match holds the tag", "Range: bytes=1000-",
      "If-None-Match: \"v1\"", answer: "304"),
    SemanticsVector(
      "unsatisfiable, and If-Match does not", "Range: bytes=1000-", "If-Match: \"v2\"",
      answer: "412"),
    SemanticsVector(
      "If-Match goes before If-None-Match", "If-None-Match: \"v1\"", "If-Match: \"v2\"",
      answer: "412"),
    SemanticsVector(
      "If-Match makes If-Unmodified-Since mean nothing", "If-Match: \"v1\"",
      "If-Unmodified-Since: \(before)", answer: "200"),
    SemanticsVector(
      "If-None-Match makes If-Modified-Since mean nothing", "If-None-Match: \"v2\"",
      "If-Modified-Since: \(after)", answer: "200"),
    SemanticsVector(
      "If-Unmodified-Since goes before If-None-Match", "If-None-Match: \"v1\"",
      "If-Unmodified-Since: \(before)", answer: "412"),
    SemanticsVector(
      "all that hold, and a range", "If-Match: \"v1\"", "If-None-Match: \"v2\"",
      "If-Range: \"v1\"", "Range: bytes=-5", answer: "206 995-999"),
  ]
}
