import CatalogFeeds
import ContentDelivery
import HTTPParsing
import HTTPServer

/// Answers on the loops: pages of comics, and packages.
struct LoopHandler: InlineHandler {
  let content: ContentHandler
  let pages: PageHandler

  func copyForLoop() -> LoopHandler {
    LoopHandler(content: content.copyForLoop(), pages: pages.copyForLoop())
  }

  func makeConnectionState() -> VerifiedTicket { content.makeConnectionState() }

  func releaseFiles(of state: inout VerifiedTicket) { content.releaseFiles(of: &state) }

  func releaseFiles() { content.releaseFiles() }

  func respond(
    head: borrowing RequestHead, bytes: Span<UInt8>, state: inout VerifiedTicket,
    response: inout InlineResponse
  ) -> InlineOutcome {
    if pages.isMeant(by: head, bytes) { return pages.respond(head: head, bytes: bytes, response: &response) }
    return content.respond(head: head, bytes: bytes, state: &state, response: &response)
  }
}
