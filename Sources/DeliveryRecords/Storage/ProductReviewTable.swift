package import Commerce
import CoreTypes
package import Crypto
package import Database
import PullboxAPI
package import ServiceAPI

/// The rows of products' reviews, and of the screenshots for them. Both are removed with their product. The
/// functions run in the caller's transaction and throw ``DatabaseError``.
package enum ProductReviewTable {
  /// A screenshot for the reviewer.
  package struct Screenshot: Sendable {
    /// `image/png` or `image/jpeg`.
    package var mediaType: String
    /// The SHA-256 of the content, for its entity tag.
    package var digest: SHA256Digest
    /// The bytes of the picture.
    package var content: [UInt8]

    package init(mediaType: String, digest: SHA256Digest, content: [UInt8]) {
      self.mediaType = mediaType
      self.digest = digest
      self.content = content
    }
  }

  /// Returns the product's last review, decided or not; nil where it was never handed in.
  package static func find(
    _ product: ProductIdentifier, in connection: borrowing Connection
  ) throws -> ProductReview? {
    try connection.first(
      """
      SELECT submitted, submitted_by, notes, decided, decided_by, approved, reason FROM product_reviews WHERE product = ?
      """, [.identifier(product)]
    ).map { row in
      ProductReview(
        submitted: try row.timestamp("submitted"), submittedBy: try row.text("submitted_by"),
        notes: try row.optionalText("notes"), decided: try row.optionalTimestamp("decided"),
        decidedBy: try row.optionalText("decided_by"),
        isApproved: try row.optionalInteger("approved").map { $0 == 1 },
        reason: try row.optionalText("reason")
      )
    }
  }

  /// Writes the review in place of the one before.
  package static func put(
    _ review: ProductReview, of product: ProductIdentifier, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO product_reviews (product, notes, submitted, submitted_by, decided, decided_by, approved, reason)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (product) DO UPDATE SET notes = excluded.notes, submitted = excluded.submitted,
        submitted_by = excluded.submitted_by, decided = excluded.decided, decided_by = excluded.decided_by,
        approved = excluded.approved, reason = excluded.reason
      """,
      [
        .identifier(product), .optional(review.notes), .timestamp(review.submitted),
        .text(review.submittedBy), .optional(review.decided), .optional(review.decidedBy),
        review.isApproved.map { .boolean($0) } ?? .null, .optional(review.reason),
      ])
  }

  /// Removes the review's decision, which was about the product as it was before.
  package static func voidDecision(on product: ProductIdentifier, in connection: borrowing Connection) throws
  {
    try connection.execute(
      "UPDATE product_reviews SET approved = NULL WHERE product = ?", [.identifier(product)])
  }

  /// Whether a picture was sent; its bytes are not read.
  package static func hasScreenshot(
    of product: ProductIdentifier, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first("SELECT 1 FROM product_screenshots WHERE product = ?", [.identifier(product)]) != nil
  }

  /// Returns the picture; nil where none was sent.
  package static func screenshot(
    of product: ProductIdentifier, in connection: borrowing Connection
  ) throws -> Screenshot? {
    try connection.first(
      "SELECT media_type, digest, content FROM product_screenshots WHERE product = ?", [.identifier(product)]
    ).map { row in
      Screenshot(
        mediaType: try row.text("media_type"), digest: try row.digest("digest"),
        content: try row.blob("content"))
    }
  }

  /// Writes the picture in place of the one before.
  package static func put(
    _ screenshot: Screenshot, of product: ProductIdentifier, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO product_screenshots (product, media_type, digest, content) VALUES (?, ?, ?, ?)
      ON CONFLICT (product) DO UPDATE SET media_type = excluded.media_type, digest = excluded.digest,
        content = excluded.content
      """,
      [
        .identifier(product), .text(screenshot.mediaType), .digest(screenshot.digest),
        .blob(screenshot.content),
      ])
  }
}
