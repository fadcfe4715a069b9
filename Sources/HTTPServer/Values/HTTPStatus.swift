/// A status code of a final or interim response (RFC 9110 §15).
public struct HTTPStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  public let rawValue: Int

  /// `rawValue` must have three digits.
  public init(rawValue: Int) {
    precondition((100...999).contains(rawValue), "a status code has three digits")
    self.rawValue = rawValue
  }

  /// RFC 8297.
  public static let earlyHints = HTTPStatus(rawValue: 103)
  /// draft-ietf-httpbis-resumable-upload.
  public static let uploadResumptionSupported = HTTPStatus(rawValue: 104)
  public static let ok = HTTPStatus(rawValue: 200)
  public static let created = HTTPStatus(rawValue: 201)
  public static let accepted = HTTPStatus(rawValue: 202)
  public static let noContent = HTTPStatus(rawValue: 204)
  public static let partialContent = HTTPStatus(rawValue: 206)
  public static let movedPermanently = HTTPStatus(rawValue: 301)
  public static let found = HTTPStatus(rawValue: 302)
  public static let seeOther = HTTPStatus(rawValue: 303)
  public static let notModified = HTTPStatus(rawValue: 304)
  public static let temporaryRedirect = HTTPStatus(rawValue: 307)
  public static let permanentRedirect = HTTPStatus(rawValue: 308)
  public static let badRequest = HTTPStatus(rawValue: 400)
  public static let unauthorized = HTTPStatus(rawValue: 401)
  public static let paymentRequired = HTTPStatus(rawValue: 402)
  public static let forbidden = HTTPStatus(rawValue: 403)
  public static let notFound = HTTPStatus(rawValue: 404)
  public static let methodNotAllowed = HTTPStatus(rawValue: 405)
  public static let notAcceptable = HTTPStatus(rawValue: 406)
  public static let requestTimeout = HTTPStatus(rawValue: 408)
  public static let conflict = HTTPStatus(rawValue: 409)
  public static let gone = HTTPStatus(rawValue: 410)
  public static let lengthRequired = HTTPStatus(rawValue: 411)
  public static let preconditionFailed = HTTPStatus(rawValue: 412)
  public static let contentTooLarge = HTTPStatus(rawValue: 413)
  public static let targetTooLong = HTTPStatus(rawValue: 414)
  public static let unsupportedMediaType = HTTPStatus(rawValue: 415)
  public static let rangeNotSatisfiable = HTTPStatus(rawValue: 416)
  public static let expectationFailed = HTTPStatus(rawValue: 417)
  public static let misdirectedRequest = HTTPStatus(rawValue: 421)
  public static let unprocessableContent = HTTPStatus(rawValue: 422)
  public static let preconditionRequired = HTTPStatus(rawValue: 428)
  public static let tooManyRequests = HTTPStatus(rawValue: 429)
  public static let fieldsTooLarge = HTTPStatus(rawValue: 431)
  /// tus 1.0.0, checksum extension.
  public static let checksumMismatch = HTTPStatus(rawValue: 460)
  public static let internalServerError = HTTPStatus(rawValue: 500)
  public static let notImplemented = HTTPStatus(rawValue: 501)
  public static let badGateway = HTTPStatus(rawValue: 502)
  public static let serviceUnavailable = HTTPStatus(rawValue: 503)
  public static let gatewayTimeout = HTTPStatus(rawValue: 504)
  public static let versionNotSupported = HTTPStatus(rawValue: 505)
  public static let insufficientStorage = HTTPStatus(rawValue: 507)

  public var description: String { "\(rawValue) \(reasonPhrase)" }

  /// RFC 9112 §4: a 1xx, 204 or 304 response never has content.
  public var forbidsContent: Bool { rawValue < 200 || rawValue == 204 || rawValue == 304 }
}

extension HTTPStatus {
  /// The phrase after the code in a status line; empty for a code without a registered one.
  public var reasonPhrase: StaticString {
    switch rawValue {
    case 100: "Continue"
    case 102: "Processing"
    case 103: "Early Hints"
    case 104: "Upload Resumption Supported"
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 402: "Payment Required"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 416: "Range Not Satisfiable"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 428: "Precondition Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 460: "Checksum Mismatch"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    case 507: "Insufficient Storage"
    default: ""
    }
  }
}
