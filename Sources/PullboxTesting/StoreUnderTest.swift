import Foundation

/// An object store to try, from the environment: PULLBOX_TEST_S3_ENDPOINT, _BUCKET and _KEY_FILE name it, perhaps also _REGION. The bucket
/// has to be there.
package struct StoreUnderTest: Sendable {
  /// The bucket, and a prefix that no other run has: what an earlier one left behind is in no list.
  package let location: String
  /// The address of the store with its scheme.
  package let endpoint: String
  /// The region that requests are signed for; nil for the store's default.
  package let region: String?
  /// The path of the file with the access key and its secret.
  package let keyFile: String

  /// A store that a test makes by itself.
  package init(location: String, endpoint: String, region: String?, keyFile: String) {
    self.location = location
    self.endpoint = endpoint
    self.region = region
    self.keyFile = keyFile
  }

  /// Nil where the environment names none.
  package static let present: StoreUnderTest? = {
    let environment = ProcessInfo.processInfo.environment
    guard let endpoint = environment["PULLBOX_TEST_S3_ENDPOINT"],
      let bucket = environment["PULLBOX_TEST_S3_BUCKET"],
      let keyFile = environment["PULLBOX_TEST_S3_KEY_FILE"]
    else { return nil }
    let run = String(UInt64.random(in: .min ... .max), radix: 36)
    return StoreUnderTest(
      location: "s3://\(bucket)/contract-tests/\(run)", endpoint: endpoint,
      region: environment["PULLBOX_TEST_S3_REGION"], keyFile: keyFile)
  }()

  /// The same store, with a prefix below this one that no other call returns.
  package func fresh() -> StoreUnderTest {
    StoreUnderTest(
      location: "\(location)/\(String(UInt64.random(in: .min ... .max), radix: 36))", endpoint: endpoint,
      region: region, keyFile: keyFile)
  }
}
