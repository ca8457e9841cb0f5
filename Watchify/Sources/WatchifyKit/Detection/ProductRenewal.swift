/// A known product that its shop made anew: other ids, with the handle and title that it had. Its history continues.
struct ProductRenewal: Equatable, Sendable {
  /// The row of the product in the database.
  var row: Int64
  var old: Int64
  var new: Int64
  /// The new ids of variants, by their old ones; variants correspond by title.
  var variants: [Int64: Int64] = [:]

  /// Gives the stored products that a read lists with other ids their new ones.
  static func renew(_ stored: inout [Int64: StoredProduct], for reading: ShopReading) -> [ProductRenewal] {
    let unknown = stored.isEmpty ? [] : reading.products.filter { stored[$0.id] == nil }
    guard !unknown.isEmpty else { return [] }
    var listed = Set(reading.products.map(\.id))
    for entry in reading.unreadable where entry.variant == 0 { listed.insert(entry.product) }
    // Of several products that had the handle, the one that was listed last continues.
    let gone = stored.values.filter { !listed.contains($0.id) }.sorted {
      ($0.isRemoved ? 1 : 0, $0.missingReads, -$0.row) < ($1.isRemoved ? 1 : 0, $1.missingReads, -$1.row)
    }
    var byHandle = Dictionary(gone.map { ($0.handle, $0) }) { first, _ in first }
    return unknown.compactMap { product in
      guard !product.handle.isEmpty, var known = byHandle[product.handle], known.title == product.title else {
        return nil
      }
      byHandle[product.handle] = nil
      var renewal = ProductRenewal(row: known.row, old: known.id, new: product.id)
      let own = Set(known.variants.map(\.id))
      var names = Dictionary(grouping: product.variants.filter { !own.contains($0.id) }.reversed(), by: \.title)
      let listed = Set(product.variants.map(\.id))
      for index in known.variants.indices where !listed.contains(known.variants[index].id) {
        guard let variant = names[known.variants[index].title]?.popLast() else { continue }
        renewal.variants[known.variants[index].id] = variant.id
        known.variants[index].id = variant.id
      }
      known.id = product.id
      known.variants.sort { $0.id < $1.id }
      stored[renewal.old] = nil
      stored[product.id] = known
      return renewal
    }
  }
}
