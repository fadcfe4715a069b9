internal import CLinux
internal import Glibc

/// Bodies of responses that end before their end.
extension EventLoop {
  mutating func abortBodies(meteredBy meters: MeterSet) {
    for index in 0..<table.end where !table[index].machine.isClosed {
      guard let meter = table[index].meter, meters.contains(meter) else { continue }
      // A body that is sent, as far as this server goes, may still wait in the kernel for a slow or paced
      // client.
      guard table[index].isMetered || clinux_queued_output(table[index].descriptor) > 0 else { continue }
      services.counters.add(Counter.abortedBodies)
      reset(index)
    }
  }

  /// Connections between two requests keep the last one's file for the next, which may never come.
  mutating func releaseIdleFiles() {
    for index in 0..<table.end where !table[index].machine.isClosed && table[index].machine.output == .nothing
    {
      table[index].file = nil
      dispatcher?.releaseFiles(index)
    }
  }

  /// Ends a connection so that nothing the kernel holds for it is sent any more.
  mutating func reset(_ index: Int) {
    dropQueue(index)
    abandon(index)
  }

  /// Closing the connection will drop what the kernel holds for it, and tell the peer so.
  func dropQueue(_ index: Int) {
    var option = linger(l_onoff: 1, l_linger: 0)
    // Fails only for a socket that is broken already.
    _ = unsafe setsockopt(
      table[index].descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}
