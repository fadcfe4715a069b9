import CZlib

/// Compresses small documents into the gzip format (RFC 1952), in memory.
enum Gzip {
  struct Failure: Error, CustomStringConvertible {
    var code: Int32
    var description: String { "zlib refused to compress: \(code)" }
  }

  static func compress(_ bytes: [UInt8]) throws -> [UInt8] {
    var stream = unsafe z_stream()
    // 15 window bits, and 16 more for a gzip header in place of zlib's.
    let started = unsafe czlib_deflate_init(&stream, Z_DEFAULT_COMPRESSION, 15 + 16, 8)
    guard started == Z_OK else { throw Failure(code: started) }
    defer { _ = unsafe deflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: Int(unsafe deflateBound(&stream, UInt(bytes.count))))
    let result = unsafe input.withUnsafeMutableBufferPointer { input in
      unsafe output.withUnsafeMutableBufferPointer { output in
        unsafe stream.next_in = input.baseAddress
        unsafe stream.avail_in = UInt32(input.count)
        unsafe stream.next_out = output.baseAddress
        unsafe stream.avail_out = UInt32(output.count)
        return unsafe deflate(&stream, Z_FINISH)
      }
    }
    guard result == Z_STREAM_END else { throw Failure(code: result) }
    output.removeLast(Int(unsafe stream.avail_out))
    return output
  }
}
