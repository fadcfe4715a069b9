import Testing

/// The program of all tests, which is given here so that the compiler need not index every file for it to be made.
@main
struct TestProgram {
  static func main() async {
    // `swift test` asks for the tests of XCTest first, of which there are none.
    guard CommandLine.arguments.contains("swift-testing") else { return }
    await Testing.__swiftPMEntryPoint() as Never
  }
}
