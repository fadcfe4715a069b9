import PullboxTesting

/// A plain connection of a test, or one that speaks TLS.
protocol TestConnection: ResponseReader {
  func send(_ text: String) async throws
  func reset()
}

extension RawConnection: TestConnection {}

extension SecureConnection: TestConnection {
  func reset() { plain.reset() }
}
