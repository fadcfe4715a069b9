internal import CLinux
public import CoreTypes
public import SystemCalls

/// How a ``BusConnection`` behaves.
public struct BusConfiguration: Sendable {
  /// The name that the connection asks for whenever it is connected, and whose objects it serves; nil for one that serves nothing.
  public var service: BusName?
  /// The waits between tries to connect.
  public var backoff: Backoff

  /// A connection that serves nothing, with tries 0.2 s to 60 s apart, unless given.
  public init(
    service: BusName? = nil, backoff: Backoff = Backoff(initial: .milliseconds(200), cap: .seconds(60))
  ) {
    self.service = service
    self.backoff = backoff
  }
}

/// A connection to a bus, by sd-bus of libsystemd, which is opened when the first connection is: nothing links with it.
///
/// ```swift
/// let bus = try BusConnection.open(.system)
/// let level = try await bus.property(
///   "WarningLevel", of: "org.freedesktop.UPower.Device",
///   at: "/org/freedesktop/UPower/devices/DisplayDevice", destination: "org.freedesktop.UPower")
/// for await news in bus.subscribe(.properties(of: "org.freedesktop.UPower", at: "/org/freedesktop/UPower")) { … }
/// ```
///
/// One thread of its own has the connection; nothing blocks another. It need not be there: whatever is asked without it waits for it, and
/// when the bus goes and comes again, subscriptions and the service's name are made anew. Without something to do the thread sleeps, also
/// while there is no bus. Messages over the bounds of ``BusLimits`` are refused. Closed with the last reference.
public final class BusConnection: Sendable {
  private let mailbox: BusMailbox
  private let requestQueue: BusQueue<BusRequest>

  private init(_ parts: (mailbox: BusMailbox, requests: BusQueue<BusRequest>)) {
    mailbox = parts.mailbox
    requestQueue = parts.requests
  }

  deinit { mailbox.close() }

  /// Starts to connect and returns at once; opens libsystemd, which blocks, the first time. Throws `libraryMissing` where there is no
  /// libsystemd, `addressMissing` where the environment names no such bus, and `invalidValue` for an address that is not a Unix
  /// socket's.
  public static func open(
    _ address: BusAddress, environment: [String: String] = ProcessEnvironment.variables,
    configuration: BusConfiguration = BusConfiguration()
  ) throws(BusError) -> BusConnection {
    let text = try address.text(environment: environment)
    return BusConnection(try BusLoop.start(address: text, configuration: configuration))
  }

  /// Ends the connection: what waits for an answer throws `closed`, and sequences end.
  public func close() { mailbox.close() }

  /// The state now.
  public var state: BusState { mailbox.bus }

  /// The state now and whenever it changes; a state that is followed by another before it is read is left out. Ends with ``close()``.
  public func states() -> AsyncStream<BusState> { mailbox.states() }

  // MARK: asking

  /// Calls a method and answers its result. Throws `refused` with the other side's error, `timedOut`, `notConnected`, `disconnected`,
  /// `cancelled`, `tooLarge`, `malformed`, `invalidValue`, `queueFull` or `closed`.
  public nonisolated(nonsending) func call(
    _ call: BusMethodCall, timeout: Duration = .seconds(25)
  ) async throws(BusError) -> [BusValue] {
    try await result(of: call, timeout: timeout).values
  }

  /// Calls a method, which is posted in the caller's turn, and answers its result with its place among the signals of the one that is called. Throws as ``call(_:timeout:)``.
  public nonisolated(nonsending) func result(
    of call: BusMethodCall, timeout: Duration = .seconds(25)
  ) async throws(BusError) -> BusResult {
    let length = try BusValue.length(of: call.arguments, within: .message) + BusMailbox.overhead
    guard BusSyntax.isMember(call.member) else {
      throw BusError(.invalidValue, "\(call.member) is no name of a method")
    }
    let identifier = mailbox.newIdentifier()
    let deadline = clinux_monotonic_time().addingReportingOverflow(timeout.nanoseconds)
    let (result, place) = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let pending = PendingCall(
          identifier: identifier, call: call, length: length,
          deadline: deadline.overflow ? .max : deadline.partialValue
        ) { continuation.resume(returning: ($0, $1)) }
        do throws(BusError) {
          try mailbox.post(pending)
        } catch {
          continuation.resume(returning: (.failure(error), 0))
        }
        // The handler may have run before there was something to cancel.
        if Task.isCancelled { mailbox.post(.cancel(identifier)) }
      }
    } onCancel: {
      mailbox.post(.cancel(identifier))
    }
    return BusResult(values: try result.get(), place: place)
  }

  /// A property of an object, without the variant around it. Throws as ``call(_:timeout:)``.
  public func property(
    _ name: String, of interface: BusInterface, at path: BusPath, destination: BusName,
    startingService: Bool = true, timeout: Duration = .seconds(25)
  ) async throws(BusError) -> BusValue {
    var get = BusMethodCall(
      "Get", of: .properties, at: path, destination: destination,
      arguments: [.string(interface.description), .string(name)])
    get.startsService = startingService
    let answer = try await call(get, timeout: timeout)
    guard answer.count == 1, case .variant(let value) = answer[0] else {
      throw BusError(.malformed, "\(name) of \(destination) is no property")
    }
    return value.withoutVariants
  }

  /// All properties of an object's interface, by their names, without the variants around them. Throws as ``call(_:timeout:)``.
  public func properties(
    of interface: BusInterface, at path: BusPath, destination: BusName, timeout: Duration = .seconds(25)
  ) async throws(BusError) -> [String: BusValue] {
    let answer = try await call(
      BusMethodCall(
        "GetAll", of: .properties, at: path, destination: destination,
        arguments: [.string(interface.description)]), timeout: timeout)
    guard answer.count == 1, let members = answer[0].members else {
      throw BusError(.malformed, "\(destination) answered something other than properties")
    }
    return members
  }

  /// Follows a sender. The first news says whether it is there.
  public func subscribe(_ match: BusMatch) -> BusSubscription {
    let subscription = BusSubscription(match, in: mailbox)
    mailbox.post(.subscribe(SubscriptionRecord(subscription)))
    return subscription
  }

  // MARK: telling

  /// Sends a signal: to one connection, or to all that follow it. Without a connection to the bus nothing is sent. Throws `queueFull`
  /// where the bus has not taken what was sent before, `invalidValue`, `tooLarge`, `closed`.
  public func send(_ signal: BusSignal, to destination: BusName? = nil) throws(BusError) {
    guard BusSyntax.isMember(signal.member) else {
      throw BusError(.invalidValue, "\(signal.member) is no name of a signal")
    }
    try mailbox.post(signal, to: destination)
  }

  /// The next call of another connection, where the configuration names a service; nil at the end and when the task is canceled. One
  /// task reads at a time. At most 256 calls are under way, 64 of one user and 16 of one connection, whether or not their senders want an
  /// answer; further ones are refused.
  public func nextRequest() async -> BusRequest? { await requestQueue.next() }
}
