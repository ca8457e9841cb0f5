import BenchSQLite
import Foundation
import ReplayShop
import WatchifyKit

/// A shop of 25,000 products with 4 variants each, served from files.
private struct FiledShop: ShopifyAPIProtocol {
  static let pages = 100
  let directory: URL

  static func write(to directory: URL) throws {
    let feed = ShopGenerator(seed: 25, products: pages * 250, variants: 4).feed
    for page in 0..<pages {
      try feed.json(of: page * 250..<(page + 1) * 250).write(to: file(page, in: directory))
    }
  }

  private static func file(_ page: Int, in directory: URL) -> URL { directory.appendingPathComponent("page-\(page)") }

  func fetchProducts(domain: String) async throws -> [ShopifyProduct] {
    try (0..<Self.pages).flatMap { page in
      try ShopifyProduct.page(Data(contentsOf: Self.file(page, in: directory)))
    }
  }
}

private let beginning = Date(timeIntervalSince1970: 1_790_000_000)

private func service(_ directory: URL, at time: Date) async throws -> (StoreService, ModelContainer) {
  let container = try await ModelContainer.open(at: directory.appendingPathComponent("watchify.db"))
  let service = await StoreService.makeBackground(
    container: container, api: FiledShop(directory: directory), now: { time })
  return (service, container)
}

/// Measures syncs of a large shop, and queries of its products and of many events.
func measureWatchify(_ bench: inout Bench, _ directory: URL) async throws {
  try FiledShop.write(to: directory)
  let (service, container) = try await service(directory, at: beginning)
  let store = try await service.addStore(name: "Large", domain: "large.example")
  try await container.close()
  try await measureSync(&bench, directory)
  try await measureProducts(&bench, directory, store)
  try await measureEvents(&bench, directory)
  try measureManyShops(&bench, directory)
}

/// Measures syncs without changes, each in a child process that prints its processor time and peak memory.
private func measureSync(_ bench: inout Bench, _ directory: URL) async throws {
  var (largest, number) = (0.0, 0)
  try await bench.measure(
    "watchify.sync.25000", count: 1,
    [
      Variant(subject: "processor", limit: Limit(maximumMicroseconds: 3_000_000)) { first, count in
        try (first..<first + count).map { _ in
          number += 1
          let words = try child(["watchify", directory.path, "\(number)"]).output.trimmed
          let numbers = words.split(separator: " ").compactMap { Double($0) }
          guard numbers.count == 2 else { throw Failure("unexpected output of the child: \(words)") }
          largest = max(largest, numbers[1])
          return numbers[0]
        }
      }
    ])
  print("a sync of 25,000 products had \((largest / 1e6).short) MB resident at most")
  if largest > 300e6 { bench.fail("watchify.sync.25000: \((largest / 1e6).short) MB resident is above 300") }
}

func runWatchifyChild(_ directory: URL, number: Int) async throws {
  let (service, container) = try await service(directory, at: beginning.addingTimeInterval(Double(number) * 100))
  let before = processorTime()
  for id in try await service.storeIds() {
    let news = try await service.syncStore(storeId: id)
    precondition(news.isEmpty)
  }
  let time = processorTime() - before
  try await container.close()
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  let kilobytes = line.flatMap { Double($0.filter(\.isNumber)) } ?? .nan
  print(time, kilobytes * 1024)
}

func processorTime() -> Double {
  var usage = rusage()
  getrusage(0, &usage)  // RUSAGE_SELF, which has another type here
  func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) * 1e-6 }
  return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

private func measureProducts(_ bench: inout Bench, _ directory: URL, _ store: UUID) async throws {
  let (service, container) = try await service(directory, at: beginning)
  let word = try await service.products(ProductQuery(storeId: store), limit: 1)[0].title.split(separator: " ")[0]
  let limit = Limit(maximumMicroseconds: 20_000)
  func page(_ subject: String, _ query: ProductQuery, offset: Int = 0) -> Variant {
    Variant(subject: subject, limit: limit) { first, count in
      try await each(first, count) { _ in
        let products = try await service.products(query, offset: offset, limit: 50)
        precondition(!products.isEmpty)
      }
    }
  }
  try await bench.measure(
    "watchify.products", count: 20,
    ProductSort.allCases.map { page("sort.\($0)", ProductQuery(storeId: store, sortOrder: $0)) } + [
      page("last page", ProductQuery(storeId: store), offset: 24_950),
      page("in stock", ProductQuery(storeId: store, stockScope: .inStock, sortOrder: .priceLowHigh)),
      page("search", ProductQuery(storeId: store, searchText: String(word), sortOrder: .priceHighLow)),
      page("short search", ProductQuery(storeId: store, searchText: String(word.prefix(2)))),
      Variant(subject: "count", limit: limit) { first, count in
        try await each(first, count) { _ in
          let query = ProductQuery(storeId: store, searchText: String(word), stockScope: .inStock)
          let count = try await service.productCount(query)
          precondition(count > 0)
        }
      },
    ])
  try await container.close()
}

/// Runs a statement on a database that is not open elsewhere.
private func execute(_ sql: String, on path: String) throws {
  var database: OpaquePointer?
  defer { sqlite3_close(database) }
  // The library's VFS writes page checksums.
  let code = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, "coffer")
  guard code == SQLITE_OK, sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
    throw Failure(String(cString: sqlite3_errmsg(database)))
  }
}

/// Measures the same queries on a thousand events and on a million.
private func measureEvents(_ bench: inout Bench, _ directory: URL) async throws {
  var services: [(count: Int, service: StoreService, container: ModelContainer)] = []
  for count in [1_000, 1_000_000] {
    let folder = directory.appendingPathComponent("events-\(count)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      at: directory.appendingPathComponent("watchify.db"), to: folder.appendingPathComponent("watchify.db"))
    try execute(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO events (id, store, at, type, magnitude, product, product_title, old_price, new_price, is_read)
      SELECT printf('%032d', i), 1, 1790000000000 + i, 1 + i % 10, 'small', i % 25000, 'Mat', 10000, 9000, i % 7 <> 0
      FROM n;
      INSERT OR REPLACE INTO unread SELECT store, type, count(*) FROM events WHERE is_read = 0 GROUP BY store, type;
      """, on: folder.appendingPathComponent("watchify.db").path)
    let (service, container) = try await service(folder, at: beginning)
    services.append((count, service, container))
  }
  let start = Date(timeIntervalSince1970: 1_790_000_000.5)
  let questions: [(String, EventFilter)] = [
    ("all", EventFilter()), ("type", EventFilter(changeTypes: [.backInStock])),
    ("types", EventFilter(changeTypes: [.priceDropped, .newProduct, .outOfStock])),
    ("unread", EventFilter(changeTypes: [.priceDropped], unreadOnly: true)),
    ("since", EventFilter(changeTypes: [.priceDropped], startDate: start)),
  ]
  for (name, filter) in questions {
    try await bench.measure(
      "watchify.events.\(name)", count: 100,
      services.map { count, service, _ in
        let limit = count == 1_000 ? Limit() : Limit(subject: "1000", maximumRatio: 1.5)
        return Variant(subject: "\(count)", limit: limit) { first, count in
          try await each(first, count) { _ in
            let events = try await service.events(filter, limit: 10)
            precondition(events.count == 10)
            _ = name == "since" ? 0 : try await service.unreadCount(filter)
          }
        }
      })
  }
  for (_, _, container) in services { try await container.close() }
}
