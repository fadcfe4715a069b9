import PullboxAPIClient
import ContentPackage
import HTTPClient
import PullboxAPI
import ServiceRuntime

extension ExitCode {
  private static let notEntitledCodes: Set<ProblemCode> = [
    .purchaseRequired, .entitlementExpired, .entitlementRevoked, .deviceLimit, .receiptNotAuthentic,
    .receiptWrongApplication, .receiptWrongEnvironment,
  ]
  private static let noSpaceCodes: Set<ProblemCode> = [.outOfSpace, .insufficientStorage]
  private static let integrityCodes: Set<ProblemCode> = [.checksumMismatch, .completionMismatch]
  private static let integrityFaults: Set<PackageValidationIssue.Code> = [
    .manifestDigestMismatch, .lengthMismatch, .digestMismatch, .pieceMismatch, .fileDigestMismatch,
    .fileLengthMismatch, .fileChecksumMismatch, .compressedDataInvalid, .archiveDisagreesWithManifest,
    .archiveEntryMissing, .archiveEntryUnlisted, .archiveMalformed, .signatureMissing, .signatureInvalid,
    .signatureKeyUnknown, .signatureKeyChanged, .signatureKeyUntrusted,
  ]

  /// By the problem's code; by its status where the code says no more than "not now" or "no room".
  init(_ problem: Problem) {
    if let code = problem.code {
      if Self.notEntitledCodes.contains(code) {
        self = .notEntitled
        return
      }
      if Self.noSpaceCodes.contains(code) {
        self = .noSpace
        return
      }
      if Self.integrityCodes.contains(code) {
        self = .integrity
        return
      }
    }
    let faults = Set((problem.faults ?? []).map { PackageValidationIssue.Code(rawValue: $0.code) })
    switch problem.status {
    case 402: self = .notEntitled
    case 423, 429, 502...504: self = .undetermined
    case 507: self = .noSpace
    case 422 where !faults.isDisjoint(with: Self.integrityFaults): self = .integrity
    default: self = .failed
    }
  }

  init(_ error: APICallError) {
    switch error {
    case .problem(let problem): self.init(problem)
    case .unreachable(let cause): self = cause.isRetryable ? .undetermined : .failed
    case .unexpectedResponse(let status, _): self = (502...504).contains(status) ? .undetermined : .failed
    }
  }

  init(_ refusal: PackageValidationError) {
    let codes = Set(refusal.faults.map(\.code))
    self = codes.isDisjoint(with: Self.integrityFaults) ? .failed : .integrity
  }

  /// A download that failed or was cancelled.
  init(endOf download: DownloadStatus) {
    if let problem = download.error, case let code = ExitCode(problem), code != .failed {
      self = code
      return
    }
    switch download.reason {
    case "integrity", "publisher-signature": self = .integrity
    case "insufficient-space", "insufficient-storage": self = .noSpace
    default: self = .failed
    }
  }
}
