/// The ends of what was started so far: run the last first, so that nothing is used that was stopped before it.
struct StopOrder: Sendable {
  private var stops: [@Sendable () async -> Void] = []

  /// Notes how to stop what is started next, or was started just now.
  mutating func note(_ stop: @escaping @Sendable () async -> Void) { stops.append(stop) }

  /// Stops everything that was noted.
  func run() async {
    for stop in stops.reversed() { await stop() }
  }

  /// Returns what `start` makes of it, with the stops that it noted. What it throws is thrown once everything that it had started is stopped.
  static func starting<Value: Sendable>(
    _ start: (inout StopOrder) async throws -> Value
  ) async throws -> (value: Value, stops: StopOrder) {
    var stops = StopOrder()
    do {
      let value = try await start(&stops)
      return (value, stops)
    } catch {
      await stops.run()
      throw error
    }
  }
}
