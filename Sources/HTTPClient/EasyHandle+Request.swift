import CCurl
import CoreTypes

extension EasyHandle {
  /// All options but the callbacks. Call ``reset()`` before.
  func configure(
    for request: ClientRequest, _ configuration: HTTPClientConfiguration
  ) throws(HTTPClientError) {
    try set(CURLOPT_NOSIGNAL, to: 1)
    try set(CURLOPT_URL, to: request.url)
    try set(CURLOPT_PROTOCOLS_STR, to: "http,https")
    try set(CURLOPT_DISALLOW_USERNAME_IN_URL, to: 1)
    try set(CURLOPT_HTTP_VERSION, to: Int(CURL_HTTP_VERSION_1_1))
    try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, to: 1)
    try set(CURLOPT_TCP_KEEPALIVE, to: 1)
    try set(CURLOPT_USERAGENT, to: configuration.userAgent)
    try set(CURLOPT_BUFFERSIZE, to: Int(receiveBufferLength(for: request).rawValue))
    try configureTrust(request.trust ?? configuration.trust)
    if request.describesCertificate { try set(CURLOPT_CERTINFO, to: 1) }
    if request.usesFreshConnection {
      try set(CURLOPT_FRESH_CONNECT, to: 1)
      try set(CURLOPT_FORBID_REUSE, to: 1)
    }
    if let path = request.unixSocketPath { try set(CURLOPT_UNIX_SOCKET_PATH, to: path) }
    if !configuration.usesProxyOfEnvironment || request.unixSocketPath != nil || request.isForLoopback {
      try set(CURLOPT_PROXY, to: "")
    }
    try configureMethod(for: request)
    try configureRedirects(for: request)
    try configureTimes(for: request)
    try setFields(request.fieldLines)
  }

  private func configureTrust(_ trust: ServerTrust) throws(HTTPClientError) {
    if let file = trust.certificateAuthorityFile {
      try set(CURLOPT_CAINFO, to: file)
      // libcurl would go on to look into the system's directory as well.
      try unset(CURLOPT_CAPATH)
    }
    if !trust.publicKeyPins.isEmpty {
      try set(CURLOPT_PINNEDPUBLICKEY, to: trust.publicKeyPins.joined(separator: ";"))
    }
  }

  private func configureMethod(for request: ClientRequest) throws(HTTPClientError) {
    switch request.method {
    case "GET":
      try set(CURLOPT_HTTPGET, to: 1)
    case "HEAD":
      try set(CURLOPT_NOBODY, to: 1)
    default:
      if let bytes = request.bytesSentAtOnce {
        try setBody(bytes)
      } else if request.carriesBody {
        try set(CURLOPT_UPLOAD, to: 1)
        try set(CURLOPT_INFILESIZE_LARGE, offset: request.body.length.rawValue)
        // libcurl takes 64 KiB for each upload otherwise, and not less than 16.
        let isLong = request.body.length > .kibibytes(64)
        try set(CURLOPT_UPLOAD_BUFFERSIZE, to: isLong ? 512 << 10 : 16 << 10)
      }
      // A peer that knows nothing of expectations costs this once per upload; a slow one is not overrun.
      try set(CURLOPT_EXPECT_100_TIMEOUT_MS, to: 5000)
      try set(CURLOPT_CUSTOMREQUEST, to: request.method)
    }
  }

  private func configureRedirects(for request: ClientRequest) throws(HTTPClientError) {
    guard request.followsRedirects else { return }
    try set(CURLOPT_FOLLOWLOCATION, to: 1)
    try set(CURLOPT_MAXREDIRS, to: request.maximumRedirects)
    let isSecure = request.url.prefix(6).lowercased() == "https:"
    try set(CURLOPT_REDIR_PROTOCOLS_STR, to: isSecure ? "https" : "http,https")
  }

  private func configureTimes(for request: ClientRequest) throws(HTTPClientError) {
    try set(CURLOPT_CONNECTTIMEOUT_MS, to: Int(max(1, request.connectTimeout.milliseconds)))
    if let timeout = request.totalTimeout {
      try set(CURLOPT_TIMEOUT_MS, to: Int(max(1, timeout.milliseconds)))
    }
    if let limit = request.lowSpeed {
      try set(CURLOPT_LOW_SPEED_LIMIT, to: Int(limit.bytesPerSecond.rawValue))
      try set(CURLOPT_LOW_SPEED_TIME, to: Int(max(1, limit.duration.components.seconds)))
    }
    try limitReceiveSpeed(to: request.maximumReceiveSpeed)
  }

  /// libcurl 7.88 reads up to a hundred times before it looks at its cap: under one, those are a quarter of a
  /// second's bytes together.
  private func receiveBufferLength(for request: ClientRequest) -> ByteCount {
    if let length = request.receiveBufferLength { return length }
    guard let speed = request.maximumReceiveSpeed else { return .kibibytes(512) }
    return max(.kibibytes(1), min(.kibibytes(512), ByteCount(speed.rawValue / 400)))
  }

  func limitReceiveSpeed(to speed: ByteCount?) throws(HTTPClientError) {
    try set(CURLOPT_MAX_RECV_SPEED_LARGE, offset: max(0, speed?.rawValue ?? 0))
  }
}
