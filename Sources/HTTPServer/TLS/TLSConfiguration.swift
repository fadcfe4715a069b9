import Files
public import SystemCalls

/// The settings of TLS 1.2 and 1.3: the sockets that speak it, and the certificate.
public struct TLSConfiguration: Sendable {
  /// Where TLS is spoken, beside the plain ``HTTPServerConfiguration/addresses``.
  public var addresses: [ServerAddress]
  /// Inherited sockets of these names (`FileDescriptorName=` of a socket unit) speak TLS, all others do not.
  public var socketNames: Set<String> = ["https"]
  /// PEM: the server's certificate, then the intermediate ones in the order of signing.
  public var certificateFile: String
  /// PEM: the certificate's private key, without a passphrase.
  public var keyFile: String
  /// How long clients are to reach this host by TLS alone (RFC 6797), told in every response over TLS; nil tells
  /// them nothing, zero to forget it. Whole seconds count.
  public var strictTransport: Duration?

  /// With ``socketNames`` as they are.
  public init(addresses: [ServerAddress] = [], certificateFile: String, keyFile: String) {
    self.addresses = addresses
    self.certificateFile = certificateFile
    self.keyFile = keyFile
  }

  /// Reads certificate and key, and nothing comes of it. Blocks. Throws
  /// ``HTTPServerError/Code/certificateInvalid`` for files that no server can use.
  public func check() throws(HTTPServerError) {
    _ = try TLSContext(self)
  }

  /// Whether others than its owner and its group may read the key file, which a service should refuse; false
  /// when there is none. Blocks. Throws the ``SystemError`` of lstat(2).
  public func keyIsExposed() throws(SystemError) -> Bool {
    // The permissions of a link are those of what it leads to.
    guard let path = try? FileSystem.realPath(keyFile), let status = try FileSystem.status(of: path) else {
      return false
    }
    return status.permissions & 0o007 != 0
  }
}
