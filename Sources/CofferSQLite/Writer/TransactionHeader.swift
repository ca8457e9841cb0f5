package import CofferCore

/// The origin, the identifier and the durability of a transaction.
package struct TransactionHeader: Sendable {
  /// `nil` for an unaware writer.
  let origin: StoreOrigin?
  let transaction: TransactionID?
  let durability: StoreDurability

  /// Creates a header, with a new identifier unless `transaction` is given.
  package init(origin: StoreOrigin?, transaction: TransactionID? = nil, durability: StoreDurability) {
    self.origin = origin
    self.transaction = transaction
    self.durability = durability
  }
}
