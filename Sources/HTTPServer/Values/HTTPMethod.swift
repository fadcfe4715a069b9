/// A request method. Case-sensitive (RFC 9110 §9.1); any token is a method, the named ones are those this
/// project answers.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The method as it stands in the request line.
  public let rawValue: String

  /// Any token of RFC 9110 §5.6.2; not checked here.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// RFC 9110 §9.3.1.
  public static let get = HTTPMethod(rawValue: "GET")
  /// RFC 9110 §9.3.2.
  public static let head = HTTPMethod(rawValue: "HEAD")
  /// RFC 9110 §9.3.3.
  public static let post = HTTPMethod(rawValue: "POST")
  /// RFC 9110 §9.3.4.
  public static let put = HTTPMethod(rawValue: "PUT")
  /// RFC 5789.
  public static let patch = HTTPMethod(rawValue: "PATCH")
  /// RFC 9110 §9.3.5.
  public static let delete = HTTPMethod(rawValue: "DELETE")
  /// RFC 9110 §9.3.7.
  public static let options = HTTPMethod(rawValue: "OPTIONS")

  /// Those that have a name here.
  public static let standard: Set<HTTPMethod> = [.get, .head, .post, .put, .patch, .delete, .options]

  /// The raw value.
  public var description: String { rawValue }
}
