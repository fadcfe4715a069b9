import CoreTypes
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage
@testable import ContentPacking

/// Publications as people have them, each with one oddity.
@Suite("Odd publications, packed and inspected")
struct OddPublicationTests {
  /// The result of packing a folder, or of describing a file; and, of a file, its pages.
  private struct Result {
    var package: PackedPackage
    var order: [String]?
    var faults: [PackageValidationIssue]
  }

  private func result(of odd: OddPublication) throws -> Result {
    let folder = try Folder()
    let output = folder.directory.path("package")
    let (package, path): (PackedPackage, String)
    var order: [String]?
    switch odd.source {
    case .folder(let files):
      for file in files { try folder.write(file.content, to: file.path) }
      package = try Sample.builder.pack(folder: folder.path, to: output)
      path = output
      order = package.manifest.readingOrder?.map(\.text)
    case .file(let name, let bytes):
      try folder.write(bytes, to: name)
      path = "\(folder.path)/\(name)"
      package = try Sample.builder.describe(file: path)
      let file = try FileDescriptor.open(path, .readOnly)
      order = try SingleFileInspection(
        file, name: name, length: ByteCount(bytes.count), limits: .standard
      ).metadata.readingOrder
    }
    let manifest = package.manifest
    let faults = try PackageInspector().faults(
      in: try FileDescriptor.open(path, .readOnly),
      received: ReceivedPackage(length: manifest.length, digest: manifest.digest, pieces: manifest.pieces),
      against: manifest)
    return Result(package: package, order: order, faults: faults)
  }

  @Test(
    "what an odd publication is, its pages and their order, its cover, title and type; or why it is refused",
    arguments: OddPublication.all)
  func odd(_ odd: OddPublication) throws {
    let found: Result
    do {
      found = try result(of: odd)
    } catch let refusal as PackageValidationError {
      guard case .refused(let faults) = odd.outcome else { throw refusal }
      #expect(refusal.faults.map { "\($0.code.rawValue) \($0.path ?? "-")" } == faults)
      return
    }
    let (manifest, report) = (found.package.manifest, found.package.report)
    #expect(found.faults == [])
    switch odd.outcome {
    case .refused(let faults): Issue.record("it was taken, and not refused: \(faults)")
    case .needsWord(let clause, let type):
      #expect(report.format?.isPublication == false)
      #expect(report.format?.clause == clause)
      #expect(manifest.mediaType.text == type)
    case .taken(let expected):
      #expect(report.format?.isPublication != false)
      #expect(manifest.title == expected.title)
      #expect(manifest.pageCount == expected.pages)
      #expect(report.cover == expected.cover)
      if case .folder = odd.source { #expect(manifest.cover?.text == expected.cover) }
      #expect(manifest.mediaType.text == expected.type)
      if let order = expected.order { #expect(found.order == order) }
      let leftOut = (found.package.skipped + report.leftOut).map { "\($0.path) \($0.reason.rawValue)" }
      #expect(Set(leftOut) == expected.leftOut && leftOut.count == expected.leftOut.count)
      #expect(report.oddities.count == expected.oddities, "\(report.oddities)")
      if let packed = expected.packed { #expect(manifest.files.map(\.path.text) == packed) }
    }
  }

  @Test("there are at least sixty of them, each with a name of its own")
  func count() {
    #expect(OddPublication.all.count >= 60)
    #expect(Set(OddPublication.all.map(\.name)).count == OddPublication.all.count)
  }
}
