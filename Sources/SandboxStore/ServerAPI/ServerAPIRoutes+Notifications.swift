import CoreTypes
import HTTPServer
import PullboxAPIServer
import SandboxRecords

/// Test notifications, and the history of all that were sent.
extension ServerAPIRoutes {
  /// Adds the three routes of notifications. The history is dated first, so that it lists what was written
  /// down just before.
  func addNotifications(to routes: inout APIRoutes) {
    routes.on(
      .post, "/inApps/v1/notifications/test",
      use: answering(.rare) { [store, sendsNotifications, wake] _, _ in
        guard sendsNotifications else { throw ServerAPIError.noNotificationURL }
        let token = try await store.requestTestNotification()
        wake()
        return try .json(["testNotificationToken": token])
      })
    routes.on(
      .get, "/inApps/v1/notifications/test/{token}",
      use: answering(.rare) { [store, issuer] _, parameters in
        try await .json(store.testNotification(token: parameters["token"], signedBy: issuer))
      })
    routes.on(
      .post, "/inApps/v1/notifications/history",
      use: answering(.reading) { [store, issuer, sendsNotifications] request, _ in
        let body = try await request.bytes(upTo: Self.longestBody)
        let reach = NotificationTable.reach(in: store.environment)
        guard
          var wanted = try NotificationHistory.Request(body, now: store.clock.now(), reach: reach)
        else { return try .json(NotificationHistory.Page(hasMore: false, notificationHistory: [])) }
        if let transaction = wanted.transaction {
          wanted.filter.account = try await store.account(ofAny: transaction)
        } else {
          try await store.catchUp()
        }
        try await store.dateNotifications(isSent: sendsNotifications)
        return try await .json(
          store.notifications(
            wanted.filter, token: request.queryValue("paginationToken"), signedBy: issuer))
      })
  }
}
