import CoreTypes

/// Asks until the answer is yes; for what other processes do without telling anybody, such as a ticket that expires. The
/// test's time limit ends it.
func eventually(_ condition: () async throws -> Bool) async throws {
  while try await !condition() {
    try await SystemMonotonicClock().sleep(for: .milliseconds(50))
  }
}
