import Testing

@testable import HTTPServer

struct ConnectionMachineTests {
  private typealias Machine = ConnectionMachine

  static let events: [ConnectionEvent] = {
    var events: [ConnectionEvent] = [
      .handshakeEnded, .handshakeFailed, .bytesBeforeHead, .headRefused, .bodyArrived, .bodyBufferFilled,
      .bodyWanted, .bodyEnded, .bodyMalformed,
      .streamEnded, .peerEnded, .abandoned, .deadlinePassed, .drainBegan,
    ]
    for wait in [Machine.Wait.nothing, .socket, .pages, .turn, .handler] { events.append(.outputWaits(wait)) }
    for first in [false, true] {
      events.append(.responseSent(isInputRead: first))
      for second in [false, true] {
        for third in [false, true] {
          events.append(.headEnded(hasContent: first, keepsAlive: second, expectsContinue: third))
          events.append(.responseBegan(closes: first, streams: second, canDiscard: third))
        }
      }
    }
    return events
  }()

  /// Every state that any sequence of events can reach.
  private static let reachable: Set<ConnectionMachine> = {
    var open = [ConnectionMachine(), ConnectionMachine(input: .handshake)]
    var seen = Set(open)
    while let machine = open.popLast() {
      for event in events {
        var next = machine
        _ = next.handle(event)
        if seen.insert(next).inserted { open.append(next) }
      }
    }
    return seen
  }()

  /// Calls `body` for every reachable state and every event, with the state after it and the actions.
  private func forEveryStep(
    _ body: (ConnectionMachine, ConnectionEvent, ConnectionMachine, ConnectionActions) -> Bool,
    _ rule: Comment
  ) {
    for machine in Self.reachable {
      for event in Self.events {
        var next = machine
        let actions = next.handle(event)
        if !body(machine, event, next, actions) {
          Issue.record("\(rule): \(machine) + \(event) -> \(next), \(actions.rawValue)")
          return
        }
      }
    }
  }

  @Test("nothing happens after the end")
  func end() {
    forEveryStep({ !$0.isClosed || ($0 == $2 && $3.isEmpty) }, "closed is closed")
  }

  @Test("the end is announced exactly when it comes")
  func close() {
    forEveryStep({ $3.contains(.close) == (!$0.isClosed && $2.isClosed) }, "close")
  }

  @Test("a handler is asked for each head, when nothing else is going on")
  func offer() {
    forEveryStep(
      { before, event, after, actions in
        guard case .headEnded = event, before.input == .head, before.output == .nothing else {
          return !actions.contains(.offer)
        }
        return actions == .offer && after.output == .handling
      }, "offer")
  }

  @Test("a connection that breaks takes its handler along, and one without a handler cancels none")
  func cancel() {
    forEveryStep(
      { before, event, _, actions in
        let hasHandler = before.output == .handling || before.output == .streaming
        if actions.contains(.cancelHandler) { return hasHandler }
        return !(event == .abandoned && hasHandler && !before.isClosed)
      }, "cancel")
  }

  @Test("a peer that ends its side after its request leaves the handler a while, and then cancels it once")
  func departure() {
    forEveryStep(
      { before, event, after, actions in
        let hasHandler = before.output == .handling || before.output == .streaming
        if event == .peerEnded, before.input != .body, actions.contains(.cancelHandler) { return false }
        if event == .deadlinePassed, before.deadline == .departure {
          return actions == .cancelHandler && after.isHandlerCancelled && hasHandler
        }
        if actions.contains(.cancelHandler), !actions.contains(.close) { return !before.isHandlerCancelled }
        return true
      }, "departure")
    #expect(Self.reachable.contains { $0.deadline == .departure })
  }

  @Test("a handler that waits for content always learns how it ends")
  func body() {
    forEveryStep(
      { before, _, after, actions in
        guard before.input == .body else { return actions.isDisjoint(with: [.endBody, .failBody]) }
        return (after.input == .body) == actions.isDisjoint(with: [.endBody, .failBody])
      }, "body")
  }

  @Test("no request is read while another is answered")
  func order() {
    forEveryStep(
      { _, _, after, _ in after.output == .nothing || (after.input != .idle && after.input != .head) },
      "order")
  }

  @Test("permission to send content is given once, before the response, to a client that waits for it")
  func permission() {
    forEveryStep(
      { before, event, after, actions in
        guard actions.contains(.sendContinue) else { return true }
        return event == .bodyWanted && before.owesContinue && before.output == .handling
          && !after.owesContinue
      }, "permission")
  }

  @Test("after a response that closes, no request is read")
  func closing() {
    forEveryStep(
      { before, _, after, actions in
        !(before.closes && actions.contains(.read)) || after.input == .body
      }, "closing")
  }

  @Test("a connection is never left waiting for the client without a deadline")
  func deadlines() {
    forEveryStep(
      { _, _, after, _ in
        if after.isClosed { return after.deadline == .none }
        if after.output == .nothing { return after.deadline != .none }
        switch after.wait {
        case .socket: return after.deadline == .send
        case .pages: return after.deadline == .storage
        case .nothing, .turn, .handler: return after.deadline != .send && after.deadline != .storage
        }
      }, "deadline")
  }

  @Test(
    "an output says what it waits for, a handler from the request on, and nothing waits without an output")
  func waits() {
    forEveryStep(
      { before, event, after, _ in
        if after.output == .nothing { return after.wait == .nothing }
        if after.output == .handling { return after.wait != .nothing }
        guard case .outputWaits(let wait) = event, before.output == after.output else { return true }
        return after.wait == wait
      }, "wait")
  }

  @Test("a connection ends without lingering only where nothing of its client's can be unread")
  func lingering() {
    forEveryStep(
      { before, event, after, actions in
        guard case .responseSent(let isInputRead) = event, before.output == .sending, before.closes else {
          return true
        }
        if isInputRead, before.input == .complete { return actions == .close }
        return after.isLingering || before.peerHasEnded
      }, "lingering")
  }

  @Test("a deadline that passes always changes something")
  func passing() {
    for machine in Self.reachable where machine.deadline != .none {
      var next = machine
      let actions = next.handle(.deadlinePassed)
      #expect(next != machine && !actions.isEmpty, "\(machine)")
    }
  }

  @Test(
    "a drain ends every connection as soon as its request is answered, and waits a little for a first one")
  func drain() {
    for machine in Self.reachable where !machine.isClosed {
      var next = machine
      _ = next.handle(.drainBegan)
      #expect(next.isClosed || next.closes)
      guard next.input == .idle, next.output == .nothing, !next.isClosed else { continue }
      #expect(next.isFresh && next.deadline == .linger)
    }
  }

  @Test("from everywhere, an answer and a willing client lead on or to the end")
  func progress() {
    for machine in Self.reachable where machine.output != .nothing {
      var next = machine
      _ = next.handle(.outputWaits(.nothing))
      _ = next.handle(.responseBegan(closes: false, streams: false, canDiscard: true))
      _ = next.handle(.streamEnded)
      _ = next.handle(.responseSent(isInputRead: false))
      if next.input == .discarding || next.input == .body { _ = next.handle(.bodyEnded) }
      #expect(
        next.isClosed || next.isLingering || (next.input == .idle && next.output == .nothing), "\(machine)")
    }
  }

  @Test("two plain requests, step by step")
  func keepAlive() {
    var machine = ConnectionMachine()
    for _ in 0..<2 {
      #expect(machine.deadline == .idle)
      #expect(machine.handle(.bytesBeforeHead) == [])
      #expect(machine.deadline == .head)
      #expect(
        machine.handle(.headEnded(hasContent: false, keepsAlive: true, expectsContinue: false)) == .offer)
      #expect(machine.deadline == .none)
      #expect(!machine.acceptsInput)
      #expect(machine.handle(.responseBegan(closes: false, streams: false, canDiscard: true)) == [])
      #expect(machine.handle(.outputWaits(.socket)) == [])
      #expect(machine.deadline == .send)
      #expect(machine.handle(.outputWaits(.nothing)) == [])
      #expect(machine.handle(.responseSent(isInputRead: false)) == .read)
    }
  }

  @Test("an upload with permission and back-pressure, step by step")
  func upload() {
    var machine = ConnectionMachine()
    _ = machine.handle(.bytesBeforeHead)
    _ = machine.handle(.headEnded(hasContent: true, keepsAlive: true, expectsContinue: true))
    #expect(machine.handle(.bodyWanted) == [.sendContinue, .read])
    #expect(machine.deadline == .body)
    #expect(machine.handle(.bodyArrived) == [])
    #expect(machine.handle(.bodyBufferFilled) == [])
    #expect(!machine.acceptsInput)
    #expect(machine.deadline == .none)
    #expect(machine.handle(.bodyWanted) == .read)
    #expect(machine.acceptsInput)
    #expect(machine.handle(.bodyEnded) == .endBody)
    _ = machine.handle(.responseBegan(closes: false, streams: false, canDiscard: true))
    #expect(machine.handle(.responseSent(isInputRead: false)) == .read)
    #expect(!machine.closes)
  }

  @Test("an answer to a large unread body closes; to a small one it does not")
  func unreadBody() {
    for canDiscard in [false, true] {
      var machine = ConnectionMachine()
      _ = machine.handle(.bytesBeforeHead)
      _ = machine.handle(.headEnded(hasContent: true, keepsAlive: true, expectsContinue: false))
      _ = machine.handle(.responseBegan(closes: false, streams: false, canDiscard: canDiscard))
      #expect(machine.closes == !canDiscard)
      let actions = machine.handle(.responseSent(isInputRead: false))
      #expect(actions == (canDiscard ? [.failBody, .read] : [.failBody, .linger]))
      if canDiscard { #expect(machine.handle(.bodyEnded) == .read) }
    }
  }
}
