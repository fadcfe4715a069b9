import CCurl
import CoreTypes

extension Transfer {
  /// Returns the transfer's result, given the code that libcurl ended it with.
  func result(_ result: CURLcode) -> Result<TransferSummary, HTTPClientError> {
    if let verdict {
      return .failure(error(verdict.code, message: verdict.message, isRetryable: verdict.isRetryable))
    }
    if isRefused {
      return .failure(error(.refused, message: "the response was refused: status \(head?.status ?? 0)"))
    }
    guard result == CURLE_OK else { return .failure(failure(result)) }
    guard let head else {
      return .failure(error(.protocolViolation, message: "the response has no final head"))
    }
    return .success(
      TransferSummary(
        head: head, bytesReceived: ByteCount(bytesReceived),
        bytesSent: ByteCount(pending.request.bytesSentAtOnce == nil ? bytesSent : easy.bytesSent),
        duration: easy.duration(CURLINFO_TOTAL_TIME_T),
        timeToFirstByte: easy.duration(CURLINFO_STARTTRANSFER_TIME_T),
        newConnections: easy.number(CURLINFO_NUM_CONNECTS),
        redirects: easy.number(CURLINFO_REDIRECT_COUNT), connection: connectionDetails))
  }

  private var connectionDetails: ConnectionDetails {
    let nameLookup = easy.duration(CURLINFO_NAMELOOKUP_TIME_T)
    let connect = easy.duration(CURLINFO_CONNECT_TIME_T)
    let handshake = easy.duration(CURLINFO_APPCONNECT_TIME_T)
    let expiry = pending.request.describesCertificate ? easy.certificateLines() : []
    return ConnectionDetails(
      remoteAddress: easy.text(CURLINFO_PRIMARY_IP), nameLookup: nameLookup,
      connect: max(.zero, connect - nameLookup), handshake: handshake > .zero ? handshake - connect : nil,
      httpVersion: Self.httpVersion(easy.number(CURLINFO_HTTP_VERSION)), tlsVersion: tlsVersion,
      certificateExpiry: expiry.lazy.compactMap { line in
        line.hasPrefix("Expire date:") ? String(line.dropFirst("Expire date:".count)) : nil
      }.first.flatMap(CertificateDate.read))
  }

  private static func httpVersion(_ number: Int) -> String? {
    switch number {
    case Int(CURL_HTTP_VERSION_1_0): "HTTP/1.0"
    case Int(CURL_HTTP_VERSION_1_1): "HTTP/1.1"
    default: nil
    }
  }

  func error(
    _ code: HTTPClientError.Code, message: String, isRetryable: Bool = false
  ) -> HTTPClientError {
    HTTPClientError(
      code: code, message: message, isRetryable: isRetryable, bytesReceived: ByteCount(bytesReceived),
      wasConnected: easy.duration(CURLINFO_CONNECT_TIME_T) > .zero, head: head,
      body: isRefused ? refusedBody : [])
  }

  private func failure(_ result: CURLcode) -> HTTPClientError {
    var (code, isRetryable) = Self.meaning(of: result)
    if result == CURLE_PEER_FAILED_VERIFICATION {
      code = Self.certificateFault(verification: easy.number(CURLINFO_SSL_VERIFYRESULT))
    } else if head == nil, let status = refusedTunnelStatus {
      return error(
        .proxyRefused, message: "the proxy refused a tunnel to the host: status \(status)", isRetryable: true)
    }
    // libcurl names a host and a port, which a socket has not.
    if result == CURLE_COULDNT_CONNECT, let path = pending.request.unixSocketPath {
      return error(code, message: "nothing answers at the socket \(path)", isRetryable: isRetryable)
    }
    var reason = easy.errorMessage
    if reason.isEmpty { unsafe reason = String(cString: curl_easy_strerror(result)) }
    return error(code, message: reason, isRetryable: isRetryable)
  }

  /// The status with which a proxy answered `CONNECT`; nil for a success.
  private var refusedTunnelStatus: Int? {
    let status = easy.number(CURLINFO_HTTP_CONNECTCODE)
    return (300..<600).contains(status) ? status : nil
  }

  /// `verification` is OpenSSL's verdict on the chain; libcurl compares the names itself, so a chain that is
  /// right belongs to another host.
  static func certificateFault(verification: Int) -> HTTPClientError.Code {
    switch verification {
    // X509_V_OK, or what libcurl begins with (X509_V_ERR_UNSPECIFIED): the chain was right.
    case 0, 1: .certificateForAnotherName
    // X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED.
    case 9, 10: .certificateOutOfDate
    // X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH.
    case 62, 64: .certificateForAnotherName
    default: .certificateNotTrusted
    }
  }

  /// Returns the meaning of libcurl's results, and whether the same request may succeed later.
  static func meaning(of result: CURLcode) -> (code: HTTPClientError.Code, isRetryable: Bool) {
    switch result {
    case CURLE_URL_MALFORMAT: (.invalidRequest, false)
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: (.hostNotFound, true)
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_PROXY, CURLE_NO_CONNECTION_AVAILABLE:
      (.connectionFailed, true)
    case CURLE_OPERATION_TIMEDOUT: (.timedOut, true)
    case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND:
      (.connectionLost, true)
    // The handshake broke: the peer may be restarting.
    case CURLE_SSL_CONNECT_ERROR: (.secureConnectionFailed, true)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
      (.certificateNotTrusted, false)
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: (.certificateNotPinned, false)
    case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE,
      CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
      (.secureConnectionFailed, false)
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2,
      CURLE_HTTP2_STREAM, CURLE_CHUNK_FAILED,
      // A redirect to a URL with user information.
      CURLE_LOGIN_DENIED:
      (.protocolViolation, false)
    case CURLE_TOO_MANY_REDIRECTS: (.tooManyRedirects, false)
    case CURLE_FILESIZE_EXCEEDED: (.tooLarge, false)
    case CURLE_WRITE_ERROR: (.stopped, false)
    case CURLE_READ_ERROR, CURLE_ABORTED_BY_CALLBACK: (.unreadableBody, false)
    default: (.internalFailure, false)
    }
  }
}
