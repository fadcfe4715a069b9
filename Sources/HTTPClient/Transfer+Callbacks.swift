import CCurl

extension Transfer {
  /// Makes this transfer the target of its easy handle's callbacks.
  func connectCallbacks() throws(HTTPClientError) {
    let target = unsafe Unmanaged.passUnretained(self).toOpaque()
    try unsafe easy.set(CURLOPT_HEADERFUNCTION, callback: receiveLine)
    try unsafe easy.set(CURLOPT_HEADERDATA, pointer: target)
    try unsafe easy.set(CURLOPT_WRITEFUNCTION, callback: receiveBytes)
    try unsafe easy.set(CURLOPT_WRITEDATA, pointer: target)
    guard pending.request.carriesBody, pending.request.bytesSentAtOnce == nil else { return }
    try unsafe easy.set(CURLOPT_READFUNCTION, callback: sendBytes)
    try unsafe easy.set(CURLOPT_READDATA, pointer: target)
    try unsafe easy.setSeek(callback: seekBytes)
    try unsafe easy.set(CURLOPT_SEEKDATA, pointer: target)
  }
}

// The four functions libcurl calls, always on the loop's thread and during a call of ours.

@unsafe
private func transfer(_ target: UnsafeMutableRawPointer?) -> Transfer? {
  unsafe target.map { unsafe Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

@unsafe
private func answer(_ flow: Transfer.Flow, consumed count: Int) -> Int {
  switch flow {
  case .continue: count
  case .pause: Int(CURL_WRITEFUNC_PAUSE)
  // Anything but the count that was offered ends the transfer.
  case .end: count == 0 ? 1 : 0
  }
}

private func receiveLine(
  _ start: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ target: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = unsafe transfer(target) else { return 0 }
  let length = size * count
  let bytes = unsafe UnsafeRawBufferPointer(start: start, count: length).assumingMemoryBound(to: UInt8.self)
  return unsafe answer(transfer.receive(line: bytes.span), consumed: length)
}

private func receiveBytes(
  _ start: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ target: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = unsafe transfer(target) else { return 0 }
  let length = size * count
  let bytes = unsafe UnsafeRawBufferPointer(start: start, count: length).assumingMemoryBound(to: UInt8.self)
  return unsafe answer(transfer.receive(bytes.span), consumed: length)
}

private func sendBytes(
  _ start: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ target: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = unsafe transfer(target) else { return Int(CURL_READFUNC_ABORT) }
  let length = transfer.nextCount(upTo: size * count)
  let room = unsafe UnsafeMutableRawBufferPointer(start: start, count: length)
    .assumingMemoryBound(to: UInt8.self)
  var span = unsafe room.mutableSpan
  return transfer.send(into: &span) == .continue ? length : Int(CURL_READFUNC_ABORT)
}

private func seekBytes(
  _ target: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32
) -> Int32 {
  // libcurl only ever seeks from the start.
  guard origin == 0, let transfer = unsafe transfer(target) else { return CURL_SEEKFUNC_CANTSEEK }
  return transfer.rewind(to: Int64(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}
