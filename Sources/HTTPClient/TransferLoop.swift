import CCurl
import CLinux
import CoreTypes
import Glibc
import SystemCalls

/// Runs all transfers of a client on one thread. Everything here belongs to that thread; others reach it
/// through its mailbox.
final class TransferLoop {
  private let configuration: HTTPClientConfiguration
  private var multi: MultiHandle
  private let mailbox: TransferMailbox
  /// By the address of the easy handle, as libcurl names a completed transfer.
  private var transfers: [UInt: Transfer] = [:]
  private var idle: [EasyHandle] = []
  /// The last wait ended because commands came.
  private var isWoken = false

  private static let maximumIdle = 16
  /// Failures of libcurl in a row, without one turn between them, that end the process.
  private static let maximumFailures = 20

  private init(configuration: HTTPClientConfiguration) throws(HTTPClientError) {
    self.configuration = configuration
    try CurlLibrary.prepare()
    mailbox = try TransferMailbox()
    multi = try MultiHandle(configuration: configuration, wakeUp: mailbox.commands.wakeUp)
  }

  /// Starts a thread; closing the mailbox ends it.
  static func start(configuration: HTTPClientConfiguration) throws(HTTPClientError) -> TransferMailbox {
    let loop = try TransferLoop(configuration: configuration)
    let mailbox = loop.mailbox
    let target = unsafe Unmanaged.passRetained(loop)
    var thread = pthread_t()
    let result = unsafe pthread_create(&thread, nil, runTransferLoop, target.toOpaque())
    guard result == 0 else {
      unsafe target.release()
      loop.multi.close()
      throw HTTPClientError(
        code: .internalFailure, message: "pthread_create: error \(result)", isRetryable: true)
    }
    pthread_detach(thread)
    return mailbox
  }

  fileprivate func run() {
    var failures = 0
    while true {
      do throws(HTTPClientError) {
        while try turn() { failures = 0 }
        break
      } catch {
        failures += 1
        restart(after: error, failures: failures)
      }
    }
    end()
  }

  /// One turn: what was asked, what libcurl can do, then the wait for more. False once the mailbox is closed.
  private func turn() throws(HTTPClientError) -> Bool {
    let (commands, isClosing) = mailbox.commands.collect(isWoken: isWoken)
    isWoken = false
    for command in commands { execute(command) }
    if isClosing { return false }
    if let fault = configuration.loopFault() { throw fault }
    try multi.perform()
    while let (address, result) = multi.nextCompletion() { complete(handle: address, result: result) }
    isWoken = try multi.wait()
    return true
  }

  /// The transfers that run fail, as ones that may succeed later, and a new multi handle takes the place of the
  /// one that failed. A process whose libcurl fails again and again ends: a supervisor sees that, and nothing
  /// sees a client that only looks alive.
  private func restart(after error: HTTPClientError, failures: Int) {
    precondition(failures < Self.maximumFailures, "libcurl fails time and again: \(error.message)")
    abandonTransfers(with: HTTPClientError(code: error.code, message: error.message, isRetryable: true))
    // The loop's own thread, which has nothing else to do; a second at most in all before the process ends.
    if failures > 1 { usleep(50_000) }
    renewMulti()
  }

  /// A new multi handle, without a connection, takes the place of the one that is there.
  private func renewMulti() {
    do throws(HTTPClientError) {
      let fresh = try MultiHandle(configuration: configuration, wakeUp: mailbox.commands.wakeUp)
      multi.close()
      multi = fresh
    } catch {
      // The old one stays, and counts as failed again if it does not work.
      return
    }
  }

  private func end() {
    for command in mailbox.commands.seal() { execute(command) }
    abandonTransfers(with: TransferMailbox.shutDownError)
    multi.close()
  }

  private func abandonTransfers(with reason: HTTPClientError) {
    for transfer in Array(transfers.values) {
      finish(
        transfer,
        with: .failure(transfer.error(reason.code, message: reason.message, isRetryable: reason.isRetryable)))
    }
    idle = []
  }

  private func execute(_ command: TransferCommand) {
    switch command {
    case .start(let pending): start(pending)
    case .pause(let token): with(token) { finishIfFailed($0, result: $0.easy.pause(CURLPAUSE_ALL)) }
    case .resume(let token): with(token) { finishIfFailed($0, result: $0.easy.pause(CURLPAUSE_CONT)) }
    case .cancel(let token):
      with(token) { finish($0, with: .failure($0.error(.cancelled, message: "cancelled"))) }
    case .pulse(let completion): completion()
    case .disconnect(let completion):
      abandonTransfers(
        with: HTTPClientError(
          code: .connectionLost, message: "the connections were closed", isRetryable: true))
      renewMulti()
      completion()
    }
  }

  private func with(_ token: TransferToken, _ body: (Transfer) -> Void) {
    guard let transfer = transfers.values.first(where: { $0.pending.handle.token === token }) else { return }
    body(transfer)
  }

  /// Pausing and resuming fail only where a callback that ran meanwhile has ended the transfer.
  private func finishIfFailed(_ transfer: Transfer, result: CURLcode) {
    guard result != CURLE_OK else { return }
    finish(transfer, with: transfer.result(result))
  }

  private func start(_ pending: PendingTransfer) {
    guard !pending.handle.token.isCancelled else {
      pending.completion(.failure(HTTPClientError(code: .cancelled, message: "cancelled")))
      return
    }
    do throws(HTTPClientError) {
      let easy: EasyHandle
      if let kept = idle.popLast() { easy = kept } else { easy = try EasyHandle() }
      let transfer = Transfer(pending, on: easy)
      try easy.reset()
      try easy.configure(for: pending.request, configuration)
      try transfer.connectCallbacks()
      try multi.add(easy)
      transfers[easy.address] = transfer
      pending.receiver.start(pending.handle)
    } catch {
      pending.completion(.failure(error))
    }
  }

  private func complete(handle address: UInt, result: CURLcode) {
    guard let transfer = transfers[address] else { return }
    finish(transfer, with: transfer.result(result))
  }

  private func finish(_ transfer: Transfer, with result: Result<TransferSummary, HTTPClientError>) {
    transfers[transfer.easy.address] = nil
    do {
      try multi.remove(transfer.easy)
      if idle.count < Self.maximumIdle { idle.append(transfer.easy) }
    } catch {
      // A handle libcurl does not let go is not used again; the result stands.
    }
    transfer.pending.completion(result)
  }
}

/// The thread's body. It takes no signals: those are for the threads that wait for them.
private func runTransferLoop(_ target: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  var all = sigset_t()
  unsafe sigfillset(&all)
  unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
  unsafe clinux_name_thread("http-client")
  if let target = unsafe target {
    unsafe Unmanaged<TransferLoop>.fromOpaque(target).takeRetainedValue().run()
  }
  return nil
}
