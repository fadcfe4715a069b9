import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// Where stores post what they tell.
struct NotificationRoutes: Sendable {
  /// Bytes of a notification with the member around it.
  static let maximumLength = ByteCount.kibibytes(256)

  let notifications: NotificationService

  func add(to routes: inout ScopedRoutes) {
    routes.public(.post, "/v1/notifications/apple") { request, _ in
      let body = try await request.decode(StoreNotification.self, upTo: Self.maximumLength)
      return try .json(
        NotificationReceipt(isNew: try await notifications.receive(body.signedPayload)))
    }
  }
}
