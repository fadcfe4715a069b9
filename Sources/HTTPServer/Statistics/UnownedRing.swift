/// An ``AccessRing`` without counting references to it.
// Safe: whoever makes one keeps the ring for as long, as an event loop does.
@safe
struct UnownedRing {
  private let ring: Unmanaged<AccessRing>

  init(_ ring: AccessRing) {
    unsafe self.ring = Unmanaged.passUnretained(ring)
  }

  func append(_ record: AccessRecord) {
    unsafe ring._withUnsafeGuaranteedRef { $0.append(record) }
  }
}
