import CoreTypes
import HTTPClient
import PullboxAPI
import ServiceAPI
import ServiceRuntime

/// The way to the server: name, connection, TLS, and who answers there.
enum ReachabilityRules {
  /// Before a certificate ends there is to be time to renew it.
  static let renewal = Duration.seconds(14 * 86_400)

  /// `address`, `tls` and `server`. Without any response it says only how far the connection came.
  static func findings(_ seen: ServerObservations) -> [Finding] {
    guard let answer = seen[.report] else { return [] }
    if let failure = answer.failure, answer.head == nil {
      let way = Finding("address", .ok, "\(seen.authority) is reached")
      return isOfTLS(failure.code) ? [way, tls(failure, seen)] : [unreached(failure, seen)]
    }
    return [address(answer, seen), tls(answer, seen), server(answer, seen)]
  }

  /// Whether a connection was there, and TLS ended it.
  private static func isOfTLS(_ code: HTTPClientError.Code) -> Bool {
    [
      .certificateNotTrusted, .certificateOutOfDate, .certificateForAnotherName, .certificateNotPinned,
      .secureConnectionFailed,
    ].contains(code)
  }

  /// Tells a host that accepts the connection and is silent from one that is not reached.
  private static func unreached(_ failure: ProbeAnswer.Failure, _ seen: ServerObservations) -> Finding {
    switch failure.code {
    case .hostNotFound:
      Finding(
        "address", .failure, "\(seen.authority) has no address: \(failure.message)", cause: .nameUnknown)
    case .timedOut where failure.wasConnected, .connectionLost where failure.wasConnected:
      Finding(
        "address", .failure,
        "\(seen.authority) accepts the connection and does not answer: \(failure.message)",
        cause: .silent)
    case .connectionFailed, .timedOut, .connectionLost, .proxyRefused:
      Finding(
        "address", .failure, "\(seen.authority) is not reached: \(failure.message)", cause: .notReached)
    case .protocolViolation:
      Finding("address", .failure, "what answers at \(seen.authority) is no HTTP server: \(failure.message)")
    default: Finding("address", .undetermined, failure.message)
    }
  }

  private static func address(_ answer: ProbeAnswer, _ seen: ServerObservations) -> Finding {
    guard let connection = answer.connection, !connection.remoteAddress.isEmpty else {
      return Finding("address", .ok, "\(seen.authority) is reached")
    }
    return Finding(
      "address", .ok,
      "\(seen.authority) is \(connection.remoteAddress); name after \(connection.nameLookup.milliseconds) ms, "
        + "connection after \(connection.connect.milliseconds) ms more"
        + (connection.httpVersion.map { "; \($0)" } ?? ""))
  }

  private static func tls(_ failure: ProbeAnswer.Failure, _ seen: ServerObservations) -> Finding {
    let cause: Cause? =
      switch failure.code {
      case .certificateNotTrusted: .certificateUntrusted
      case .certificateOutOfDate: .certificateOutOfDate
      case .certificateForAnotherName: .certificateForAnotherName
      default: nil
      }
    return Finding("tls", .failure, failure.message, cause: cause)
  }

  /// The certificate's end is compared with this machine's clock.
  private static func tls(_ answer: ProbeAnswer, _ seen: ServerObservations) -> Finding {
    guard seen.isSecure else {
      return seen.isLoopback
        ? Finding("tls", .ok, "none, on this machine's own address")
        : Finding("tls", .warning, "none: the address is http", cause: .notEncrypted)
    }
    let version = answer.connection?.tlsVersion.map { "; \($0)" } ?? ""
    guard let expiry = answer.connection?.certificateExpiry else {
      return Finding("tls", .ok, "the certificate counts here\(version)")
    }
    let left = expiry - answer.began
    guard left > renewal else {
      return Finding(
        "tls", .warning, "the certificate ends in \(DurationText.short(left)), at \(expiry)\(version)",
        cause: .certificateEndsSoon)
    }
    return Finding("tls", .ok, "the certificate counts here until \(expiry)\(version)")
  }

  /// A report is the server's own. Without one a problem document still is; anything else is judged by its
  /// status.
  private static func server(_ answer: ProbeAnswer, _ seen: ServerObservations) -> Finding {
    if let report = answer.report {
      return Finding("server", .ok, "pullbox-server \(report.version)" + behind(seen.proxy))
    }
    let status = answer.status ?? 0
    if answer.problem != nil { return refused(answer, status: status) }
    switch status {
    case 300..<400: return redirected(to: answer.field("Location") ?? "", status: status, seen)
    case 401:
      return Finding("server", .failure, "a log-in is wanted (401)", cause: .logInWanted)
    case 407, 511:
      return Finding("server", .failure, "the network wants a log-in (\(status))", cause: .portal)
    case 502...504:
      return Finding("server", .failure, "status \(status)" + ofProxy(seen.proxy), cause: .serverAway)
    case 200: return Finding("server", .failure, "a page answers instead of the server", cause: .portal)
    case 404:
      // A Pullbox server without the route says so in a problem document.
      return Finding(
        "server", .failure,
        "what answers is no Pullbox server: \(DiagnosticContent.reportPath) is not there (404)"
          + ofProxy(seen.proxy))
    default: return Finding("server", .failure, "\(answer.outcome)" + ofProxy(seen.proxy))
    }
  }

  /// A 404 in a problem document is of a server without diagnostics.
  private static func refused(_ answer: ProbeAnswer, status: Int) -> Finding {
    if status == 404 {
      return Finding(
        "server", .undetermined, "a Pullbox server without \(DiagnosticContent.reportPath) answers",
        cause: .noDiagnostics)
    }
    return Finding(
      "server", answer.isPassingRefusal ? .undetermined : .failure, "the server refuses: \(answer.outcome)")
  }

  /// Hosts are compared without their ports: the same host by https is no portal.
  private static func redirected(to location: String, status: Int, _ seen: ServerObservations) -> Finding {
    func host(_ authority: String) -> String {
      guard let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") else { return authority }
      return String(authority[..<colon])
    }
    let target = ServerObservations.authority(of: location)
    let isOther = location.contains("://") && host(target) != host(seen.authority)
    return Finding(
      "server", .failure, "status \(status) leads to \(location)",
      // Only what is not encrypted can be led elsewhere by a network.
      cause: isOther && !seen.isSecure ? .portal : .redirected)
  }

  private static func behind(_ proxy: Proxy?) -> String { proxy.map { " behind \($0.name)" } ?? "" }

  private static func ofProxy(_ proxy: Proxy?) -> String { proxy.map { " from \($0.name)" } ?? "" }
}
