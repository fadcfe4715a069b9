/// One element of ASN.1: its tag, and where in the reader's bytes it and its content lie.
struct DERElement {
  let tag: UInt8
  /// Identifier, length and content octets.
  let whole: Range<Int>
  let content: Range<Int>
}
