import CoreTypes
import PullboxAPI
import Testing

@testable import ContentPublishing

/// Vectors from draft-ietf-httpbis-resumable-upload §4 to §8.
@Suite("The draft's rules for one request")
struct ResumableAppendTests {
  private func decision(
    _ append: ResumableAppend, at offset: Int, length: Int? = nil, isComplete: Bool = false
  ) -> String {
    let state = UploadState(
      offset: ByteCount(offset), length: length.map { ByteCount($0) }, isComplete: isComplete)
    switch append.decide(state) {
    case .receive(let length, let end): return "receive \(length.map { "\($0.rawValue)" } ?? "-") \(end)"
    case .repeatAnswer: return "repeat"
    case .refuse(let error): return "refuse \(name(error))"
    case .abandon(let error): return "abandon \(name(error))"
    }
  }

  private func name(_ error: any Error) -> String {
    if let problem = error as? ResumableProblem {
      return String(problem.type.split(separator: "#").last ?? "")
    }
    return (error as? Problem)?.code?.text ?? "\(error)"
  }

  private func append(
    _ offset: Int, _ isComplete: Bool, content: Int? = nil, length: Int? = nil
  ) -> ResumableAppend {
    ResumableAppend(
      offset: ByteCount(offset), isComplete: isComplete, length: length.map { ByteCount($0) },
      contentLength: content.map { ByteCount($0) })
  }

  @Test("a request that ends the upload says its length by its own")
  func impliedLength() {
    #expect(decision(append(0, true, content: 100), at: 0) == "receive 100 here")
    #expect(decision(append(40, true, content: 60), at: 40, length: 100) == "receive 100 here")
    #expect(decision(append(40, true), at: 40) == "receive - here")
    #expect(decision(append(0, false, content: 40), at: 0) == "receive - later")
    #expect(decision(append(0, false, content: 40, length: 100), at: 0) == "receive 100 later")
  }

  @Test("lengths that do not agree, in one request or over several, are refused")
  func inconsistent() {
    let name = "refuse inconsistent-upload-length"
    #expect(decision(append(0, true, content: 100, length: 99), at: 0) == name)
    #expect(decision(append(0, true, content: 100, length: 101), at: 0) == name)
    #expect(decision(append(40, true, content: 59), at: 40, length: 100) == name)
    #expect(decision(append(40, false, content: 1, length: 101), at: 40, length: 100) == name)
    #expect(decision(append(40, false, content: 0, length: 39), at: 40) == name)
    let chunked = append(40, true)
    #expect(chunked.refusalToEnd(at: ByteCount(99), length: ByteCount(100)) != nil)
    #expect(chunked.refusalToEnd(at: ByteCount(100), length: ByteCount(100)) == nil)
    #expect(chunked.refusalToEnd(at: ByteCount(99), length: nil) == nil)
  }

  @Test("bytes beyond the length are refused, and the upload is given up")
  func exceeds() {
    #expect(
      decision(append(40, false, content: 61), at: 40, length: 100) == "abandon inconsistent-upload-length")
  }

  @Test("another offset than the upload's is refused with both")
  func offset() throws {
    #expect(decision(append(39, false, content: 1), at: 40) == "refuse mismatching-upload-offset")
    let problem = ResumableProblem.mismatchingOffset(expected: ByteCount(40), provided: ByteCount(39))
    #expect(problem.status == 409)
    #expect(
      String(decoding: try APIJSON.encode(problem), as: UTF8.self).contains(
        "\"expected-offset\":40,\"provided-offset\":39"))
  }

  @Test("reaching the length does not end an upload; an empty request that says so does")
  func emptyEnd() {
    #expect(decision(append(100, true, content: 0), at: 100, length: 100) == "receive 100 here")
  }

  @Test("the last request may be repeated when its answer was lost; anything else finds the upload complete")
  func repeated() {
    #expect(decision(append(100, true, content: 0), at: 100, length: 100, isComplete: true) == "repeat")
    let refusal = "refuse completed-upload"
    #expect(decision(append(100, false, content: 0), at: 100, length: 100, isComplete: true) == refusal)
    #expect(decision(append(100, true, content: 1), at: 100, length: 100, isComplete: true) == refusal)
    #expect(decision(append(40, true, content: 60), at: 100, length: 100, isComplete: true) == refusal)
  }

  @Test("more than a package holds is too large")
  func tooLarge() {
    #expect(decision(append(0, true, content: 2_147_483_648), at: 0) == "receive 2147483648 here")
    #expect(decision(append(0, true, content: 2_147_483_649), at: 0) == "refuse upload-too-large")
    #expect(decision(append(0, false, content: 1, length: 2_147_483_649), at: 0) == "refuse upload-too-large")
  }
}
