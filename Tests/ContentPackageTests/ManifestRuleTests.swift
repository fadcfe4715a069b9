import CoreTypes
import Crypto
import PackageTesting
import Testing

@testable import ContentPackage

@Suite("The rules of a manifest")
struct ManifestRuleTests {
  private func codes(_ spoil: (inout ManifestDraft) throws -> Void) throws -> [PackageValidationIssue.Code] {
    var draft = try makeDraft()
    try spoil(&draft)
    return try refusalCodes { _ = try Manifest(draft, limits: .standard) }
  }

  @Test("the draft that the other tests spoil is well-formed")
  func wellFormed() throws {
    #expect(try codes { _ in }.isEmpty)
  }

  @Test("2,147,483,648 bytes are allowed, one more is not")
  func length() throws {
    let digest = SHA256Digest.of([0])
    #expect(
      try codes {
        $0.length = ByteCount(2_147_483_648)
        $0.pieces = Array(repeating: digest, count: 2048)
      }.isEmpty)
    #expect(
      try codes {
        $0.length = ByteCount(2_147_483_649)
        $0.pieces = Array(repeating: digest, count: 2049)
      } == [.packageTooLarge])
  }

  @Test("there are as many pieces as begun MiB")
  func pieces() throws {
    #expect(try codes { $0.pieces.removeLast() } == [.pieceCountWrong])
    #expect(try codes { $0.pieces.append(.of([4])) } == [.pieceCountWrong])
    #expect(try codes { $0.length = ByteCount(1_048_576) } == [.pieceCountWrong])
  }

  @Test("the files' lengths add up to the unpacked length")
  func sum() throws {
    #expect(try codes { $0.unpackedLength = ByteCount(999) } == [.lengthsDoNotAddUp])
  }

  @Test("a stored file takes as many bytes as it has")
  func stored() throws {
    #expect(
      try codes { $0.files[0] = try makeFile("a.jpg", 40, 400, storedLength: 399) } == [.lengthsDoNotAddUp])
  }

  @Test("files lie inside the package and apart from one another, whatever their order in it")
  func placement() throws {
    #expect(try codes { $0.files[1] = try makeFile("b.jpg", 1_047_977, 600) }.isEmpty)
    #expect(try codes { $0.files[1] = try makeFile("b.jpg", 1_047_978, 600) } == [.fileOutsidePackage])
    #expect(try codes { $0.files[1] = try makeFile("b.jpg", 439, 600) } == [.filesOverlap])
    #expect(try codes { $0.files[1] = try makeFile("b.jpg", 440, 600) }.isEmpty)
    #expect(try codes { $0.files[0] = try makeFile("a.jpg", 1100, 400) }.isEmpty)
    #expect(try codes { $0.files[0] = try makeFile("a.jpg", 1_048_578, 0) }.contains(.fileOutsidePackage))
  }

  @Test("files are sorted by path, none twice, none differing only by case")
  func paths() throws {
    #expect(try codes { $0.files.swapAt(0, 1) } == [.filesNotSorted])
    #expect(try codes { $0.files[1] = try makeFile("a.jpg", 500, 600) } == [.pathDuplicate])
    #expect(try codes { $0.files[0] = try makeFile("B.jpg", 40, 400) } == [.pathAmbiguous])
    #expect(try codes { $0.files[1] = try makeFile("a.jpg/b", 500, 600) } == [.pathInsideFile])
  }

  @Test("a deflated file unpacks to at most a hundred times its bytes once it is longer than a MiB")
  func ratio() throws {
    func spoiled(_ length: Int, _ stored: Int) throws -> [PackageValidationIssue.Code] {
      try codes {
        $0.files[1] = try makeFile("b.jpg", 500, length, storedLength: stored, method: .deflated)
        $0.unpackedLength = ByteCount(400 + length)
      }
    }
    #expect(try spoiled(1_048_576, 1).isEmpty)
    #expect(try spoiled(2_000_000, 20_000).isEmpty)
    #expect(try spoiled(2_000_001, 20_000) == [.unpackRatioTooHigh])
  }

  @Test("all files together have at most a hundred times the package's bytes, and 64 MiB beside")
  func totalRatio() throws {
    let mebibyte = 1_048_576
    /// A package of one MiB and a byte, full of files of one MiB that take 100 bytes each.
    func spoiled(_ count: Int, first length: Int) throws -> [PackageValidationIssue.Code] {
      try codes { draft in
        draft.files = try (0..<count).map { index in
          try makeFile(
            "f\(1000 + index)", index * 100, index == 0 ? length : mebibyte, storedLength: 100,
            method: .deflated)
        }
        draft.unpackedLength = draft.files.reduce(.zero) { $0 + $1.length }
      }
    }
    let bound = 64 * mebibyte + 100 * (mebibyte + 1)
    #expect(try spoiled(165, first: bound - 164 * mebibyte).isEmpty)
    #expect(try spoiled(165, first: bound - 164 * mebibyte + 1) == [.unpackRatioTooHigh])
  }

  @Test("8 GiB unpacked are allowed, one byte more is not")
  func unpacked() throws {
    let bound = PackageLimits.standard.maximumUnpackedLength.rawValue
    func spoiled(_ total: Int64) throws -> [PackageValidationIssue.Code] {
      try codes {
        $0.length = ByteCount(2_147_483_648)
        $0.pieces = Array(repeating: .of([0]), count: 2048)
        $0.files[1] = try makeFile(
          "b.jpg", 500, Int(total) - 400, storedLength: 1_000_000_000, method: .deflated)
        $0.unpackedLength = ByteCount(total)
      }
    }
    #expect(try spoiled(bound).isEmpty)
    #expect(try spoiled(bound + 1) == [.unpackedTooLarge])
  }

  @Test("cover and pages are files of the package, each page once")
  func pages() throws {
    #expect(try codes { $0.cover = try PackagePath("c.jpg") } == [.pageUnknown])
    #expect(try codes { $0.readingOrder = [try PackagePath("c.jpg")] } == [.pageUnknown])
    #expect(
      try codes { $0.readingOrder = [try PackagePath("a.jpg"), try PackagePath("a.jpg")] } == [.pageUnknown])
  }

  @Test("title and page count have bounds")
  func metadata() throws {
    #expect(try codes { $0.title = "" } == [.manifestMemberInvalid])
    #expect(try codes { $0.title = String(repeating: "x", count: 1025) } == [.manifestMemberInvalid])
    #expect(try codes { $0.pageCount = 0 } == [.manifestMemberInvalid])
  }

  @Test("only a package of kind file has a name, and its one file is the whole package")
  func kinds() throws {
    #expect(try codes { $0.name = "a.jpg" } == [.manifestMemberInvalid])
    #expect(try codes { $0.kind = .file } == [.manifestMemberInvalid])
    #expect(
      try codes {
        $0.kind = .file
        $0.name = "a.jpg"
        $0.files.removeLast()
        $0.unpackedLength = ByteCount(400)
      } == [.lengthsDoNotAddUp])
  }

  @Test("a package has bytes and a file")
  func empty() throws {
    #expect(try codes { $0.length = .zero }.contains(.packageEmpty))
    #expect(
      try codes {
        $0.files = []
        $0.unpackedLength = .zero
      } == [.packageEmpty])
  }

  @Test("at most 65,535 files")
  func count() throws {
    func spoiled(_ count: Int) throws -> [PackageValidationIssue.Code] {
      try codes {
        $0.files = try (0..<count).map { try makeFile(String(100_000 + $0), 0, 0) }
        $0.unpackedLength = .zero
      }
    }
    #expect(try spoiled(65_535).isEmpty)
    #expect(try spoiled(65_536) == [.tooManyFiles])
  }
}
