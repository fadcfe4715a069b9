import Commerce
import ContentGrants
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// Grants and how their deliveries go, for operators, in pages and in sums. A look at what is not placed sees the newest grants, and as
/// many as ``maximumLooked``, whatever there is.
struct DeliveryLists: Sendable {
  /// Grants that one request looks at, at most, where how they go is asked for.
  static let maximumLooked = 2000
  /// Grants of one look at the table.
  private static let batch = 500
  /// A caller's clock may be ahead by so much.
  private static let clockTolerance: Duration = .seconds(60)

  let database: Database
  /// Knows the bytes that were sent and are not written down yet.
  let recorder: DeliveryRecorder
  let clock: any WallClock

  /// A page of grants; `after` is a grant's number. Bytes that are not written down yet are counted. With `progress`, a page may have
  /// fewer grants than `limit`, or none, and more may follow all the same.
  func page(_ request: HTTPRequest) async throws -> Page<OperatorGrant> {
    let limit = try request.pageLimit()
    let after = try request.cursor("after") { Int64($0) }
    var filter = try GrantFilter(request)
    let progress = try request.filter("progress") { DeliveryProgress(rawValue: $0) }
    if progress != nil {
      guard filter.state == nil || filter.state == .granted else {
        throw Problem(.requestMalformed, "how a delivery goes is known of state=granted alone")
      }
      filter.state = .granted
    }
    let (now, wanted, sent) = (clock.now(), filter, recorder)
    return try await database.read { connection in
      if let after, try !GrantTable.exists(after, in: connection) { throw Problem.unknownCursor }
      var wanted = wanted
      wanted.customer = try wanted.customer.map { try CustomerTable.current($0, in: connection) }
      guard let progress else {
        let grants = try GrantTable.page(
          before: after ?? .max, matching: wanted, limit: limit + 1, in: connection)
        let shown = grants.prefix(limit)
        let courses = try DeliveryCourseTable.all(of: shown, in: connection)
        return Page(
          items: try shown.map {
            try Self.status(of: $0, courses[$0.number], sent, at: now, in: connection)
          }, next: grants.count > limit ? shown.last.map { String($0.number) } : nil)
      }
      var items: [OperatorGrant] = []
      let look = try Self.look(
        before: after ?? .max, matching: wanted, sent, at: now, in: connection
      ) { grant, course, found in
        guard found == progress else { return true }
        items.append(try Self.status(of: grant, course, sent, at: now, in: connection))
        return items.count < limit
      }
      return Page(items: items, next: look.next.map(String.init))
    }
  }

  /// How the deliveries that are not placed go, and why some fail.
  func failures(_ request: HTTPRequest) async throws -> DeliveryFailures {
    let filter = try GrantFilter(request)
    let (now, sent) = (clock.now(), recorder)
    return try await database.read { connection in
      var sums = Sums()
      var open = filter
      open.state = .granted
      let granted = try Self.look(before: .max, matching: open, sent, at: now, in: connection) {
        sums.note($0, $1, $2)
        return true
      }
      var taken = filter
      taken.state = .revoked
      let revoked = try Self.look(before: .max, matching: taken, sent, at: now, in: connection) {
        grant, course, _ in
        if grant.machine.state == .revoked(was: .granted) { sums.note(grant, course, nil) }
        return true
      }
      return DeliveryFailures(
        waiting: sums.waiting, fetching: sums.fetching, failures: sums.rows,
        looked: granted.looked + revoked.looked, isComplete: granted.next == nil && revoked.next == nil)
    }
  }

  /// How much was granted and sent from the hour of `since` on and before `until`: of the last 24 hours and up to now, unless asked otherwise.
  /// A time that is to come within a minute is now, by another clock. Throws `request-malformed` for a time before 1970, a later one, and
  /// one that ends before it begins.
  func sums(_ request: HTTPRequest) async throws -> DeliverySums {
    let times = try TimeRange(request)
    let now = clock.now()
    for (name, moment) in [("since", times.since), ("until", times.until)] {
      guard let moment else { continue }
      guard moment.millisecondsSinceEpoch >= 0, moment <= now + Self.clockTolerance else {
        throw Problem(.requestMalformed, "\(name) is a time from 1970 to now")
      }
    }
    let until = min(times.until ?? now, now)
    let begin = times.since.map { min($0, now) }
    guard begin.map({ $0 <= until }) ?? true else {
      throw Problem(.requestMalformed, "since is not after until")
    }
    let since = DeliveredHoursTable.hour(of: begin ?? until - .seconds(86_400))
    return try await database.read { connection in
      DeliverySums(
        since: since, until: until,
        grants: try GrantTable.count(granted: TimeRange(since: since, until: times.until), in: connection),
        // Without an end this hour counts, which may have begun this moment.
        bytesDelivered: try DeliveredHoursTable.bytes(since: since, until: times.until, in: connection))
    }
  }

  /// Shows `body` grants below the number `before`, newest first, each with its course and how it goes, until that says no more, or enough
  /// were looked at. `next` is the number behind which there may be more.
  private static func look(
    before: Int64, matching filter: GrantFilter, _ recorder: DeliveryRecorder, at now: Timestamp,
    in connection: borrowing Connection,
    _ body: (GrantRecord, DeliveryCourseTable.Course, DeliveryProgress?) throws -> Bool
  ) throws -> (looked: Int, next: Int64?) {
    var (looked, last) = (0, before)
    while looked < maximumLooked {
      let grants = try GrantTable.page(before: last, matching: filter, limit: batch, in: connection)
      let courses = try DeliveryCourseTable.all(of: grants, in: connection)
      for grant in grants {
        looked += 1
        last = grant.number
        guard let course = courses[grant.number] else { continue }
        var progress = DeliveryProgress(of: grant, course, at: now)
        if progress == .stuck || progress == .waiting, recorder.unrecorded(grant.handle) > .zero {
          progress = .fetching
        }
        guard try body(grant, course, progress) else { return (looked, last) }
      }
      if grants.count < batch { return (looked, nil) }
    }
    return (looked, last)
  }

  private static func status(
    of grant: GrantRecord, _ course: DeliveryCourseTable.Course?, _ recorder: DeliveryRecorder,
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> OperatorGrant {
    var status = try GrantTable.operatorStatus(of: grant, course, at: now, in: connection)
    status.add(unrecorded: recorder.unrecorded(grant.handle), at: now)
    return status
  }

  /// The sums of one look.
  private struct Sums {
    private struct Key: Hashable {
      var reason: String
      var application: ApplicationIdentifier?
    }

    private struct Count {
      var grants = 0
      var devices: Set<DeviceIdentifier> = []
      var latest: Timestamp
    }

    var waiting = 0
    var fetching = 0
    private var counts: [Key: Count] = [:]

    /// Counts a delivery; without `progress`, one that was taken back before it was placed.
    mutating func note(
      _ grant: GrantRecord, _ course: DeliveryCourseTable.Course, _ progress: DeliveryProgress?
    ) {
      switch progress {
      case .waiting: waiting += 1
      case .fetching: fetching += 1
      case .stuck, .unverified, nil:
        let key = Key(
          reason: progress?.rawValue ?? GrantState.revoked.rawValue, application: course.application)
        var count = counts[key] ?? Count(latest: grant.created)
        count.grants += 1
        count.devices.insert(grant.device)
        count.latest = max(count.latest, grant.created)
        counts[key] = count
      }
    }

    /// The most frequent first.
    var rows: [DeliveryFailures.Row] {
      counts.map { key, count in
        DeliveryFailures.Row(
          reason: key.reason, application: key.application, grants: count.grants,
          devices: count.devices.count, latest: count.latest)
      }.sorted {
        ($1.grants, $0.reason, $0.application?.description ?? "")
          < ($0.grants, $1.reason, $1.application?.description ?? "")
      }
    }
  }
}
