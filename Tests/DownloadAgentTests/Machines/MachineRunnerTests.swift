import PullboxAPI
import Testing

@testable import AgentRecords
@testable import DownloadAgent

@Suite struct MachineRunnerTests {
  @Test("a table's row is short, however long a record or an event is") func shortRows() {
    #expect(MemoryLayout<DownloadManager.Runner.Entry>.stride <= 64)
    #expect(MemoryLayout<DownloadManager.JobRunner.Entry>.stride <= 128)
    #expect(MemoryLayout<TransactionManager.Runner.Entry>.stride <= 64)
    #expect(MemoryLayout<AgentEvent>.stride == MemoryLayout<Int>.stride)
  }
}
