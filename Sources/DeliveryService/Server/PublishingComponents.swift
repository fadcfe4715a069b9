import ContentDelivery
import ContentPublishing
import Database
import PackageStorage
import RouteAccess
import ServiceRuntime

/// The packages that operators publish: how they arrive, become versions, are checked while they lie there, and go.
struct PublishingComponents: Sendable {
  private let infrastructure: DeliveryComponents.Infrastructure
  let uploads: UploadService
  let scrubber: PackageScrubber
  let collector: GarbageCollector

  /// Reads open uploads from the state directory. Blocks.
  init(
    on infrastructure: DeliveryComponents.Infrastructure, content: ContentComponents, leases: ProcessLeases
  ) throws {
    self.infrastructure = infrastructure
    let (configuration, database) = (infrastructure.configuration, infrastructure.database)
    let (clock, timer, log) = (infrastructure.clock, infrastructure.timer, infrastructure.log)
    let keepsWithdrawn = !(configuration.collectWithdrawn ?? false)
    let (packages, cache) = (content.packages, infrastructure.storage.cache)
    let lifetimes = LifetimeClock(wall: clock, timer: timer, log: log)
    let packageLocks = PackageLocks()
    // Of several servers, which share a store, any goes on with an upload.
    let parts: UploadParts? =
      if database.isShared, let shelf = infrastructure.shelf as? any UploadPartShelf {
        UploadParts(
          database: database, shelf: shelf, process: leases.process, clock: leases.clock, timer: timer,
          log: log)
      } else {
        nil
      }
    uploads = try UploadService.open(
      database: database, blobs: infrastructure.blobs, shelf: infrastructure.shelf, parts: parts,
      packageLocks: packageLocks,
      clock: lifetimes,
      limits: UploadLimits(
        lifetime: configuration.uploadLifetime.duration, quota: configuration.storageQuota?.bytes))
    scrubber = PackageScrubber(
      database: database, shelf: infrastructure.shelf, stops: content.revocations, clock: clock, timer: timer,
      rules: PackageScrubber.Rules(
        interval: configuration.scrubInterval.duration, rate: configuration.scrubRate.bytes,
        keepsWithdrawn: keepsWithdrawn, readsAll: cache == nil || configuration.scrubReads ?? false),
      log: log, lease: database.isShared ? leases.lease("scrubbing") : nil,
      state: configuration.state,
      didChange: { digest in
        packages.close(digest)
        cache?.restore(digest)
      })
    collector = GarbageCollector(
      database: database, shelf: infrastructure.shelf, locks: packageLocks, uploads: uploads,
      clock: lifetimes,
      rules: GarbageCollector.Rules(grace: configuration.gcGrace.duration, keepsWithdrawn: keepsWithdrawn),
      lease: leases.lease("collection"), didRemove: { packages.close($0) })
  }

  /// Removes packages that no version needs, until the task is cancelled.
  func collect() async {
    await collector.run(
      every: infrastructure.configuration.gcInterval.duration, clock: infrastructure.timer,
      log: infrastructure.log)
  }

  /// Lets go of uploads that requests at other nodes take, until the task is cancelled.
  func shareUploads() async { await uploads.runSharing() }

  /// Adds the routes of uploads and of versions.
  func addRoutes(
    to routes: inout ScopedRoutes, answers: IdempotentAnswers, versions: VersionService,
    courses: ReleaseCourseReader
  ) {
    let (database, checks) = (infrastructure.database, infrastructure.pools.checks)
    let publisher = VersionPublisher(
      database: database, shelf: infrastructure.shelf, uploads: uploads, collector: collector,
      scrubber: scrubber, clock: infrastructure.clock, checks: checks)
    UploadRoutes(uploads: uploads, answers: answers).add(to: &routes)
    PublishingRoutes(
      publisher: publisher, versionService: versions,
      estimator: UpdateSizeEstimator(database: database, checks: checks), courses: courses,
      pages: PackagePageReader(database: database, shelf: infrastructure.shelf, checks: checks)
    ).add(to: &routes)
  }

  /// Adds the routes by which operators look after the packages that are there.
  func addPackageRoutes(to routes: inout ScopedRoutes) {
    GarbageCollectionRoutes(collector: collector).add(to: &routes)
    PackageScrubRoutes(scrubber: scrubber).add(to: &routes)
  }
}
