import Crypto
import Files
import PullboxAPI
import ServiceAPI
import SystemCalls

/// Something an operator does, in the middle of which the server dies. Each run of it is about a product of its own.
enum CrashOperation: String, CaseIterable, Sendable {
  case beginUpload
  case append
  case appendChecked
  case makeVersion
  /// A version of a packed folder, with its signed manifest.
  case makePackedVersion
  /// The same with bytes that are not those of the manifest.
  case refusePackedVersion
  case release
  case collect
  /// The removal of an upload whose time has passed.
  case expire

  /// The options that the server is started with for its sake.
  var serverOptions: [String] {
    switch self {
    case .collect, .refusePackedVersion: ["--gc-grace", "0s"]
    case .expire: ["--upload-lifetime", "200ms"]
    default: []
    }
  }

  /// The objects that one run of an operation is about.
  struct Subject: Sendable {
    var product: String
    var content: [UInt8]
    var location = ""
    /// For a collection: bytes that nobody needs.
    var garbage: SHA256Digest?
    var package: PackedFolder?
    /// For a collection: a file that belongs to no upload.
    var stray = ""
  }

  private static let beginning = 70_000

  /// Everything up to the operation itself.
  func prepare(_ number: Int, _ desk: PublishingDesk) async throws -> Subject {
    let content = (0..<150_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ number) }
    var subject = Subject(product: "com.example.\(rawValue.lowercased())\(number)", content: content)
    if self == .makePackedVersion || self == .refusePackedVersion {
      return try await preparePackage(subject, desk)
    }
    try await desk.describe(subject.product)
    if self == .beginUpload { return subject }
    subject.location = try await desk.createUpload(length: content.count)
    switch self {
    case .beginUpload, .makePackedVersion, .refusePackedVersion: break
    case .expire:
      // Its time may be over before these bytes are sent; then it expires without them.
      _ = try await desk.tus(
        "PATCH", subject.location,
        [("Upload-Offset", "0"), ("Content-Type", "application/offset+octet-stream")],
        Array(content[..<Self.beginning]))
      let identifier = PublishingDesk.identifier(subject.location)
      try await eventually {
        try await desk.collect(dryRun: true).uploads.contains { $0.upload == identifier }
      }
    case .append, .appendChecked:
      let answer = try await desk.tus(
        "PATCH", subject.location,
        [("Upload-Offset", "0"), ("Content-Type", "application/offset+octet-stream")],
        Array(content[..<Self.beginning]))
      guard answer.status == 204 else { throw PublishingDesk.violation(answer) }
    case .makeVersion:
      try await desk.send(content, to: subject.location)
    case .release:
      try await desk.send(content, to: subject.location)
      try await desk.makeVersion("1.0", of: subject.product, from: subject.location)
    case .collect:
      try await desk.send(content, to: subject.location)
      try await desk.makeVersion("1.0", of: subject.product, from: subject.location)
      // Other bytes under the same version are refused. Without the upload, the package they were is left over.
      let other = content.reversed().map { $0 ^ 0x55 }
      let location = try await desk.createUpload(length: other.count)
      try await desk.send(other, to: location)
      do {
        try await desk.makeVersion("1.0", of: subject.product, from: location)
      } catch is PublishingDesk.Violation {
        subject.garbage = SHA256Digest.of(other)
      }
      _ = try await desk.tus("DELETE", location)
      subject.stray = "\(desk.state)/incoming/stray\(number)"
      try DurableFile.write(content.span, to: subject.stray)
    }
    return subject
  }

  private func preparePackage(_ subject: Subject, _ desk: PublishingDesk) async throws -> Subject {
    var subject = subject
    let package = try await PackedFolder.make(subject.product, of: subject.content, in: desk.directory)
    subject.package = package
    subject.content = self == .refusePackedVersion ? package.bytes.reversed() : package.bytes
    try await desk.describe(subject.product, keys: package.keys)
    subject.location = try await desk.createUpload(length: subject.content.count)
    try await desk.send(subject.content, to: subject.location)
    return subject
  }

  /// The operation. Throws when the server dies under it. Doing it again after that must finish it.
  func perform(_ subject: inout Subject, _ desk: PublishingDesk) async throws {
    switch self {
    case .beginUpload:
      // An answer that was lost leaves an upload that nobody knows; the client begins another.
      subject.location = try await desk.createUpload(length: subject.content.count)
      try await desk.send(Array(subject.content[..<Self.beginning]), to: subject.location)
    case .append:
      try await desk.send(subject.content, to: subject.location)
    case .appendChecked:
      try await desk.send(subject.content, to: subject.location, isChecked: true)
    case .makeVersion:
      try await desk.makeVersion("1.0", of: subject.product, from: subject.location)
    case .makePackedVersion, .refusePackedVersion:
      guard let package = subject.package else { break }
      // A refused package is gone when the answer was lost; then there is nothing to refuse any more.
      let refusals: [ProblemCode] = self == .makePackedVersion ? [] : [.packageRejected, .uploadUnknown]
      let record = try await desk.makeVersion(
        "1.0", of: package, from: subject.location, refusals: refusals)
      guard (record == nil) == (self == .refusePackedVersion) else {
        throw PublishingDesk.Violation(description: "other bytes than the manifest's became a version")
      }
      if self == .refusePackedVersion { _ = try await desk.collect() }
    case .release:
      while let step = Self.nextStep(try await desk.versions(of: subject.product).first?.state) {
        try await desk.take(step, "1.0", of: subject.product)
      }
    case .collect, .expire:
      _ = try await desk.collect()
    }
  }

  /// The next step between a state and the release.
  private static func nextStep(_ state: VersionState?) -> String? {
    switch state {
    case .draft: "submit"
    case .submitted: "approve"
    case .approved: "release"
    default: nil
    }
  }

  /// Checks the rules that must hold after the server died in the middle.
  func checkAfterCrash(_ subject: Subject, _ desk: PublishingDesk) async throws {
    try await desk.checkVersions(of: subject.product)
    switch self {
    case .beginUpload:
      for upload in try await desk.openUploads() {
        let location = "\(PublishingDesk.uploads)/\(upload.upload)"
        // One whose file was not made before the kill is as if it had never been.
        if try await desk.tus("HEAD", location).status == 404 { continue }
        if location == subject.location { _ = try await desk.checkUpload(location, of: subject.content) }
      }
    case .append:
      let offset = try await desk.checkUpload(subject.location, of: subject.content)
      guard (Self.beginning...subject.content.count).contains(offset) else {
        throw PublishingDesk.Violation(description: "the upload went back to \(offset)")
      }
    case .appendChecked:
      let offset = try await desk.checkUpload(subject.location, of: subject.content)
      guard [Self.beginning, subject.content.count].contains(offset) else {
        throw PublishingDesk.Violation(description: "unchecked bytes count: \(offset)")
      }
    case .makeVersion, .makePackedVersion: break
    case .refusePackedVersion:
      guard try await desk.versions(of: subject.product).isEmpty else {
        throw PublishingDesk.Violation(description: "a refused package became a version")
      }
    case .expire:
      let status = try await desk.tus("HEAD", subject.location).status
      guard status == 404 || status == 410 else {
        throw PublishingDesk.Violation(description: "an expired upload is answered \(status)")
      }
    case .release, .collect:
      guard try await desk.versions(of: subject.product).count == 1 else {
        throw PublishingDesk.Violation(description: "the version is gone")
      }
    }
  }

  /// Checks the rules that must hold once it was done again.
  func checkFinished(_ subject: Subject, _ desk: PublishingDesk) async throws {
    try await desk.checkVersions(of: subject.product)
    let versions = try await desk.versions(of: subject.product)
    let manifest =
      self == .makePackedVersion ? try await desk.manifest("1.0", of: subject.product) : nil
    let expiries =
      self == .expire ? try await desk.audited(PublishingDesk.identifier(subject.location)) : []
    let holds =
      switch self {
      case .beginUpload:
        try await desk.checkUpload(subject.location, of: subject.content) == Self.beginning
      case .append, .appendChecked:
        try await desk.checkUpload(subject.location, of: subject.content) == subject.content.count
      case .makeVersion: versions.map(\.digest) == [SHA256Digest.of(subject.content)]
      case .makePackedVersion:
        versions.map(\.digest) == [SHA256Digest.of(subject.content)]
          && manifest == subject.package?.manifest
      case .refusePackedVersion:
        try versions.isEmpty && !desk.hasBlob(SHA256Digest.of(subject.content))
          && FileSystem.status(of: desk.incomingPath(subject.location)) == nil
      case .expire:
        try FileSystem.status(of: desk.incomingPath(subject.location)) == nil
          && expiries == ["upload.expire"]
      case .release: versions.map(\.state) == [.released]
      case .collect:
        try versions.count == 1 && subject.garbage.map { try !desk.hasBlob($0) } == true
          && FileSystem.status(of: subject.stray) == nil
      }
    guard holds else {
      throw PublishingDesk.Violation(description: "\(self) of \(subject.product) was not finished")
    }
  }
}
