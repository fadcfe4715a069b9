import Glibc

/// libFuzzer's entry point: gives its bytes to the target that PULLBOX_FUZZ_TARGET names. Built by scripts/fuzz, together with
/// the rules of the target, in Tests.
private let target: FuzzTarget = {
  let name = unsafe getenv("PULLBOX_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
  guard let target = FuzzTarget(rawValue: name) else {
    fatalError("PULLBOX_FUZZ_TARGET is one of \(FuzzTarget.allCases.map(\.rawValue))")
  }
  return target
}()

/// Called by libFuzzer with each input, whose bytes end with the call; a broken rule ends the process.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
  if let broken = target.check(input) {
    fatalError("\(broken): \(String(decoding: input, as: UTF8.self).debugDescription)")
  }
  return 0
}
