import COpenSSL

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
