/// The extensions by which a store's certificates say that they are for receipts.
public enum ReceiptExtensionOID {
  public static let leaf = "1.2.840.113635.100.6.11.1"
  public static let intermediate = "1.2.840.113635.100.6.2.1"
}
