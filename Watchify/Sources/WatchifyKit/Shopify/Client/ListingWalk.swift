import Foundation

/// A walk through the pages of a listing: what was found, and whether to go on. No input or output.
///
/// Only an empty page ends a listing, and even that may be a hole: shops cut their pages first and take out afterwards
/// what a visitor may not buy.
struct ListingWalk {
  private(set) var reading = ShopReading(products: [], isComplete: false, pages: 0)
  private let pageSize: Int
  private let pageCap: Int
  /// About how many bytes of memory more products may take.
  private(set) var room: Int
  private var seen: Set<Int64> = []
  private var missing: Set<Int64>
  private var wasFull = false
  /// Empty pages since the last one that was not.
  private var emptyPages = 0
  /// Whether products came after an empty page.
  private var hasHole = false

  /// A walk that expects to see `knownIDs`.
  init(pageSize: Int, pageCap: Int, room: Int = .max, knownIDs: Set<Int64>) {
    self.pageSize = pageSize
    self.room = room
    self.pageCap = pageCap
    missing = knownIDs
  }

  /// The page that is asked for next.
  var nextPage: Int { reading.pages + 1 }

  /// Takes the next page; says whether there is another to ask for.
  mutating func take(_ page: FeedPage, currency: String?, bytes: Int) -> Bool {
    reading.pages += 1
    reading.bytes += bytes
    room -= page.weight
    guard page.entries > 0 else { return takeEmptyPage() }
    if emptyPages > 0 { hasHole = true }
    emptyPages = 0
    if let currency {
      if let first = reading.currency, first != currency {
        // Prices in two currencies must not get mixed, so this page is left out.
        return stop("The store changed its currency from \(first) to \(currency) while it was read.")
      }
      reading.currency = currency
    }
    let count = reading.products.count
    for product in page.products where seen.insert(product.id).inserted {
      missing.remove(product.id)
      reading.products.append(product)
    }
    reading.broken += page.brokenProducts + page.brokenVariants
    reading.unreadable.formUnion(page.unreadable)
    reading.nameless += page.nameless
    for entry in page.unreadable where entry.variant == 0 { missing.remove(entry.product) }
    if reading.products.count == count, !page.products.isEmpty {
      return stop("The store shows the same products again on page \(reading.pages).")
    }
    wasFull = page.entries >= pageSize
    return reading.pages < pageCap || stop("The store has more than \(pageCap) pages of products.")
  }

  private mutating func takeEmptyPage() -> Bool {
    emptyPages += 1
    if emptyPages <= furtherPages, reading.pages < pageCap { return true }
    if reading.products.isEmpty {
      guard reading.broken > 0 else { return stop("The store lists no products.") }
      return stop("No product of the store could be read.")
    }
    // What is missing may be listed on the page that came empty.
    if hasHole, !missing.isEmpty { return stop("A page in the middle of the store's list came empty.") }
    reading.isComplete = true
    return false
  }

  /// How many pages behind an empty one are looked at: one where there may be more, and where products are missing one
  /// more than they would fill, since a hole may be wider than a page. A few at most: shops are spared.
  private var furtherPages: Int {
    guard !missing.isEmpty else { return wasFull ? 1 : 0 }
    return min(Self.mostFurtherPages, (missing.count + pageSize - 1) / max(1, pageSize) + 1)
  }

  private static let mostFurtherPages = 5

  /// Ends the walk before the end of the listing.
  @discardableResult
  mutating func stop(_ reason: String) -> Bool {
    reading.incompleteReason = reason
    return false
  }

  /// The next page would not fit into memory.
  mutating func endOfRoom() {
    reading.isLimited = true
    stop("The store lists more than Watchify holds; its first \(reading.products.count) products were read.")
  }

  /// The shop serves no further pages: its window of 25,000 products.
  mutating func endOfWindow(_ words: String?) {
    let count = reading.products.count
    reading.isLimited = true
    stop(
      "The store serves only its first \(count.formatted(.number.locale(Locale(identifier: "en_US")))) products"
        + (words.map { ": \($0.trimmingCharacters(in: .punctuationCharacters))." } ?? "."))
  }
}
