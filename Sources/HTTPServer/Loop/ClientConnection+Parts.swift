/// Parts of files that come while the file is sent (``FilePresence``), and what a response does until they are there.
extension ClientConnection {
  /// Holds what is there of the range, which the response sends next, and returns where that ends. Nil, and nothing is held, where fewer
  /// than `least` of its bytes are there: then the response waits for those that are missing, and they are on their way.
  mutating func hold(
    _ range: Range<Int64>, least: Int64 = 1, of presence: any FilePresence, with services: inout LoopServices
  ) -> Int64? {
    let end = presence.hold(range)
    if end - range.lowerBound >= least { return end }
    presence.release(range.lowerBound..<end)
    output.isFetching = true
    // Pages that are read ahead are not what it waits for.
    output.fetchedStart = -1
    let (tag, mailbox) = (tag, services.mailbox)
    services.partWaits[tag.index] = presence.bring(end..<output.fileEnd) { error in
      mailbox.post(.partReady(tag, isThere: error == nil))
    }
    return nil
  }

  /// Goes on with a response whose next part is there; one whose part does not come cannot be completed.
  ///
  /// The storage deadline runs on until something of it is sent: what came may be gone again.
  mutating func receivePart(
    isThere: Bool, through line: some ConnectionLine, with services: inout LoopServices
  ) {
    services.partWaits[tag.index] = nil
    output.isFetching = false
    if !isThere { return abandon(through: line, with: &services) }
    continueOutput(through: line, with: &services)
  }
}
