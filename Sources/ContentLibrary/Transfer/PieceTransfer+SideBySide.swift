import AgentRecords
import ContentPackage
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient

// Several connections at once, where one does not fill the way.
extension PieceTransfer {
  /// Whether several may run now: packed files have to come in order where they are read meanwhile.
  var canGoSideBySide: Bool {
    demand?.order.isEmpty != false || !session.manifest.files.contains { $0.method == .deflated }
  }

  /// Requests for short runs, as many at once as the transfer should have connections, until it should have one, or one of them ends in an
  /// error. That is thrown where nothing came, and where the server has said how long it wants to be left alone; otherwise the transfer goes on
  /// over one connection, and finds it again where it is not over. An error of the disk is thrown before one of the network.
  ///
  /// - Returns: the pieces that were written, and whether more may be asked for side by side.
  func fetchSideBySide(
    _ content: Content, lacking known: PieceMap, from position: Int, _ admission: NetworkGate.Admission
  ) async throws -> (written: StagingSession.WriteResult, hasAsked: Bool) {
    let connections = content.connections
    let queue = pieceQueue()
    let allotment = PieceAllotment(
      known, from: position, of: session, speed: Double(path.speeds.lastSpeed.rawValue))
    async let writing = session.writePieces(
      queue, buffers: buffers, progress: progress, stop: { allotment.stop() })
    let (failures, hasAsked) = await withTaskGroup(of: APICallError?.self) { group in
      var failures: [APICallError] = []
      var running = 0
      var hasAsked = false
      while true {
        while failures.isEmpty, !Task.isCancelled, canGoSideBySide, connections.count > 1,
          running < connections.count, running == 0 || path.allowance.take(at: path.clock.now())
        {
          guard let choice = nextChoice(in: allotment) else {
            if running > 0 { path.allowance.giveBack() }
            break
          }
          running += 1
          connections.setRunning(running)
          hasAsked = true
          buffers.grow(by: 2)
          group.addTask {
            defer { buffers.grow(by: -2) }
            return await fetch(content, choice, in: allotment, known, queue, admission)
          }
        }
        guard let failure = await group.next() else { break }
        running -= 1
        connections.setRunning(running)
        if running > 0 { path.allowance.giveBack() }
        guard let failure else { continue }
        failures.append(failure)
        connections.refuse()
        if failure.asksForFewer { path.allowance.close(at: path.clock.now()) }
      }
      return (failures, hasAsked)
    }
    progress.pace?.rest()
    queue.close()
    let result = try await writing
    if let error = result.failure { throw error }
    try Task.checkCancellation()
    if let failure = failures.first(where: { $0.asksForFewer && $0.retryAfter != nil }) {
      path.note(failure, isCertain: result.verifiedCount > 0, to: admission)
      throw StepFailure(failure, from: .server)
    }
    // What overtook the first missing piece found no place: that one is asked for alone.
    if result.isOutOfOrder { return (result, false) }
    if hasAsked, result.verifiedCount == 0, result.corrupt.isEmpty {
      connections.refuse()
      if let failure = failures.first {
        path.note(failure, isCertain: false, to: admission)
        throw StepFailure(failure, from: .server)
      }
    }
    return (result, hasAsked)
  }

  private func nextChoice(in allotment: PieceAllotment) -> Choice? {
    allotment.next(demand?.order ?? PieceOrder()).map { run in
      Choice(run: run, resumed: path.partials.remove(of: session.manifest.digest) { $0 == run.lowerBound })
    }
  }

  /// One of the requests; nil unless it ended in an error.
  private func fetch(
    _ content: Content, _ choice: Choice, in allotment: PieceAllotment, _ known: PieceMap,
    _ queue: PieceQueue,
    _ admission: NetworkGate.Admission
  ) async -> APICallError? {
    let receiver = receiver(
      of: choice, lacking: known, queue: queue, content.connections, admission, takesWhole: false)
    allotment.begin(receiver)
    let failure = await stream(choice, to: receiver, content)
    allotment.end(receiver)
    allotment.giveBack(choice.run, from: receiver.handed.map { $0 + 1 } ?? choice.run.lowerBound)
    let wasCut = receiver.wasCut && (failure?.code == .cancelled || failure?.code == .stopped)
    // What a reader or the disk has ended says nothing of the server.
    if wasCut || failure?.code == .cancelled { return nil }
    if failure == nil, receiver.handed == nil, receiver.bytesReceived == .zero {
      // It would be asked for again forever.
      return .unexpectedResponse(status: 206, detail: "an answer ended properly and brought nothing")
    }
    return error(of: failure, receiver)
  }
}

extension APICallError {
  /// Whether the server, or what stands before it, has said that it has too much to do.
  var asksForFewer: Bool {
    switch self {
    case .problem(let problem): [429, 503].contains(problem.status)
    case .unexpectedResponse(let status, _, _, _): [429, 503].contains(status)
    case .unreachable: false
    }
  }
}
