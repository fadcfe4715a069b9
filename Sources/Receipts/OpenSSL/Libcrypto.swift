import COpenSSL

/// libcrypto's error queue of the current thread. It is cleared before every use of the library and drained after a
/// failure, so that no call is blamed for an earlier one.
enum LibcryptoErrors {
  static func clear() { ERR_clear_error() }

  /// The first reason in the queue, which is emptied; "no reason given" for an empty queue.
  static func drain() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0, let text = unsafe ERR_reason_error_string(code) else { return "no reason given" }
    return unsafe String(cString: text)
  }
}

/// The two shapes of libcrypto's DER functions.
enum DERCoding {
  /// Runs a `d2i_` function over all of `bytes`. Nil when it refuses them or leaves some over.
  static func decode(
    _ bytes: [UInt8],
    with function: (
      UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int
    ) -> OpaquePointer?,
    free: (OpaquePointer) -> Void
  ) -> OpaquePointer? {
    unsafe bytes.withUnsafeBufferPointer { buffer in
      var cursor = buffer.baseAddress
      guard let object = unsafe function(&cursor, buffer.count) else { return nil }
      guard let cursor = unsafe cursor, let start = buffer.baseAddress,
        unsafe cursor - start == buffer.count
      else {
        unsafe free(object)
        return nil
      }
      return unsafe object
    }
  }

  /// Runs an `i2d_` function. Nil when it fails.
  static func encode(
    _ function: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
  ) -> [UInt8]? {
    let length = function(nil)
    guard length > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(length))
    let written = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      var cursor = buffer.baseAddress
      return unsafe function(&cursor)
    }
    return written == length ? bytes : nil
  }
}

/// Owner of a BIO over memory.
@safe
struct MemoryStream: ~Copyable {
  let handle: OpaquePointer

  /// An empty stream to write to.
  init() throws {
    guard let handle = unsafe BIO_new(BIO_s_mem()) else {
      throw ReceiptError(.signingFailed, "libcrypto: \(LibcryptoErrors.drain())")
    }
    unsafe self.handle = handle
  }

  /// A stream that holds a copy of `bytes`.
  static func holding(_ bytes: [UInt8]) throws -> MemoryStream {
    let stream = try MemoryStream()
    guard bytes.count <= Int(Int32.max),
      unsafe bytes.isEmpty || BIO_write(stream.handle, bytes, Int32(bytes.count)) == Int32(bytes.count)
    else { throw ReceiptError(.signingFailed, "libcrypto: \(LibcryptoErrors.drain())") }
    return stream
  }

  deinit {
    unsafe BIO_free_all(handle)
  }

  /// Everything that is in the stream and was not read yet.
  func contents() -> [UInt8] {
    var contents: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 8192)
    while true {
      let count = unsafe BIO_read(handle, &buffer, Int32(buffer.count))
      guard count > 0 else { return contents }
      contents.append(contentsOf: buffer[..<Int(count)])
    }
  }
}
