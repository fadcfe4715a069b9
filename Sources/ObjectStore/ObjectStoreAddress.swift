/// Where objects lie: a bucket of a store, and the part of it that is this installation's.
///
/// ```swift
/// let address = try ObjectStoreAddress(
///   location: "s3://comics/production", endpoint: "https://store.example:8443", region: "us-east-1")
/// address.host  // store.example:8443
/// address.path(of: ObjectKey("pullbox.json"))  // /comics/production/pullbox.json
/// ```
public struct ObjectStoreAddress: Hashable, Sendable {
  /// The bucket's name.
  public let bucket: String
  /// Stands before every key: empty, or with a slash at its end.
  public let prefix: String
  /// Part of what is signed.
  public let region: String
  /// Whether the bucket is the first part of the path; else it is the first label of the host's name.
  public let isPathStyle: Bool
  /// `http` or `https`.
  public let scheme: String
  /// The value of `Host`: in lower case, with the port unless it is the scheme's own.
  public let host: String

  /// The region where none is given: the one that most stores beside AWS call themselves.
  public static let defaultRegion = "us-east-1"
  /// Bytes of ``prefix``, at most: half of what a store takes as the name of an object.
  public static let maximumPrefixLength = 512

  /// Reads `s3://BUCKET` or `s3://BUCKET/PREFIX`, and the address of the store.
  ///
  /// - Parameters:
  ///   - endpoint: `http` or `https`, a host, perhaps a port; nil for AWS.
  ///   - region: nil for ``defaultRegion``.
  ///   - pathStyle: nil where the endpoint decides: virtual hosts for AWS unless the bucket's name has a period, which no certificate
  ///     of theirs covers; path style for all others.
  ///
  /// Throws with the part that is wrong.
  public init(
    location: String, endpoint: String? = nil, region: String? = nil, pathStyle: Bool? = nil
  ) throws(ObjectStoreAddressError) {
    (bucket, prefix) = try Self.parse(location: location)
    self.region = try Self.check(region: region ?? Self.defaultRegion)
    let server = try Endpoint(endpoint ?? "https://s3.\(self.region).amazonaws.com")
    scheme = server.scheme
    isPathStyle = pathStyle ?? (!server.isOfAWS || bucket.utf8.contains(UInt8(ascii: ".")))
    guard isPathStyle || !server.isNumeric else {
      throw ObjectStoreAddressError(
        .endpoint, "a bucket cannot be part of the numeric host \(server.host): use path style")
    }
    host = isPathStyle ? server.authority : "\(bucket).\(server.authority)"
  }

  /// The path of an object's URL before it is encoded.
  public func path(of key: ObjectKey) -> String { "\(bucketPath)\(prefix)\(key.rawValue)" }

  /// The path of the bucket's URL before it is encoded.
  public var bucketPath: String { isPathStyle ? "/\(bucket)/" : "/" }

  /// The bucket, and the prefix with a slash at its end. A slash at the end of the location is passed over.
  private static func parse(location: String) throws(ObjectStoreAddressError) -> (String, String) {
    let scheme = "s3://"
    guard location.hasPrefix(scheme) else {
      throw ObjectStoreAddressError(.location, "an address such as s3://BUCKET/PREFIX is expected")
    }
    let parts = location.dropFirst(scheme.count).split(
      separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let bucket = String(parts[0])
    if let fault = fault(ofBucket: bucket) { throw ObjectStoreAddressError(.location, fault) }
    var prefix = parts.count == 2 ? String(parts[1]) : ""
    guard !prefix.isEmpty else { return (bucket, "") }
    if prefix.hasSuffix("/") { prefix.removeLast() }
    let segments = prefix.split(separator: "/", omittingEmptySubsequences: false)
    guard
      segments.allSatisfy({ segment in
        !segment.isEmpty && segment != "." && segment != ".." && segment.utf8.allSatisfy(isPlain)
      })
    else {
      throw ObjectStoreAddressError(
        .location,
        "the prefix has parts of letters, digits, '.', '-' and '_' between slashes, none of them empty, '.' or '..'"
      )
    }
    guard prefix.utf8.count < maximumPrefixLength else {
      throw ObjectStoreAddressError(.location, "the prefix has at most \(maximumPrefixLength - 1) characters")
    }
    return (bucket, prefix + "/")
  }

  /// Applies the rules of AWS for names of buckets. Nil where there is no fault.
  private static func fault(ofBucket name: String) -> String? {
    guard (3...63).contains(name.utf8.count) else { return "a bucket's name has 3 to 63 characters" }
    let isAllowed: (UInt8) -> Bool = { byte in
      isLowerAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }
    guard name.utf8.allSatisfy(isAllowed) else {
      return "a bucket's name has lower-case letters, digits, '-' and '.' alone"
    }
    let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    for label in labels {
      guard let first = label.first, let last = label.last, isLowerAlphanumeric(first),
        isLowerAlphanumeric(last)
      else { return "the parts of a bucket's name between periods begin and end with a letter or a digit" }
    }
    return Endpoint.isVersion4(name) ? "a bucket's name is no IP address" : nil
  }

  /// Returns the region, or throws for a text that could change what is signed.
  private static func check(region: String) throws(ObjectStoreAddressError) -> String {
    guard (1...64).contains(region.utf8.count), region.utf8.allSatisfy(isPlain) else {
      throw ObjectStoreAddressError(
        .region, "a region has 1 to 64 letters, digits, '.', '-' and '_', such as eu-central-1")
    }
    return region
  }

  /// Whether the byte is a small letter or a digit of ASCII.
  private static func isLowerAlphanumeric(_ byte: UInt8) -> Bool {
    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
  }

  /// Whether the byte needs no encoding in a path.
  private static func isPlain(_ byte: UInt8) -> Bool {
    isLowerAlphanumeric(byte) || (0x41...0x5A).contains(byte) || [0x2D, 0x2E, 0x5F].contains(byte)
  }
}

extension ObjectStoreAddress: CustomStringConvertible {
  /// Location and endpoint, for people.
  public var description: String {
    "s3://\(bucket)\(prefix.isEmpty ? "" : "/\(prefix.dropLast())") at \(scheme)://\(host)"
  }
}

/// The address of a store's server.
private struct Endpoint {
  /// `http` or `https`.
  let scheme: String
  /// In lower case, with the brackets of IPv6.
  let host: String
  /// With the port unless it is the scheme's own.
  let authority: String

  /// Whether the host is an address of IPv4 or IPv6, before which no label can stand.
  var isNumeric: Bool { host.hasPrefix("[") || Self.isVersion4(host) }
  /// Whether the host is one of AWS, where buckets are labels of the host.
  var isOfAWS: Bool { host.hasSuffix(".amazonaws.com") || host.hasSuffix(".amazonaws.com.cn") }

  /// Reads an address in any case of its letters. A slash at its end is passed over; any other path is a fault.
  init(_ text: String) throws(ObjectStoreAddressError) {
    func fault(_ message: String) -> ObjectStoreAddressError { ObjectStoreAddressError(.endpoint, message) }
    let lowercased = text.lowercased()
    let schemes = ["http", "https"]
    guard let scheme = schemes.first(where: { lowercased.hasPrefix("\($0)://") }) else {
      throw fault("an address such as https://store.example is expected, http or https with a host")
    }
    self.scheme = scheme
    var rest = lowercased.dropFirst(scheme.count + 3)
    guard !rest.contains("@") else { throw fault("an address without user and password is expected") }
    guard !rest.contains("?"), !rest.contains("#") else {
      throw fault("an address without query and fragment is expected")
    }
    if rest.hasSuffix("/") { rest.removeLast() }
    guard !rest.contains("/") else { throw fault("an address without a path is expected") }
    let (host, port) = Self.split(rest)
    guard Self.isHost(host) else { throw fault("the host's name is missing, or malformed") }
    self.host = String(host)
    guard let port else {
      authority = self.host
      return
    }
    guard !port.isEmpty, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port),
      number > 0
    else { throw fault("a port is a number from 1 to 65535") }
    authority = number == (scheme == "http" ? 80 : 443) ? self.host : "\(self.host):\(number)"
  }

  /// The host and the text behind its colon; nil where there is none.
  private static func split(_ authority: Substring) -> (host: Substring, port: Substring?) {
    // The colons between brackets belong to an address of IPv6.
    let end = authority.lastIndex(of: "]") ?? authority.startIndex
    guard let colon = authority[end...].lastIndex(of: ":") else { return (authority, nil) }
    return (authority[..<colon], authority[authority.index(after: colon)...])
  }

  /// Whether the text may be a host: an address of IPv6 in brackets, or labels of 1 to 63 characters, 253 in all.
  private static func isHost(_ host: Substring) -> Bool {
    if host.hasPrefix("[") {
      let inner = host.utf8.dropFirst().dropLast()
      return host.hasSuffix("]") && inner.contains(UInt8(ascii: ":"))
        && inner.allSatisfy { byte in
          (0x30...0x3A).contains(byte) || (0x61...0x66).contains(byte) || byte == UInt8(ascii: ".")
        }
    }
    let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return host.utf8.count <= 253
      && labels.allSatisfy { label in
        let isPlain = label.allSatisfy { byte in
          (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x5F
        }
        return (1...63).contains(label.count) && isPlain
      }
  }

  /// Whether the text has the form of an address of IPv4.
  static func isVersion4(_ text: String) -> Bool {
    let octets = text.split(separator: ".", omittingEmptySubsequences: false)
    return octets.count == 4 && octets.allSatisfy { UInt8($0) != nil }
  }
}

/// Why there can be no store at an address. The caller names the setting that ``part`` came from.
public struct ObjectStoreAddressError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The argument that is wrong.
  public enum Part: Hashable, Sendable {
    /// `s3://BUCKET/PREFIX`.
    case location
    /// The address of the store's server.
    case endpoint
    /// The region's name.
    case region
  }

  /// The argument that is wrong.
  public let part: Part
  /// A sentence for people, without a full stop.
  public let message: String

  /// An error from its parts.
  public init(_ part: Part, _ message: String) {
    self.part = part
    self.message = message
  }

  /// The sentence.
  public var description: String { message }
}
