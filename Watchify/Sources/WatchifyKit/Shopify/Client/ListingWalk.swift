import Foundation

/// The state of reading a listing page by page: the products so far, and whether to continue. Does no input or output.
///
/// Only an empty page ends a listing, and even that may be a hole: shops divide the listing into pages first and then
/// remove the products that a visitor may not buy.
struct ListingWalk {
  private(set) var reading = ShopReading(products: [], isComplete: false, pages: 0)
  private let pageSize: Int
  private let pageCap: Int
  /// The approximate memory left for products, in bytes.
  private(set) var room: Int
  private var seen: Set<Int64> = []
  private var missing: Set<Int64>
  private var wasFull = false
  /// The number of consecutive empty pages.
  private var emptyPages = 0
  /// Whether products followed an empty page.
  private var hasHole = false

  /// Creates a walk that expects the products `knownIDs`.
  init(pageSize: Int, pageCap: Int, room: Int = .max, knownIDs: Set<Int64>) {
    self.pageSize = pageSize
    self.room = room
    self.pageCap = pageCap
    missing = knownIDs
  }

  /// The number of the next page to request, from 1.
  var nextPage: Int { reading.pages + 1 }

  /// Adds the next page; returns whether to request another one.
  mutating func take(_ page: FeedPage, currency: String?, bytes: Int) -> Bool {
    reading.pages += 1
    reading.bytes += bytes
    room -= page.weight
    guard page.entries > 0 else { return takeEmptyPage() }
    if emptyPages > 0 { hasHole = true }
    emptyPages = 0
    if let currency {
      if let first = reading.currency, first != currency {
        // Prices in two currencies must not be mixed, so this page is dropped.
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
      return stop("The store repeats the same products on page \(reading.pages).")
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
    // The missing products may belong on the empty page.
    if hasHole, !missing.isEmpty { return stop("A page in the middle of the store's list was empty.") }
    reading.isComplete = true
    return false
  }

  /// The number of pages to request after an empty one: one if the last page was full; if products are missing, one
  /// more than they would fill, because a hole may be wider than a page. At most `mostFurtherPages`, to limit the load
  /// on the shop.
  private var furtherPages: Int {
    guard !missing.isEmpty else { return wasFull ? 1 : 0 }
    return min(Self.mostFurtherPages, (missing.count + pageSize - 1) / max(1, pageSize) + 1)
  }

  private static let mostFurtherPages = 5

  /// Ends the walk before the end of the listing; returns `false`.
  @discardableResult
  mutating func stop(_ reason: String) -> Bool {
    reading.incompleteReason = reason
    return false
  }

  /// Ends the walk because the next page would exceed the memory limit.
  mutating func endOfRoom() {
    reading.isLimited = true
    stop("The store lists more than Watchify can hold; its first \(reading.products.count) products were read.")
  }

  /// Ends the walk at the shop's window of 25,000 products.
  mutating func endOfWindow(_ words: String?) {
    let count = reading.products.count
    reading.isLimited = true
    stop(
      "The store serves only its first \(count.formatted(.number.locale(Locale(identifier: "en_US")))) products"
        + (words.map { ": \($0.trimmingCharacters(in: .punctuationCharacters))." } ?? "."))
  }
}
