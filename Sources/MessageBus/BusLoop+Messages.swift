extension BusLoop {
  /// Deals with a message that came. False for one that the library answers: calls of its own interface, and calls of objects where this
  /// connection serves none. The message is valid during the call.
  func receive(_ message: OpaquePointer) -> Bool {
    let reader = unsafe MessageReader(message)
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
      let signal = BusSignal(member, of: interface, at: path, arguments: try reader.values(within: .message))
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
    let handle = unsafe MessageHandle(sharing: message)
    guard let path = reader.path, let member = reader.member else {
      refuse(handle, reader, "org.freedesktop.DBus.Error.InvalidArgs", "the path is too long")
      return true
    }
    guard unanswered.count < Self.boundOfRequests,
      unanswered.values.count(where: { $0.sender == sender }) < Self.boundOfSender
    else {
      refuse(handle, reader, "org.freedesktop.DBus.Error.LimitsExceeded", "too many calls wait for answers")
      return true
    }
    let arguments: [BusValue]
    do throws(BusError) {
      arguments = try reader.values(within: .request)
    } catch {
      let name =
        error.code == .tooLarge
        ? "org.freedesktop.DBus.Error.LimitsExceeded" : "org.freedesktop.DBus.Error.InvalidArgs"
      refuse(handle, reader, name, error.message)
      return true
    }
    let token = mailbox.newIdentifier()
    if reader.expectsReply { unanswered[token] = (sender, handle) }
    let request = BusRequest(
      sender: sender, path: path, interface: reader.interface, member: member, arguments: arguments,
      mayAsk: reader.mayAsk, answer: BusAnswer(token: token, sender: sender, mailbox: mailbox))
    guard !requests.push(request) else { return true }
    unanswered[token] = nil
    refuse(handle, reader, "org.freedesktop.DBus.Error.LimitsExceeded", "too many calls wait to be looked at")
    return true
  }

  private func refuse(_ handle: MessageHandle, _ reader: MessageReader, _ name: String, _ text: String) {
    guard reader.expectsReply else { return }
    enqueue(.answer(to: handle, .failure(name: name, message: text), key: nil, length: 0))
  }
}
