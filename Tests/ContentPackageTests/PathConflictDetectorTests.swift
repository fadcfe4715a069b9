import Testing

@testable import ContentPackage

@Suite("Paths side by side")
struct PathConflictDetectorTests {
  private func codes(_ paths: [String]) throws -> [PackageValidationIssue.Code] {
    var register = PathConflictDetector()
    return try paths.compactMap { register.register(try PackagePath($0))?.code }
  }

  @Test("different paths in shared folders are fine")
  func fine() throws {
    #expect(try codes(["a/b", "a/c", "a/d/e", "a/d/f", "ab"]).isEmpty)
  }

  @Test(
    "what another system would take for the same is refused",
    arguments: [
      (["a", "a"], PackageValidationIssue.Code.pathDuplicate), (["a.jpg", "A.JPG"], .pathAmbiguous),
      (["\u{E9}", "e\u{301}"], .pathAmbiguous), (["\u{C9}", "e\u{301}"], .pathAmbiguous),
      (["Straße", "STRASSE"], .pathAmbiguous), (["ς", "σ"], .pathAmbiguous),
      (["A/x", "a/y"], .pathAmbiguous), (["a", "a/b"], .pathInsideFile), (["a/b", "a"], .pathInsideFile),
      (["a/b/c", "A"], .pathAmbiguous), (["ﬁ", "fi"], .pathAmbiguous),
      (["a", "a/\u{301}b"], .pathInsideFile),
    ])
  func refused(_ paths: [String], _ code: PackageValidationIssue.Code) throws {
    #expect(try codes(paths) == [code])
  }
}
