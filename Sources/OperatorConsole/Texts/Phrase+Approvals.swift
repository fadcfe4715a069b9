/// The steps that want a second operator.
extension Phrase {
  static let approvals = Phrase(
    "Steps that want a second operator", "Schritte, die einen zweiten Bediener brauchen")
  static let approvalsHint = Phrase(
    "What cannot be taken back waits here until another operator than the one who asked approves or declines it, or its time is over.",
    "Was nicht zurückzunehmen ist, wartet hier, bis ein anderer Bediener als der, der es verlangte, es genehmigt oder ablehnt, oder bis seine Zeit um ist."
  )
  static let approvalNamed = Phrase("Request {0}", "Anfrage {0}")
  static let allApprovals = Phrase("All requests", "Alle Anfragen")
  static let noApprovals = Phrase("There are no such requests.", "Solche Anfragen gibt es nicht.")
  static let request = Phrase("Request", "Anfrage")
  static let affected = Phrase("Devices or grants", "Geräte oder Bewilligungen")
  static let approvalExpires = Phrase("Expires", "Verfällt")
  static let decidedAt = Phrase("Decided", "Entschieden")
  static let outcome = Phrase("Outcome", "Ergebnis")
  static let approvalWaiting = Phrase("waits", "wartet")
  static let approvalApproved = Phrase("approved", "genehmigt")
  static let approvalDone = Phrase("carried out", "ausgeführt")
  static let approvalDeclined = Phrase("declined", "abgelehnt")
  static let approvalRefused = Phrase(
    "approved, and not carried out to its end", "genehmigt und nicht bis zum Ende ausgeführt")
  static let approvalExpired = Phrase("expired", "verfallen")
  static let withdrawVersion = Phrase("Withdraw a version", "Eine Version zurückziehen")
  static let takeProductOffSale = Phrase("Take a product off sale", "Ein Produkt aus dem Verkauf nehmen")
  static let revokeGrants = Phrase("Revoke grants", "Bewilligungen widerrufen")
  static let decline = Phrase("Decline", "Ablehnen")
  static let ownApproval = Phrase(
    "You asked for it: another operator decides.", "Sie haben es verlangt: Ein anderer Bediener entscheidet.")
  static let takeRequestBack = Phrase("Take the request back", "Die Anfrage zurücknehmen")
  static let approvalNeedsScope = Phrase(
    "Who decides it needs the scope {0}.", "Wer es entscheidet, braucht das Recht {0}.")
  static let approveConsequence = Phrase(
    "Approving carries it out at once: {0}, {1}. It cannot be taken back.",
    "Die Genehmigung führt es sofort aus: {0}, {1}. Es ist nicht zurückzunehmen.")
  static let approvalWaits = Phrase(
    "{0} asks for a second operator: {1}, {2}.", "{0} braucht einen zweiten Bediener: {1}, {2}.")
  static let approveOrDecline = Phrase("Approve or decline", "Genehmigen oder ablehnen")
  static let noticeCarriedOut = Phrase("It is approved and carried out.", "Es ist genehmigt und ausgeführt.")
  static let noticeAsked = Phrase(
    "It waits for another operator, who approves or declines it.",
    "Es wartet auf einen anderen Bediener, der es genehmigt oder ablehnt.")
  static let noticeDeclined = Phrase("It is declined.", "Es ist abgelehnt.")
}
