import CoreTypes
import Glibc
import PullboxTesting
import Testing

@testable import Files
@testable import SystemCalls

@Suite("Status of the process")
struct ProcessStatusTests {
  @Test("the fields are those of proc(5), also behind a name with spaces and parentheses")
  func fields() throws {
    let line = "4711 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22"
    let status = try #require(ProcessStatus.Status(line))
    // utime 14, stime 15, num_threads 20, starttime 22, vsize 23, rss 24 of the manual, where the state is field 3.
    #expect(status.ticks == 11 + 12)
    #expect(status.threads == 17)
    #expect(status.start == 19)
    #expect(status.virtualMemory == 20)
    #expect(status.pages == 21)
    #expect(ProcessStatus.Status("4711 (a S 1") == nil)
    #expect(ProcessStatus.Status("4711 (a) S 1 2 3") == nil)
  }

  @Test("a file that is opened counts as one more")
  func openFiles() throws {
    let directory = try TemporaryDirectory()
    let before = try ProcessStatus.current()
    let files = try (0..<50).map { number in
      try FileDescriptor.open("\(directory.path)/\(number)", .readWrite, options: .create).release()
    }
    defer { for number in files { _ = FileDescriptor(takingOwnershipOf: number) } }
    let after = try ProcessStatus.current()
    // Other tests of this process may open and close some meanwhile.
    #expect((30...70).contains(after.openFiles - before.openFiles))
    #expect(after.threads > 0 && after.maximumFiles > after.openFiles)
    #expect(after.residentMemory > .mebibytes(1) && after.virtualMemory > after.residentMemory)
    #expect(after.processorTime >= before.processorTime)
    #expect(abs((after.started - before.started).inSeconds) < 1)
  }

  @Test("the limit of descriptors is raised as far as it may be")
  func descriptors() throws {
    var limits = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #expect(unsafe getrlimit(resource, &limits) == 0)
    limits.rlim_cur = min(limits.rlim_cur, limits.rlim_max - 1)
    #expect(unsafe setrlimit(resource, &limits) == 0)
    #expect(try DescriptorLimit.raise() == Int(clamping: limits.rlim_max))
    #expect(try DescriptorLimit.current() == Int(clamping: limits.rlim_max))
  }
}
