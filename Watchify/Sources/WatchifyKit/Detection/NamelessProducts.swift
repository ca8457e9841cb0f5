/// The missing products that may be the entries of a listing without a readable id.
///
/// An entry that was listed before, or that appears while nothing is missing, is not a known product. Each further
/// entry may be one of the missing products: that many of them, always the same ones, stay unknown, and the others
/// count as missing.
struct NamelessProducts: Equatable, Sendable {
  /// The number of entries that are none of the known products.
  private(set) var foreign: Int
  /// The known products that the other entries may be.
  private(set) var products: Set<Int64> = []

  /// Assigns the entries of a listing to missing products.
  /// - Parameters:
  ///   - listed: the number of entries without an id in the listing.
  ///   - memory: the state kept from the last listing.
  ///   - missing: the known products that are not listed.
  init(listed: Int, _ memory: DetectionMemory, missing: [StoredProduct]) {
    foreign = min(memory.nameless, listed)
    var room = listed - foreign
    func rank(_ product: StoredProduct) -> Int {
      if memory.unreadable.contains(UnreadableEntry(product: product.id, variant: UnreadableEntry.withoutID)) {
        return -2
      }
      // A product that was undecodable at the last read is the likeliest to have lost its id as well.
      return memory.unreadable.contains(UnreadableEntry(product: product.id)) ? -1 : product.missingReads
    }
    if room > 0 {
      let likeliest = missing.map { (rank: rank($0), id: $0.id) }.sorted { $0 < $1 }
      products = Set(likeliest.prefix(room).map(\.id))
      room -= products.count
    }
    foreign += room
  }
}
