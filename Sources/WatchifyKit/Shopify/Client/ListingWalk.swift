import Foundation

/// A walk through the pages of a listing: what was found, and whether to go on. No input or output.
///
/// Only an empty page ends a listing, and even that may be a hole: shops cut their pages first and take out afterwards
/// what a visitor may not buy.
struct ListingWalk {
  private(set) var reading = ShopReading(products: [], isComplete: false, pages: 0)
  private let pageSize: Int
  private let pageCap: Int
  private var seen: Set<Int64> = []
  private var missing: Set<Int64>
  private var wasFull = false
  private var isProbing = false
  private var hasBrokenProducts = false
  /// Whether products came after an empty page.
  private var hasHole = false

  /// A walk that expects to see `knownIDs`.
  init(pageSize: Int, pageCap: Int, knownIDs: Set<Int64>) {
    self.pageSize = pageSize
    self.pageCap = pageCap
    missing = knownIDs
  }

  /// The page that is asked for next.
  var nextPage: Int { reading.pages + 1 }

  /// Takes the next page; says whether there is another to ask for.
  mutating func take(_ page: FeedPage, currency: String?, bytes: Int) -> Bool {
    reading.pages += 1
    reading.bytes += bytes
    guard page.entries > 0 else { return takeEmptyPage() }
    if isProbing { hasHole = true }
    isProbing = false
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
    if page.brokenProducts > 0 { hasBrokenProducts = true }
    if reading.products.count == count, !page.products.isEmpty {
      return stop("The store shows the same products again on page \(reading.pages).")
    }
    wasFull = page.entries >= pageSize
    return reading.pages < pageCap || stop("The store has more than \(pageCap) pages of products.")
  }

  private mutating func takeEmptyPage() -> Bool {
    if !isProbing, wasFull || !missing.isEmpty, reading.pages < pageCap {
      isProbing = true
      return true
    }
    if reading.products.isEmpty, !hasBrokenProducts { return stop("The store lists no products.") }
    if hasBrokenProducts {
      reading.isLimited = true
      return stop("Some products of the store could not be read.")
    }
    // What is missing may be listed on the page that came empty.
    if hasHole, !missing.isEmpty { return stop("A page in the middle of the store's list came empty.") }
    reading.isComplete = true
    return false
  }

  /// Ends the walk before the end of the listing.
  @discardableResult
  mutating func stop(_ reason: String) -> Bool {
    reading.incompleteReason = reason
    return false
  }

  /// The shop serves no further pages: its window of 25,000 products.
  mutating func endOfWindow(_ words: String?) {
    let count = reading.products.count
    reading.isLimited = true
    stop(
      "The store serves only its first \(count) products"
        + (words.map { ": \($0.trimmingCharacters(in: .punctuationCharacters))." } ?? "."))
  }
}
