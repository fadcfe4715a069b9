import ServiceRuntime
import Testing

struct ExitCodeTests {
  @Test("exit codes are those of the interface")
  func exitCodes() {
    let codes: [ExitCode] = [.done, .failed, .usage, .notEntitled, .undetermined, .noSpace, .integrity]
    #expect(codes.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 6])
  }
}
