import CoreTypes
import HTTPParsing

/// A status code of a final or interim response (RFC 9110 §15).
public struct HTTPStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The code: 100 to 999.
  public let rawValue: Int

  /// `rawValue` must have three digits.
  public init(rawValue: Int) {
    precondition((100...999).contains(rawValue), "a status code has three digits")
    self.rawValue = rawValue
  }

  /// The status that tells a client why its head was refused.
  init(_ refusal: HeadRefusal) { self.init(rawValue: refusal.rawValue) }

  /// RFC 8297.
  public static let earlyHints = HTTPStatus(rawValue: 103)
  /// draft-ietf-httpbis-resumable-upload.
  public static let uploadResumptionSupported = HTTPStatus(rawValue: 104)
  /// RFC 9110 §15.3.1.
  public static let ok = HTTPStatus(rawValue: 200)
  /// RFC 9110 §15.3.2.
  public static let created = HTTPStatus(rawValue: 201)
  /// RFC 9110 §15.3.3.
  public static let accepted = HTTPStatus(rawValue: 202)
  /// RFC 9110 §15.3.5.
  public static let noContent = HTTPStatus(rawValue: 204)
  /// RFC 9110 §15.3.7.
  public static let partialContent = HTTPStatus(rawValue: 206)
  /// RFC 9110 §15.4.2.
  public static let movedPermanently = HTTPStatus(rawValue: 301)
  /// RFC 9110 §15.4.3.
  public static let found = HTTPStatus(rawValue: 302)
  /// RFC 9110 §15.4.4.
  public static let seeOther = HTTPStatus(rawValue: 303)
  /// RFC 9110 §15.4.5.
  public static let notModified = HTTPStatus(rawValue: 304)
  /// RFC 9110 §15.4.8.
  public static let temporaryRedirect = HTTPStatus(rawValue: 307)
  /// RFC 9110 §15.4.9.
  public static let permanentRedirect = HTTPStatus(rawValue: 308)
  /// RFC 9110 §15.5.1.
  public static let badRequest = HTTPStatus(rawValue: 400)
  /// RFC 9110 §15.5.2.
  public static let unauthorized = HTTPStatus(rawValue: 401)
  /// RFC 9110 §15.5.3.
  public static let paymentRequired = HTTPStatus(rawValue: 402)
  /// RFC 9110 §15.5.4.
  public static let forbidden = HTTPStatus(rawValue: 403)
  /// RFC 9110 §15.5.5.
  public static let notFound = HTTPStatus(rawValue: 404)
  /// RFC 9110 §15.5.6.
  public static let methodNotAllowed = HTTPStatus(rawValue: 405)
  /// RFC 9110 §15.5.7.
  public static let notAcceptable = HTTPStatus(rawValue: 406)
  /// RFC 9110 §15.5.9.
  public static let requestTimeout = HTTPStatus(rawValue: 408)
  /// RFC 9110 §15.5.10.
  public static let conflict = HTTPStatus(rawValue: 409)
  /// RFC 9110 §15.5.11.
  public static let gone = HTTPStatus(rawValue: 410)
  /// RFC 9110 §15.5.12.
  public static let lengthRequired = HTTPStatus(rawValue: 411)
  /// RFC 9110 §15.5.13.
  public static let preconditionFailed = HTTPStatus(rawValue: 412)
  /// RFC 9110 §15.5.14.
  public static let contentTooLarge = HTTPStatus(rawValue: 413)
  /// RFC 9110 §15.5.15.
  public static let targetTooLong = HTTPStatus(rawValue: 414)
  /// RFC 9110 §15.5.16.
  public static let unsupportedMediaType = HTTPStatus(rawValue: 415)
  /// RFC 9110 §15.5.17.
  public static let rangeNotSatisfiable = HTTPStatus(rawValue: 416)
  /// RFC 9110 §15.5.18.
  public static let expectationFailed = HTTPStatus(rawValue: 417)
  /// RFC 9110 §15.5.20.
  public static let misdirectedRequest = HTTPStatus(rawValue: 421)
  /// RFC 9110 §15.5.21.
  public static let unprocessableContent = HTTPStatus(rawValue: 422)
  /// RFC 6585 §3.
  public static let preconditionRequired = HTTPStatus(rawValue: 428)
  /// RFC 6585 §4.
  public static let tooManyRequests = HTTPStatus(rawValue: 429)
  /// RFC 6585 §5.
  public static let fieldsTooLarge = HTTPStatus(rawValue: 431)
  /// tus 1.0.0, checksum extension.
  public static let checksumMismatch = HTTPStatus(rawValue: 460)
  /// The status that logs and metrics give to a request whose client went away first; no client gets it. The
  /// name and number are nginx's.
  public static let clientClosedRequest = HTTPStatus(rawValue: 499)
  /// RFC 9110 §15.6.1.
  public static let internalServerError = HTTPStatus(rawValue: 500)
  /// RFC 9110 §15.6.2.
  public static let notImplemented = HTTPStatus(rawValue: 501)
  /// RFC 9110 §15.6.3.
  public static let badGateway = HTTPStatus(rawValue: 502)
  /// RFC 9110 §15.6.4.
  public static let serviceUnavailable = HTTPStatus(rawValue: 503)
  /// RFC 9110 §15.6.5.
  public static let gatewayTimeout = HTTPStatus(rawValue: 504)
  /// RFC 9110 §15.6.6.
  public static let versionNotSupported = HTTPStatus(rawValue: 505)
  /// RFC 4918 §11.5.
  public static let insufficientStorage = HTTPStatus(rawValue: 507)

  /// The code and its ``reasonPhrase``: `404 Not Found`.
  public var description: String { "\(rawValue) \(reasonPhrase)" }

  /// RFC 9112 §4: a 1xx, 204 or 304 response never has content.
  public var forbidsContent: Bool { rawValue < 200 || rawValue == 204 || rawValue == 304 }

  /// The phrase after the code in a status line; empty for a code without one.
  public var reasonPhrase: StaticString { ReasonPhrase.phrase(ofStatus: rawValue) }
}
