extension BusLoop {
  /// Deals with a message that came. False for one that the library answers: calls of its own interface, and calls of objects where this
  /// connection serves none. The message is valid during the call.
  func receive(_ message: OpaquePointer) -> Bool {
    let reader = unsafe MessageReader(message)
    received += 1
    switch reader.kind {
    case .methodReturn, .methodError:
      receiveAnswer(reader)
      return true
    case .signal:
      receiveSignal(reader)
      return true
    case .methodCall:
      guard service != nil, reader.interface != .peer else { return false }
      return unsafe receiveCall(reader, message)
    case nil: return true
    }
  }

  private func receiveAnswer(_ reader: MessageReader) {
    guard let cookie = reader.replyCookie, let call = calls[cookie] else { return }
    let destination = call.call.destination
    // An answer of another connection than was asked; of a well-known name's owner the bus sees to it. An error may be the bus's own: by
    // it the bus says that it lets the call not through, or that the one who was asked has gone.
    let isOfBus = reader.kind == .methodError && reader.sender == .bus
    if destination.isUnique || destination == .bus, reader.sender != destination, !isOfBus { return }
    calls[cookie] = nil
    if reader.kind == .methodError {
      let name = reader.errorName ?? "org.freedesktop.DBus.Error.Failed"
      finish(call, .failure(BusError(.refused, reader.errorText ?? name, name: name)))
      return
    }
    do throws(BusError) {
      finish(call, .success(try reader.values(within: .message)))
    } catch {
      finish(call, .failure(error))
    }
  }

  private func receiveSignal(_ reader: MessageReader) {
    guard let sender = reader.sender, let path = reader.path, let interface = reader.interface,
      let member = reader.member
    else { return }
    if sender == .bus, interface == .bus { receiveNameSignal(reader, member) }
    let interested = subscriptions.values.filter { record in
      let owner = record.match.sender == .bus ? .bus : owners[record.match.sender]?.name
      return owner == sender && record.match.includes(path, interface, member)
    }
    guard !interested.isEmpty else { return }
    do throws(BusError) {
      var signal = BusSignal(member, of: interface, at: path, arguments: try reader.values(within: .message))
      signal.place = received
      for record in interested { record.push(.signal(signal), owner: sender) }
    } catch {
      // A signal over the bounds, or one that cannot be read: its reader asks for the state anew.
      for record in interested { record.push(.missed, owner: sender) }
    }
  }

  private func receiveNameSignal(_ reader: MessageReader, _ member: String) {
    switch member {
    case "NameOwnerChanged":
      guard let values = try? reader.values(within: .request), values.count == 3,
        let name = values[0].text.flatMap({ BusName($0) }), let new = values[2].text
      else { return }
      // The owner that goes first, where another takes its place.
      if owners[name]?.name != nil { setOwner(nil, of: name) }
      if let unique = BusName(new) { setOwner(unique, of: name) }
    case "NameAcquired", "NameLost":
      guard let service, let values = try? reader.values(within: .request),
        values.first?.text == service.description
      else { return }
      setOwnsService(member == "NameAcquired")
    default: break
    }
  }

  private func receiveCall(_ reader: MessageReader, _ message: OpaquePointer) -> Bool {
    guard let sender = reader.sender else { return true }
    let call = UnansweredCall(
      sender: sender, message: unsafe MessageHandle(sharing: message), expectsReply: reader.expectsReply)
    guard let path = reader.path, let member = reader.member else {
      refuse(call, "org.freedesktop.DBus.Error.InvalidArgs", "the path is too long")
      return true
    }
    let waiting = unanswered.count + arrivals.values.reduce(0) { $0 + $1.count }
    let own = unanswered.values.count { $0.sender == sender } + (arrivals[sender]?.count ?? 0)
    guard waiting < Self.boundOfRequests, own < Self.boundOfSender else {
      refuse(call, Self.limitsExceeded, "too many calls wait for answers")
      return true
    }
    let arguments: [BusValue]
    do throws(BusError) {
      arguments = try reader.values(within: .request)
    } catch {
      let name =
        error.code == .tooLarge
        ? Self.limitsExceeded : "org.freedesktop.DBus.Error.InvalidArgs"
      refuse(call, name, error.message)
      return true
    }
    let arrived = ArrivedCall(
      path: path, interface: reader.interface, member: member, arguments: arguments, mayAsk: reader.mayAsk,
      call: call)
    arrivals[sender, default: []].append(arrived)
    // Those behind the first of a sender wait for the same answer.
    guard arrivals[sender]?.count == 1 else { return true }
    ask("GetConnectionUnixUser", [.string(sender.description)], for: .user(sender))
    return true
  }

  /// Hands over the calls of a connection whose user the bus has told, as many as its user may have. Those of one that is gone are dropped:
  /// whether it may is not known any more.
  func admit(_ sender: BusName, _ result: Result<[BusValue], BusError>) {
    let arrived = arrivals.removeValue(forKey: sender) ?? []
    guard case .success(let values) = result, let user = values.first?.number.flatMap(UInt32.init(exactly:))
    else {
      if case .failure(let error) = result, error.isServiceMissing { return }
      for one in arrived {
        refuse(one.call, "org.freedesktop.DBus.Error.Failed", "the bus does not tell who asks")
      }
      return
    }
    for one in arrived {
      var call = one.call
      call.user = user
      guard unanswered.values.count(where: { $0.user == user }) < Self.boundOfUser else {
        refuse(call, Self.limitsExceeded, "too many calls of your user wait for answers")
        continue
      }
      let token = mailbox.newIdentifier()
      unanswered[token] = call
      let request = BusRequest(
        sender: sender, path: one.path, interface: one.interface, member: one.member,
        arguments: one.arguments, mayAsk: one.mayAsk,
        answer: BusAnswer(token: token, sender: sender, mailbox: mailbox))
      guard !requests.push(request) else { continue }
      unanswered[token] = nil
      refuse(call, Self.limitsExceeded, "too many calls wait to be looked at")
    }
  }

  private static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"

  private func refuse(_ call: UnansweredCall, _ name: String, _ text: String) {
    guard call.expectsReply else { return }
    enqueue(.answer(to: call.message, .failure(name: name, message: text), key: nil, length: 0))
  }
}

/// A call of another connection, from its coming to its answer: it counts for its sender and its user whether or not an answer is
/// expected, until one is given or let go.
struct UnansweredCall {
  let sender: BusName
  /// The sender's user; nil until the bus has told it.
  var user: UInt32?
  let message: MessageHandle
  /// False where the sender wants no answer, and gets none.
  let expectsReply: Bool
}

/// A call that is not handed over yet.
struct ArrivedCall {
  let path: BusPath
  let interface: BusInterface?
  let member: String
  let arguments: [BusValue]
  let mayAsk: Bool
  let call: UnansweredCall
}
