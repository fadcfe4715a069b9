/// Who took a grant back. A later check of the receipt reverses only what a check found.
enum RevocationSource: String, Sendable {
  case `operator`
  case store
}
