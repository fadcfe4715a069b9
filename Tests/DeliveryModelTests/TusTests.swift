import Testing

@testable import DeliveryModel

@Suite("tus 1.0.0")
struct TusTests {
  @Test("metadata may be empty, and a key may have no value")
  func plainMetadata() {
    #expect(UploadMetadata("") != nil)
    #expect(UploadMetadata("a YQ==,b,c Yw==")?["c"] == "c")
    #expect(UploadMetadata("a YQ==, b")?["b"] == "")
  }
}
