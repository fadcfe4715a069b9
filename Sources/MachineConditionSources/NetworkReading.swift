import Glibc
import SystemCalls

/// The answers to the questions for all links, addresses and routes, one after the other, for the kernel answers one at a time. Only
/// ``table`` of a reading without a ``question`` is whole. Pure.
struct NetworkReading: Sendable {
  /// A question, and the number that its answer has.
  struct Question: Hashable, Sendable {
    var kind: NetlinkSocket.Kind
    var sequence: UInt32
  }

  private(set) var table = NetworkTable()
  /// The question that is to be asked, or is being answered; nil once all are answered.
  private(set) var question: Question? = Question(kind: .links, sequence: 1)

  /// Takes in what one read of the socket has brought; changes that the kernel tells meanwhile count, too. False where the answer is not
  /// whole: the kernel answers another one (`EBUSY`), or something has changed behind its back (`NLM_F_DUMP_INTR`). Throws what
  /// ``refusal(_:_:)`` makes of an answer that is refused: no table says then that there is nothing.
  mutating func take(_ bytes: [UInt8]) throws(ConditionSourceError) -> Bool {
    for message in NetlinkMessages(bytes) {
      table.apply(message)
      guard let question, message.sequence == question.sequence else { continue }
      if message.flags & 0x10 != 0, message.kind != 2 { return false }
      // `NLMSG_ERROR` and `NLMSG_DONE`, both with a negative number of errno(3) where all is not well.
      guard message.kind == 2 || message.kind == 3 else { continue }
      let number = message.integer(at: 0, as: Int32.self).map { 0 &- $0 } ?? (message.kind == 2 ? EIO : 0)
      if number == EBUSY || number == EINTR { return false }
      if number > 0 {
        throw Self.refusal(number, "the kernel refuses to list \(question.kind): errno \(number)")
      }
      self.question = Self.next(question)
    }
    return true
  }

  /// The error for a question that the kernel does not answer: where this process may not ask, or this kernel cannot say, it never will.
  static func refusal(_ number: Int32, _ message: String) -> ConditionSourceError {
    let isForGood = [EPERM, EACCES, EOPNOTSUPP, EAFNOSUPPORT, EPROTONOSUPPORT, ENOSYS].contains(number)
    return ConditionSourceError(isForGood ? .absent : .away, message)
  }

  private static func next(_ question: Question) -> Question? {
    let kinds = NetlinkSocket.Kind.allCases
    guard let index = kinds.firstIndex(of: question.kind), index + 1 < kinds.count else { return nil }
    return Question(kind: kinds[index + 1], sequence: question.sequence + 1)
  }
}
