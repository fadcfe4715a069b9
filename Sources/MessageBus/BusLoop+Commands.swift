import CLinux
import CoreTypes

extension BusLoop {
  /// The calls of one connection that wait for their answers; further ones are refused.
  static let boundOfSender = 16
  /// The same of all connections of one user.
  static let boundOfUser = 64
  /// The same of all connections.
  static let boundOfRequests = 256

  func execute(_ command: BusCommand) {
    switch command {
    case .call(let pending):
      enqueue(
        .call(
          SentCall(
            call: pending.call, purpose: .caller(pending.identifier, pending.completion),
            length: pending.length, deadline: pending.deadline)))
    case .cancel(let identifier):
      if let call = takeCall(identifier) {
        finish(call, .failure(BusError(.cancelled, "the task was canceled")))
      }
    case .signal(let signal, let destination, let length):
      guard state.isConnected else { return mailbox.release(length, for: destination) }
      enqueue(.signal(signal, destination: destination, length: length))
    case .answer(let token, let reply, let key, let length):
      guard let request = unanswered.removeValue(forKey: token) else {
        return mailbox.release(length, for: key)
      }
      guard request.expectsReply else { return mailbox.release(length, for: key) }
      enqueue(.answer(to: request.message, reply, key: key, length: length))
    case .subscribe(let record): subscribe(record)
    case .unsubscribe(let identifier): unsubscribe(identifier)
    }
  }

  /// Tells the one who waits how the call ended.
  func finish(_ call: SentCall, _ result: Result<[BusValue], BusError>) {
    switch call.purpose {
    case .caller(_, let completion):
      mailbox.callEnded()
      completion(result, received)
    case .owner(let name):
      switch result {
      case .success(let values): setOwner(values.first?.text.flatMap { BusName($0) }, of: name)
      case .failure(let error) where error.isServiceMissing: setOwner(nil, of: name, isNews: true)
      // Without a connection, all names are asked about anew when there is one.
      case .failure: setOwner(nil, of: name)
      }
    case .match(let identifier):
      guard case .failure(let error) = result, error.code == .refused,
        let record = subscriptions.removeValue(forKey: identifier)
      else { return }
      release(record.match.sender)
      record.push(.refused(error), owner: nil)
      record.queue.finish()
    case .service:
      switch result {
      // 1: owned from now on; 2: behind another owner, and told when it is our turn.
      case .success(let values):
        nameFailures = 0
        state.serviceError = nil
        setOwnsService(values.first?.number == 1)
      case .failure(let error):
        // With another connection it is asked for anyway.
        guard state.isConnected else { return }
        nameFailures += 1
        nameRetryTime = clinux_monotonic_time() + backoff.delay(afterFailures: nameFailures).nanoseconds
        state.serviceError = error
        setOwnsService(false)
      }
    case .user(let sender): admit(sender, result)
    case .nothing: break
    }
  }

  func setOwnsService(_ owns: Bool) {
    state.ownsService = owns && state.isConnected
    if owns { state.serviceError = nil }
    mailbox.tell(state)
  }

  /// Asks the bus itself.
  func ask(_ member: String, _ arguments: [BusValue], for purpose: SentCall.Purpose) {
    let call = BusMethodCall(
      member, of: .bus, at: "/org/freedesktop/DBus", destination: .bus, arguments: arguments)
    // 25 s, as libraries for D-Bus wait.
    let deadline = clinux_monotonic_time() + 25_000_000_000
    enqueue(.call(SentCall(call: call, purpose: purpose, length: 0, deadline: deadline)))
  }

  func requestName(_ name: BusName) {
    ask("RequestName", [.string(name.description), .uint32(0)], for: .service)
  }

  // MARK: subscriptions

  private func subscribe(_ record: SubscriptionRecord) {
    subscriptions[record.identifier] = record
    let name = record.match.sender
    if var owner = owners[name] {
      owner.subscriptions += 1
      owners[name] = owner
      // What the others know of the name, it is told at once.
      if owner.isKnown { record.push(owner.name.map { .appeared($0) } ?? .vanished, owner: owner.name) }
    } else {
      owners[name] = NameOwner()
      if state.isConnected { install(NameOwner(), of: name) } else { setOwner(nil, of: name, isNews: true) }
    }
    if state.isConnected { addMatch(record) }
  }

  private func unsubscribe(_ identifier: Int) {
    guard let record = subscriptions.removeValue(forKey: identifier) else { return }
    record.queue.finish()
    if let rule = record.match.rule, state.isConnected {
      ask("RemoveMatch", [.string(rule)], for: .nothing)
    }
    release(record.match.sender)
  }

  private func release(_ name: BusName) {
    guard var owner = owners[name] else { return }
    owner.subscriptions -= 1
    owners[name] = owner.subscriptions > 0 ? owner : nil
    guard owner.subscriptions == 0, state.isConnected else { return }
    ask("RemoveMatch", [.string(Self.ownerRule(of: name))], for: .nothing)
  }

  /// Follows the name, and asks who owns it: in this order, so that no change is missed.
  func install(_: NameOwner, of name: BusName) {
    ask("AddMatch", [.string(Self.ownerRule(of: name))], for: .nothing)
    ask("GetNameOwner", [.string(name.description)], for: .owner(name))
  }

  func addMatch(_ record: SubscriptionRecord) {
    guard let rule = record.match.rule else { return }
    ask("AddMatch", [.string(rule)], for: .match(record.identifier))
  }

  private static func ownerRule(of name: BusName) -> String {
    "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
      + "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(name)'"
  }

  /// Keeps the owner of a name, and tells it to those who follow the name where it is new, or where `isNews`.
  func setOwner(_ unique: BusName?, of name: BusName, isNews: Bool = false) {
    guard var owner = owners[name], isNews || owner.name != unique else { return }
    guard !(isNews && owner.isKnown && owner.name == unique) else { return }
    owner.name = unique
    owner.isKnown = true
    owners[name] = owner
    for record in subscriptions.values where record.match.sender == name {
      record.push(unique.map { .appeared($0) } ?? .vanished, owner: unique)
    }
  }
}

/// The owner of a name that subscriptions are about.
struct NameOwner {
  /// The owner's unique name; nil where no connection has the name, or it is not known.
  var name: BusName?
  /// Whether the subscriptions were told of it.
  var isKnown = false
  /// How many there are.
  var subscriptions = 1
}
