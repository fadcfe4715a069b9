import CMessageBus

/// The process-wide part of libsystemd.
enum BusLibrary {
  /// Finds the library. Throws `libraryMissing`.
  static func prepare() throws(BusError) {
    guard cmessagebus_load() == 0 else {
      let missing = unsafe cmessagebus_missing().map { unsafe String(cString: $0) } ?? ""
      throw BusError(.libraryMissing, "there is no \(missing)")
    }
  }
}

/// Owns one connection of sd-bus. Not Sendable: it lives on its loop's thread. Messages that are still held keep its memory, not its
/// socket.
@safe
final class BusHandle {
  private let bus: OpaquePointer

  /// Starts to connect; ``process()`` goes on with it. Where the socket is not there, the library waits for it without waking up.
  /// `handler` is called with `context` inside ``process()``, for each message that comes.
  init(
    address: String, handler: cmessagebus_handler, context: UnsafeMutableRawPointer
  ) throws(BusError) {
    var opened: OpaquePointer?
    try BusCall.check(unsafe cmessagebus_new(&opened), of: "sd_bus_new")
    guard let opened = unsafe opened else { throw BusError(.internalFailure, "sd_bus_new: no memory") }
    unsafe bus = opened
    // From here on `deinit` frees it.
    try BusCall.check(unsafe cmessagebus_set_address(bus, address), of: "sd_bus_set_address")
    try BusCall.check(unsafe cmessagebus_set_bus_client(bus, 1), of: "sd_bus_set_bus_client")
    try BusCall.check(unsafe cmessagebus_negotiate_fds(bus, 1), of: "sd_bus_negotiate_fds")
    try BusCall.check(unsafe cmessagebus_set_watch_bind(bus, 1), of: "sd_bus_set_watch_bind")
    try BusCall.check(unsafe cmessagebus_add_filter(bus, handler, context), of: "sd_bus_add_filter")
    try BusCall.check(unsafe cmessagebus_start(bus), of: "sd_bus_start")
  }

  deinit { unsafe cmessagebus_close_unref(bus) }

  /// Whether messages can be sent: the bus has given a name.
  func isReady() throws(BusError) -> Bool {
    try BusCall.check(unsafe cmessagebus_is_ready(bus), of: "sd_bus_is_ready") > 0
  }

  /// Does one step; false where there is none to do now.
  func process() throws(BusError) -> Bool {
    try BusCall.check(unsafe cmessagebus_process(bus), of: "sd_bus_process") > 0
  }

  /// The descriptor to wait for; another one after each step.
  func descriptor() throws(BusError) -> Int32 {
    try BusCall.check(unsafe cmessagebus_get_fd(bus), of: "sd_bus_get_fd")
  }

  /// The events of poll(2) to wait for.
  func events() throws(BusError) -> Int16 {
    Int16(truncatingIfNeeded: try BusCall.check(unsafe cmessagebus_get_events(bus), of: "sd_bus_get_events"))
  }

  /// When ``process()`` has to be called without an event, in nanoseconds of CLOCK_MONOTONIC; nil for no such time.
  func wakeUpTime() throws(BusError) -> Int64? {
    var microseconds: UInt64 = 0
    try BusCall.check(unsafe cmessagebus_get_timeout(bus, &microseconds), of: "sd_bus_get_timeout")
    let (nanoseconds, overflow) = microseconds.multipliedReportingOverflow(by: 1000)
    return overflow ? nil : Int64(clamping: nanoseconds)
  }

  /// Whether the kernel has taken all that was sent.
  func hasSentAll() throws(BusError) -> Bool {
    var count: UInt64 = 0
    try BusCall.check(unsafe cmessagebus_get_n_queued_write(bus, &count), of: "sd_bus_get_n_queued_write")
    return count == 0
  }

  /// The name that the bus gave; nil before.
  func uniqueName() -> BusName? {
    var name: UnsafePointer<CChar>?
    guard unsafe cmessagebus_get_unique_name(bus, &name) >= 0, let name = unsafe name else { return nil }
    return unsafe BusName(String(cString: name))
  }

  /// Queues the message and answers its number, by which the answer is known.
  func send(_ message: MessageHandle) throws(BusError) -> UInt64 {
    var cookie: UInt64 = 0
    try BusCall.check(unsafe cmessagebus_send(bus, message.pointer, &cookie), of: "sd_bus_send")
    return cookie
  }

  // MARK: messages

  func makeCall(_ call: BusMethodCall) throws(BusError) -> MessageHandle {
    var message: OpaquePointer?
    try BusCall.check(
      unsafe cmessagebus_message_new_method_call(
        bus, &message, call.destination.description, call.path.description, call.interface.description,
        call.member), of: "sd_bus_message_new_method_call")
    let handle = try unsafe MessageHandle(owning: message)
    if !call.startsService {
      try BusCall.check(
        unsafe cmessagebus_message_set_auto_start(handle.pointer, 0), of: "sd_bus_message_set_auto_start")
    }
    if call.mayAsk {
      try BusCall.check(
        unsafe cmessagebus_message_set_interactive(handle.pointer, 1),
        of: "sd_bus_message_set_allow_interactive_authorization")
    }
    try handle.append(call.arguments)
    return handle
  }

  func makeSignal(_ signal: BusSignal, to destination: BusName?) throws(BusError) -> MessageHandle {
    var message: OpaquePointer?
    try BusCall.check(
      unsafe cmessagebus_message_new_signal(
        bus, &message, signal.path.description, signal.interface.description, signal.member),
      of: "sd_bus_message_new_signal")
    let handle = try unsafe MessageHandle(owning: message)
    if let destination {
      try BusCall.check(
        unsafe cmessagebus_message_set_destination(handle.pointer, destination.description),
        of: "sd_bus_message_set_destination")
    }
    try handle.append(signal.arguments)
    return handle
  }
}
