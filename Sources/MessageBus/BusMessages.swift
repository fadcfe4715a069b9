/// A call of a method of another connection's object.
public struct BusMethodCall: Hashable, Sendable {
  /// The connection that is called.
  public var destination: BusName
  /// The object.
  public var path: BusPath
  /// The interface of the method.
  public var interface: BusInterface
  /// The method.
  public var member: String
  /// The arguments; their types are the method's signature.
  public var arguments: [BusValue]
  /// Whether the bus starts a service for a name that no connection has.
  public var startsService = true
  /// Whether the other side may ask the user for a password before it answers, which takes as long as the user does.
  public var mayAsk = false

  /// A call from its parts.
  public init(
    _ member: String, of interface: BusInterface, at path: BusPath, destination: BusName,
    arguments: [BusValue] = []
  ) {
    self.destination = destination
    self.path = path
    self.interface = interface
    self.member = member
    self.arguments = arguments
  }
}

/// The result of a call.
public struct BusResult: Hashable, Sendable {
  /// The values.
  public let values: [BusValue]
  /// The place of the answer among all messages of the connection, as ``BusSignal/place``.
  public let place: UInt64
}

/// A signal, one that came or one that is sent.
public struct BusSignal: Hashable, Sendable {
  /// The object that tells it.
  public var path: BusPath
  /// The interface of the signal.
  public var interface: BusInterface
  /// The signal.
  public var member: String
  /// The arguments; their types are the signal's signature.
  public var arguments: [BusValue]
  /// The place among all messages that the connection was sent: of two messages of one sender, the one that it sent later has the larger
  /// one. 0 for a signal that did not come.
  public internal(set) var place: UInt64 = 0

  /// Two signals are equal that tell the same, whenever they came.
  public static func == (left: BusSignal, right: BusSignal) -> Bool {
    (left.path, left.interface, left.member) == (right.path, right.interface, right.member)
      && left.arguments == right.arguments
  }

  /// Hashes what the signal tells.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(path)
    hasher.combine(interface)
    hasher.combine(member)
    hasher.combine(arguments)
  }

  /// A signal from its parts.
  public init(
    _ member: String, of interface: BusInterface, at path: BusPath, arguments: [BusValue] = []
  ) {
    self.path = path
    self.interface = interface
    self.member = member
    self.arguments = arguments
  }

  /// `PropertiesChanged` of an object.
  public static func propertiesChanged(
    of interface: BusInterface, at path: BusPath, _ changed: [String: BusValue]
  ) -> BusSignal {
    BusSignal(
      "PropertiesChanged", of: .properties, at: path,
      arguments: [.string(interface.description), .properties(changed), .strings([])])
  }

  /// The bytes that the signal counts for while it waits to be sent; those of ``BusLimits/message`` for one that is over them.
  public var length: Int {
    do throws(BusError) {
      return try BusValue.length(of: arguments, within: .message) + BusMailbox.overhead
    } catch {
      return BusLimits.message.bytes
    }
  }
}

/// The signals of one sender that a subscription is about. Those that another connection sends, whatever it writes into them, do not
/// count: a signal's sender is what the bus says, and it must own the name at that moment.
public struct BusMatch: Hashable, Sendable {
  /// The part of the sender's signals.
  public enum Part: Hashable, Sendable {
    /// None: the subscription tells only whether the sender is there.
    case none
    /// The signals that have all of these that are given.
    case signals(
      path: BusPath? = nil, below: BusPath? = nil, interface: BusInterface? = nil, member: String? = nil)
  }

  /// The name that the sender owns.
  public var sender: BusName
  /// The part of its signals.
  public var part: Part

  /// A match from its parts.
  public init(sender: BusName, _ part: Part) {
    self.sender = sender
    self.part = part
  }

  /// `PropertiesChanged` of an object.
  public static func properties(of sender: BusName, at path: BusPath) -> BusMatch {
    BusMatch(sender: sender, .signals(path: path, interface: .properties, member: "PropertiesChanged"))
  }

  /// The rule for `AddMatch`; nil without signals.
  var rule: String? {
    guard case .signals(let path, let namespace, let interface, let member) = part else { return nil }
    var rule = "type='signal',sender='\(sender)'"
    if let path { rule += ",path='\(path)'" }
    if let namespace { rule += ",path_namespace='\(namespace)'" }
    if let interface { rule += ",interface='\(interface)'" }
    // A quote would end the value.
    if let member, BusSyntax.isMember(member) { rule += ",member='\(member)'" }
    return rule
  }

  /// Whether a signal of the sender is among those asked for.
  func includes(_ path: BusPath, _ interface: BusInterface, _ member: String) -> Bool {
    guard case .signals(let wantedPath, let namespace, let wantedInterface, let wantedMember) = part else {
      return false
    }
    return (wantedPath ?? path) == path && namespace.map(path.isWithin) ?? true
      && (wantedInterface ?? interface) == interface && (wantedMember ?? member) == member
  }
}

/// One piece of news of a ``BusSubscription``.
public enum BusNews: Hashable, Sendable {
  /// The sender is there from now on, with that unique name: what was known of it before may be out of date. Signals of it come from
  /// here on; a question that is asked now is answered with what these signals change.
  case appeared(BusName)
  /// The sender is not there, or there is no bus.
  case vanished
  /// A signal of the sender.
  case signal(BusSignal)
  /// Signals were left out, because too many came before they were read. Whether the sender is there follows.
  case missed
  /// The bus takes no such subscription; there is no further news.
  case refused(BusError)
}

/// The state of a connection to a bus.
public struct BusState: Hashable, Sendable {
  /// The connection's unique name; nil without a connection.
  public var uniqueName: BusName?
  /// Whether the connection owns the name that it was opened with.
  public var ownsService = false
  /// Why the bus last refused that name, which is asked for again; nil where it has not.
  public var serviceError: BusError?

  /// Whether there is a connection.
  public var isConnected: Bool { uniqueName != nil }
}
