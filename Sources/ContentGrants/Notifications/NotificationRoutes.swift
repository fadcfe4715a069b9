import ContentDelivery
package import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import Receipts
package import RouteAccess
import ServiceAPI

/// Where stores post what they tell. The routes need no key: a signature or a token says who posts.
package struct NotificationRoutes: Sendable {
  /// Bytes of a notification with the member around it.
  package static let maximumLength = ByteCount.kibibytes(256)

  /// Takes in what Apple posts.
  package let notifications: NotificationService
  /// Takes in what Google posts.
  package let googleNotifications: GoogleNotificationService

  package init(notifications: NotificationService, googleNotifications: GoogleNotificationService) {
    self.notifications = notifications
    self.googleNotifications = googleNotifications
  }

  /// Adds `POST /v1/notifications/apple` and `POST /v1/notifications/google`. Both answer 200 also to a
  /// repetition, and 5xx where the store has to send again.
  package func add(to routes: inout ScopedRoutes) {
    routes.public(.post, "/v1/notifications/apple") { request, _ in
      let body = try await request.decode(StoreNotification.self, upTo: Self.maximumLength)
      return try .json(
        NotificationReceipt(isNew: try await notifications.receive(body.signedPayload)))
    }
    routes.public(.post, "/v1/notifications/google") { request, _ in
      let body = try await request.bytes(upTo: ByteCount(GooglePushMessage.maximumLength))
      return try .json(
        NotificationReceipt(
          isNew: try await googleNotifications.receive(body, bearing: request.bearerToken)))
    }
  }
}
