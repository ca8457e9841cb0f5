/// Which products that are not in a listing may be its entries without a readable id.
///
/// An entry that was there before, or that comes while nothing is missing, is no known product. Each further one may be
/// one of the missing: so many of them stay unknown, always the same ones, and the others count as missing.
struct NamelessProducts: Equatable, Sendable {
  /// How many entries are none of the known products.
  private(set) var foreign: Int
  /// The known products that the others may be.
  private(set) var products: Set<Int64> = []

  /// - Parameters:
  ///   - listed: how many entries without an id the listing has.
  ///   - memory: what is remembered of the last listing.
  ///   - missing: the known products that it does not have.
  init(listed: Int, _ memory: DetectionMemory, missing: [StoredProduct]) {
    foreign = min(memory.nameless, listed)
    var room = listed - foreign
    func rank(_ product: StoredProduct) -> Int {
      if memory.unreadable.contains(UnreadableEntry(product: product.id, variant: UnreadableEntry.withoutID)) {
        return -2
      }
      // One that could not be read at the last read is the likeliest to have lost its id as well.
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
