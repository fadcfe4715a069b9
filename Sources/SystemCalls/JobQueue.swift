/// First in, first out, without moving what waits at every step.
struct JobQueue {
  typealias Job = @Sendable () -> Void

  private var jobs: [Job?] = []
  private var first = 0

  var count: Int { jobs.count - first }

  mutating func append(_ job: @escaping Job) {
    jobs.append(job)
  }

  mutating func takeFirst() -> Job? {
    guard first < jobs.count else { return nil }
    let job = jobs[first]
    jobs[first] = nil
    first += 1
    if first == jobs.count {
      jobs.removeAll(keepingCapacity: true)
      first = 0
    } else if first > 64, first * 2 > jobs.count {
      jobs.removeFirst(first)
      first = 0
    }
    return job
  }
}
