import CoreTypes
import Synchronization

/// A call of another connection that a service answers.
public struct BusRequest: Sendable {
  /// The unique name of the caller, as the bus tells it.
  public let sender: BusName
  /// The object that is called.
  public let path: BusPath
  /// The interface; nil where the caller leaves it open.
  public let interface: BusInterface?
  /// The method.
  public let member: String
  /// The arguments.
  public let arguments: [BusValue]
  /// Whether the caller waits while its user is asked for a password.
  public let mayAsk: Bool
  /// The way of the answer.
  public let answer: BusAnswer
}

/// The answer to one request. The first one counts; a request that is let go without an answer is refused.
public final class BusAnswer: Sendable {
  private let isGiven = Mutex(false)
  private let token: Int
  private let sender: BusName
  private let mailbox: BusMailbox

  init(token: Int, sender: BusName, mailbox: BusMailbox) {
    self.token = token
    self.sender = sender
    self.mailbox = mailbox
  }

  deinit {
    give(.failure(name: "org.freedesktop.DBus.Error.NoReply", message: "the service gave no answer"))
  }

  /// Answers with values, whose types are the method's result. What no message can hold, and what the caller does not read away,
  /// becomes an error for it.
  public func reply(_ values: [BusValue] = []) { give(.values(values)) }

  /// Answers with an error: its name has the syntax of an interface.
  public func refuse(_ name: BusInterface, _ message: String) {
    give(.failure(name: name.description, message: message))
  }

  private func give(_ reply: BusReply) {
    let isFirst = isGiven.locked { isGiven in
      defer { isGiven = true }
      return !isGiven
    }
    guard isFirst else { return }
    do throws(BusError) {
      try mailbox.post(answer: reply, to: token, of: sender)
    } catch {
      // The loop forgets the request, and says so where there is room for that.
      let name =
        error.code == .queueFull || error.code == .tooLarge
        ? "org.freedesktop.DBus.Error.LimitsExceeded" : "org.freedesktop.DBus.Error.Failed"
      mailbox.post(.answer(token, .failure(name: name, message: error.message), key: nil, length: 0))
    }
  }
}

/// The content of an answer.
enum BusReply: Sendable {
  case values([BusValue])
  case failure(name: String, message: String)
}
