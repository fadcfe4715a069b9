import CoreTypes
import Files
import SystemCalls
import Testing

/// The commits in a database's write-ahead log, as SQLite's file format says (§4.1): after a header of 32 bytes come
/// frames, each a header of 24 bytes and a page; the second word of a frame that ends a transaction is not zero.
struct WriteAheadLog {
  let commits: Int

  /// - Parameter path: that of the database.
  init(of path: String) throws {
    let bytes = try FileSystem.read(path + "-wal", upTo: .mebibytes(256))
    func word(_ start: Int) -> UInt32 { bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    try #require(bytes.count >= 32)
    let page = Int(word(8))
    let salt = Array(bytes[16..<24])
    // Frames of an earlier turn of the log, which follow the valid ones, have another salt.
    let frames = stride(from: 32, to: bytes.count - page - 23, by: 24 + page).prefix { start in
      Array(bytes[start + 8..<start + 16]) == salt
    }
    commits = frames.count { word($0 + 4) != 0 }
  }
}
