import CMessageBus
import Glibc
import SystemCalls

/// Owns one reference to a message of sd-bus. Not Sendable, as the connection it belongs to.
@safe
final class MessageHandle {
  /// Valid while this object lives.
  let pointer: OpaquePointer

  /// Takes over the reference that a call of the library has given.
  init(owning pointer: OpaquePointer?) throws(BusError) {
    guard let pointer = unsafe pointer else { throw BusError(.internalFailure, "sd-bus: no memory") }
    unsafe self.pointer = pointer
  }

  /// Takes a reference of its own.
  init(sharing pointer: OpaquePointer) {
    unsafe self.pointer = pointer
    _ = unsafe cmessagebus_message_ref(pointer)
  }

  deinit { unsafe cmessagebus_message_unref(pointer) }

  /// The answer to this call.
  func makeAnswer(_ reply: BusReply) throws(BusError) -> MessageHandle {
    var message: OpaquePointer?
    switch reply {
    case .failure(let name, let text):
      try BusCall.check(
        unsafe cmessagebus_message_new_method_error(pointer, &message, name, text),
        of: "sd_bus_message_new_method_error")
      return try unsafe MessageHandle(owning: message)
    case .values(let values):
      try BusCall.check(
        unsafe cmessagebus_message_new_method_return(pointer, &message),
        of: "sd_bus_message_new_method_return")
      let handle = try unsafe MessageHandle(owning: message)
      try handle.append(values)
      return handle
    }
  }

  // MARK: writing

  func append(_ values: [BusValue]) throws(BusError) {
    for value in values { try append(value) }
  }

  private func append(_ value: BusValue) throws(BusError) {
    switch value {
    case .byte(let number): try append(number, as: "y")
    case .boolean(let flag): try append(Int32(flag ? 1 : 0), as: "b")
    case .int16(let number): try append(number, as: "n")
    case .uint16(let number): try append(number, as: "q")
    case .int32(let number): try append(number, as: "i")
    case .uint32(let number): try append(number, as: "u")
    case .int64(let number): try append(number, as: "x")
    case .uint64(let number): try append(number, as: "t")
    case .double(let number): try append(number, as: "d")
    case .string(let text): try append(text: text, as: "s")
    case .path(let path): try append(text: path.description, as: "o")
    case .signature(let text): try append(text: text, as: "g")
    // The library sends a copy.
    case .descriptor(let file): try append(file.descriptor.number, as: "h")
    case .bytes(let bytes):
      let result = unsafe bytes.withUnsafeBytes { bytes in
        unsafe cmessagebus_message_append_array(
          pointer, CChar(UInt8(ascii: "y")), bytes.baseAddress, bytes.count)
      }
      try BusCall.check(result, of: "sd_bus_message_append_array")
    case .array(let type, let elements):
      try within("a", type.description) { () throws(BusError) in try append(elements) }
    case .structure(let members):
      let types = members.map(\.type.description).joined()
      try within("r", types) { () throws(BusError) in try append(members) }
    case .dictionary(let key, let type, let entries):
      try within("a", "{\(key)\(type)}") { () throws(BusError) in
        for entry in entries {
          try within("e", "\(key)\(type)") { () throws(BusError) in
            try append(entry.key)
            try append(entry.value)
          }
        }
      }
    case .variant(let value):
      try within("v", value.type.description) { () throws(BusError) in try append(value) }
    }
  }

  private func append(_ number: some BitwiseCopyable, as code: Unicode.Scalar) throws(BusError) {
    let result = unsafe withUnsafePointer(to: number) { number in
      unsafe cmessagebus_message_append_basic(pointer, CChar(truncatingIfNeeded: code.value), number)
    }
    try BusCall.check(result, of: "sd_bus_message_append_basic")
  }

  private func append(text: String, as code: Unicode.Scalar) throws(BusError) {
    let result = unsafe text.withCString { text in
      unsafe cmessagebus_message_append_basic(pointer, CChar(truncatingIfNeeded: code.value), text)
    }
    try BusCall.check(result, of: "sd_bus_message_append_basic")
  }

  private func within(
    _ code: Unicode.Scalar, _ contents: String, _ body: () throws(BusError) -> Void
  ) throws(BusError) {
    try BusCall.check(
      unsafe cmessagebus_message_open_container(pointer, CChar(truncatingIfNeeded: code.value), contents),
      of: "sd_bus_message_open_container")
    try body()
    try BusCall.check(
      unsafe cmessagebus_message_close_container(pointer), of: "sd_bus_message_close_container")
  }
}

/// Reads a message that came, whose memory is the library's.
@safe
struct MessageReader {
  private let pointer: OpaquePointer

  /// Valid while `pointer` is.
  init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

  /// The kind of a message (D-Bus specification, "Message types").
  enum Kind: UInt8 {
    case methodCall = 1
    case methodReturn = 2
    case methodError = 3
    case signal = 4
  }

  /// Nil for a kind of a later specification.
  var kind: Kind? {
    var type: UInt8 = 0
    guard unsafe cmessagebus_message_get_type(pointer, &type) >= 0 else { return nil }
    return Kind(rawValue: type)
  }

  /// The number of the call that this answers; nil for another message.
  var replyCookie: UInt64? {
    var cookie: UInt64 = 0
    return unsafe cmessagebus_message_get_reply_cookie(pointer, &cookie) >= 0 ? cookie : nil
  }

  var expectsReply: Bool { unsafe cmessagebus_message_get_expect_reply(pointer) > 0 }
  var mayAsk: Bool { unsafe cmessagebus_message_get_interactive(pointer) > 0 }
  var sender: BusName? { unsafe Self.text(cmessagebus_message_get_sender(pointer)).flatMap { BusName($0) } }
  var path: BusPath? { unsafe Self.text(cmessagebus_message_get_path(pointer)).flatMap { BusPath($0) } }
  var interface: BusInterface? {
    unsafe Self.text(cmessagebus_message_get_interface(pointer)).flatMap { BusInterface($0) }
  }
  var member: String? { unsafe Self.text(cmessagebus_message_get_member(pointer)) }
  var errorName: String? { unsafe Self.text(cmessagebus_message_get_error_name(pointer)) }
  /// The first 1,024 bytes of the error's sentence.
  var errorText: String? { unsafe Self.text(cmessagebus_message_get_error_text(pointer)) }

  /// A copy of at most 1,024 bytes: no name of the specification is longer.
  private static func text(_ text: UnsafePointer<CChar>?) -> String? {
    guard let text = unsafe text else { return nil }
    let length = unsafe strnlen(text, BusPath.maximumLength + 1)
    let bytes = unsafe UnsafeRawBufferPointer(start: text, count: length)
    return unsafe String(decoding: bytes, as: UTF8.self)
  }

  /// All values. Throws `tooLarge`, and `malformed` for what sd-bus cannot read.
  func values(within limits: BusLimits) throws(BusError) -> [BusValue] {
    var allowance = BusAllowance(limits)
    return try elements(&allowance, depth: 0)
  }

  /// The values up to the end of the message, or of the container that was entered.
  private func elements(_ allowance: inout BusAllowance, depth: Int) throws(BusError) -> [BusValue] {
    var values: [BusValue] = []
    while let (code, contents) = try next() {
      values.append(try value(code, contents, &allowance, depth: depth))
    }
    return values
  }

  /// The type of the next value, and the types in it; nil at the end.
  private func next() throws(BusError) -> (code: UInt8, contents: String)? {
    var code: CChar = 0
    var contents: UnsafePointer<CChar>?
    let result = unsafe cmessagebus_message_peek_type(pointer, &code, &contents)
    guard try BusCall.check(result, of: "sd_bus_message_peek_type") > 0 else { return nil }
    return (UInt8(bitPattern: code), unsafe contents.map { unsafe String(cString: $0) } ?? "")
  }

  private func value(
    _ code: UInt8, _ contents: String, _ allowance: inout BusAllowance, depth: Int
  ) throws(BusError) -> BusValue {
    switch code {
    case UInt8(ascii: "y"): return .byte(try basic(code, UInt8(0), &allowance, depth))
    case UInt8(ascii: "b"): return .boolean(try basic(code, Int32(0), &allowance, depth) != 0)
    case UInt8(ascii: "n"): return .int16(try basic(code, Int16(0), &allowance, depth))
    case UInt8(ascii: "q"): return .uint16(try basic(code, UInt16(0), &allowance, depth))
    case UInt8(ascii: "i"): return .int32(try basic(code, Int32(0), &allowance, depth))
    case UInt8(ascii: "u"): return .uint32(try basic(code, UInt32(0), &allowance, depth))
    case UInt8(ascii: "x"): return .int64(try basic(code, Int64(0), &allowance, depth))
    case UInt8(ascii: "t"): return .uint64(try basic(code, UInt64(0), &allowance, depth))
    case UInt8(ascii: "d"): return .double(try basic(code, Double(0), &allowance, depth))
    case UInt8(ascii: "s"): return .string(try text(code, &allowance, depth))
    case UInt8(ascii: "g"): return .signature(try text(code, &allowance, depth))
    case UInt8(ascii: "o"):
      guard let path = BusPath(try text(code, &allowance, depth)) else {
        throw BusError(.tooLarge, "the path of an object is longer than what is taken")
      }
      return .path(path)
    case UInt8(ascii: "h"): return .descriptor(try descriptor(&allowance, depth))
    case UInt8(ascii: "a"): return try array(of: contents, &allowance, depth)
    case UInt8(ascii: "v"):
      try allowance.take(bytes: 4, depth: depth)
      let values = try within(code, contents) { () throws(BusError) in
        try elements(&allowance, depth: depth + 1)
      }
      guard let value = values.first, values.count == 1 else { throw Self.malformed }
      return .variant(value)
    case UInt8(ascii: "r"), UInt8(ascii: "("):
      try allowance.take(bytes: 0, depth: depth)
      return .structure(
        try within(UInt8(ascii: "r"), contents) { () throws(BusError) in
          try elements(&allowance, depth: depth + 1)
        })
    default: throw Self.malformed
    }
  }

  private func array(
    of contents: String, _ allowance: inout BusAllowance, _ depth: Int
  ) throws(BusError) -> BusValue {
    if contents == "y" { return .bytes(try bytes(&allowance, depth)) }
    try allowance.take(bytes: 4, depth: depth)
    guard contents.utf8.first == UInt8(ascii: "{") else {
      return .array(
        of: BusType(unchecked: contents),
        try within(UInt8(ascii: "a"), contents) { () throws(BusError) in
          try elements(&allowance, depth: depth + 1)
        })
    }
    let entries = try within(UInt8(ascii: "a"), contents) { () throws(BusError) in
      var entries: [BusEntry] = []
      while let (code, types) = try next() {
        guard code == UInt8(ascii: "e") || code == UInt8(ascii: "{") else { throw Self.malformed }
        let pair = try within(UInt8(ascii: "e"), types) { () throws(BusError) in
          try elements(&allowance, depth: depth + 1)
        }
        guard pair.count == 2 else { throw Self.malformed }
        entries.append(BusEntry(key: pair[0], value: pair[1]))
      }
      return entries
    }
    let types = contents.dropFirst().dropLast()
    return .dictionary(
      key: BusType(unchecked: String(types.prefix(1))), value: BusType(unchecked: String(types.dropFirst())),
      entries)
  }

  private func within<Value>(
    _ code: UInt8, _ contents: String, _ body: () throws(BusError) -> Value
  ) throws(BusError) -> Value {
    let result = unsafe cmessagebus_message_enter_container(pointer, CChar(bitPattern: code), contents)
    guard try BusCall.check(result, of: "sd_bus_message_enter_container") > 0 else { throw Self.malformed }
    let value = try body()
    try BusCall.check(
      unsafe cmessagebus_message_exit_container(pointer), of: "sd_bus_message_exit_container")
    return value
  }

  private func basic<Number: BitwiseCopyable>(
    _ code: UInt8, _ zero: Number, _ allowance: inout BusAllowance, _ depth: Int
  ) throws(BusError) -> Number {
    try allowance.take(bytes: MemoryLayout<Number>.size, depth: depth)
    var number = zero
    let result = unsafe withUnsafeMutablePointer(to: &number) { number in
      unsafe cmessagebus_message_read_basic(pointer, CChar(bitPattern: code), number)
    }
    guard try BusCall.check(result, of: "sd_bus_message_read_basic") > 0 else { throw Self.malformed }
    return number
  }

  private func text(
    _ code: UInt8, _ allowance: inout BusAllowance, _ depth: Int
  ) throws(BusError) -> String {
    var text: UnsafePointer<CChar>?
    let result = unsafe withUnsafeMutablePointer(to: &text) { text in
      unsafe cmessagebus_message_read_basic(pointer, CChar(bitPattern: code), text)
    }
    guard try BusCall.check(result, of: "sd_bus_message_read_basic") > 0, let text = unsafe text else {
      throw Self.malformed
    }
    // The length is looked for no further than what is taken.
    let length = unsafe strnlen(text, allowance.bytes + 1)
    try allowance.take(bytes: length, depth: depth)
    let bytes = unsafe UnsafeRawBufferPointer(start: text, count: length)
    guard let valid = unsafe String(validating: bytes, as: UTF8.self) else { throw Self.malformed }
    return valid
  }

  private func bytes(_ allowance: inout BusAllowance, _ depth: Int) throws(BusError) -> [UInt8] {
    var start: UnsafeRawPointer?
    var length = 0
    let result = unsafe cmessagebus_message_read_array(
      pointer, CChar(bitPattern: UInt8(ascii: "y")), &start, &length)
    try BusCall.check(result, of: "sd_bus_message_read_array")
    try allowance.take(bytes: length, depth: depth)
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: length))
  }

  private func descriptor(_ allowance: inout BusAllowance, _ depth: Int) throws(BusError) -> BusDescriptor {
    // The library closes its own with the message.
    let number = try basic(UInt8(ascii: "h"), Int32(-1), &allowance, depth)
    guard number >= 0 else { throw Self.malformed }
    do {
      return BusDescriptor(
        FileDescriptor(
          takingOwnershipOf: try SystemCall.run("fcntl") { fcntl(number, F_DUPFD_CLOEXEC, 0) }))
    } catch {
      throw BusError(.internalFailure, "\(error)")
    }
  }

  private static let malformed = BusError(.malformed, "a message is malformed")
}
