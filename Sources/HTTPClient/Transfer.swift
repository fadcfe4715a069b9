import CoreTypes
import SystemCalls

/// One transfer while it runs: what has come, what was decided, why it has to end. Belongs to the loop's
/// thread; the callbacks of libcurl reach it through an unretained pointer, which is valid because the loop
/// keeps the transfer until its easy handle is out of the multi handle.
final class Transfer {
  let pending: PendingTransfer
  let easy: EasyHandle
  private var parser = HeadParser()
  private(set) var head: ResponseHead?
  /// Known with the head, since libcurl tells it only while the transfer has its connection.
  private(set) var tlsVersion: String?
  private(set) var bytesReceived: Int64 = 0
  private(set) var bytesSent: Int64 = 0
  private(set) var isRefused = false
  private(set) var refusedBody: [UInt8] = []
  /// Set when a callback ends the transfer; takes precedence over the result that libcurl then reports.
  private(set) var verdict: Verdict?

  struct Verdict {
    let code: HTTPClientError.Code
    let message: String
    var isRetryable = false
  }

  /// The answer of a callback to libcurl.
  enum Flow {
    case `continue`
    case pause
    case end
  }

  static let maximumRefusedBody = 64 << 10

  init(_ pending: PendingTransfer, on easy: EasyHandle) {
    self.pending = pending
    self.easy = easy
  }

  private func end(with code: HTTPClientError.Code, message: String, isRetryable: Bool = false) -> Flow {
    verdict = Verdict(code: code, message: message, isRetryable: isRetryable)
    return .end
  }

  func receive(line: Span<UInt8>) -> Flow {
    // What follows the final head are the trailers of a chunked body.
    guard head == nil else { return .continue }
    switch parser.accept(line: line) {
    case .incomplete: return .continue
    case .violation(let message): return end(with: .protocolViolation, message: message)
    case .head(let head): return receive(head)
    }
  }

  private func receive(_ head: ResponseHead) -> Flow {
    if (100..<200).contains(head.status) { return .continue }
    if pending.request.followsRedirects, (300..<400).contains(head.status),
      let location = head.headers["Location"], !location.isEmpty
    {
      return .continue
    }
    self.head = head
    if pending.request.describesCertificate { tlsVersion = easy.tlsVersion() }
    if pending.receiver.receive(head: head) == .refuse {
      isRefused = true
      return .continue
    }
    if let limit = pending.request.maximumResponseLength, let length = head.contentLength, length > limit,
      pending.request.method != "HEAD"
    {
      return end(with: .tooLarge, message: "the response's body is longer than \(limit)")
    }
    return .continue
  }

  func receive(_ bytes: Span<UInt8>) -> Flow {
    if isRefused { return collectRefused(bytes) }
    if let limit = pending.request.maximumResponseLength, bytesReceived + Int64(bytes.count) > limit.rawValue
    {
      return end(with: .tooLarge, message: "the response's body is longer than \(limit)")
    }
    switch pending.receiver.receive(bytes) {
    case .consumed:
      bytesReceived += Int64(bytes.count)
      return .continue
    case .pause: return .pause
    case .stop: return end(with: .stopped, message: "the receiver wanted no more")
    }
  }

  private func collectRefused(_ bytes: Span<UInt8>) -> Flow {
    let room = Self.maximumRefusedBody - refusedBody.count
    for index in 0..<min(room, bytes.count) { refusedBody.append(bytes[index]) }
    return bytes.count > room ? .end : .continue
  }

  /// How much of the request's body goes into a buffer of `capacity` bytes next.
  func nextCount(upTo capacity: Int) -> Int {
    Int(min(Int64(capacity), pending.request.body.length.rawValue - bytesSent))
  }

  /// Fills `buffer`, which has the length of ``nextCount(upTo:)``, with the next bytes of the request's body.
  func send(into buffer: inout MutableSpan<UInt8>) -> Flow {
    switch pending.request.body {
    case .none: break
    case .bytes(let bytes):
      let start = Int(bytesSent)
      let next = bytes.span.extracting(start..<start + buffer.count)
      // Both have as many bytes.
      unsafe buffer.withUnsafeMutableBytes { target in
        unsafe next.withUnsafeBytes { source in
          unsafe target.copyMemory(from: source)
        }
      }
      bytesSent += Int64(buffer.count)
    case .file(let file, let range, let progress):
      do {
        guard try file.descriptor.fill(&buffer, at: ByteCount(range.lowerBound + bytesSent)) else {
          return end(with: .unreadableBody, message: "the file to send is shorter than the range asked for")
        }
      } catch {
        return end(with: .unreadableBody, message: "the file to send cannot be read: \(error)")
      }
      bytesSent += Int64(buffer.count)
      progress?(ByteCount(bytesSent))
    }
    return .continue
  }

  /// libcurl sends a body again after a kept connection turned out to be gone.
  func rewind(to offset: Int64) -> Bool {
    guard (0...pending.request.body.length.rawValue).contains(offset) else { return false }
    bytesSent = offset
    return true
  }
}
