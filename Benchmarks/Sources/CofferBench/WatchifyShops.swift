import Foundation
import ReplayShop
import WatchifyHTTP
import WatchifyKit
import WatchifyWeb

/// Shops of 1,000 products each. All prices rise in each round.
private struct ManyShops: ShopifyAPIProtocol {
  static let count = 300
  let products: [ShopifyProduct]

  init(round: Int) throws {
    let feed = ShopGenerator(seed: 300, products: 1_000, variants: 1).feed
    products = try stride(from: 0, to: 1_000, by: 250).flatMap { start in
      try ShopifyProduct.page(feed.json(of: start..<start + 250)).map { product in
        var product = product
        for index in product.variants.indices {
          guard let price = Price(String(1_000 + 3 * round + index)) else { continue }
          product.variants[index].price = price
        }
        return product
      }
    }
  }

  func fetchProducts(domain: String) async throws -> [ShopifyProduct] { products }

  func read(_ request: ShopRequest) async throws -> ShopReading {
    ShopReading(products: products, isComplete: true, currency: "USD")
  }

  func describe(_ request: ShopRequest) async throws -> ShopDescription {
    ShopDescription(name: request.domain, country: "US", currency: "USD")
  }
}

/// Measures 300 shops of 1,000 products: adding them, and rounds in which every price has changed, each in a child
/// process that prints numbers.
func measureManyShops(_ bench: inout Bench, _ directory: URL) throws {
  func run(_ phase: String, _ round: Int) throws -> [Double] {
    setenv("MALLOC_ARENA_MAX", "1", 1)  // as `watchify` itself sets it
    defer { unsetenv("MALLOC_ARENA_MAX") }
    let output = try child(["watchify-shops", directory.path, phase, String(round)]).output.trimmed
    let numbers = output.split(separator: " ").compactMap { Double($0) }
    guard numbers.count >= 3 else { throw Failure("unexpected output of the child: \(output)") }
    return numbers
  }
  func limit(seconds: Double) -> Limit { Limit(maximumMicroseconds: seconds * 1e6, isProcessorTime: true) }
  let added = try run("add", 0)
  bench.add(
    "watchify.shops.300", "add", [added[0]], residentBytes: Int(added[1]), maximumResidentBytes: 120 << 20,
    limit(seconds: 150))
  var rounds: [[Double]] = []
  while rounds.count < Bench.attempts, !(rounds.map(\.[0]).median <= 20 * bench.slowness) {
    rounds.append(try run("round", rounds.count + 1))
  }
  bench.add(
    "watchify.shops.300", "round", rounds.map(\.[0]), residentBytes: Int(rounds.map(\.[1]).median),
    maximumResidentBytes: 120 << 20, limit(seconds: 20))
  let pages = try run("pages", rounds.count + 1)
  bench.add(
    "watchify.shops.300", "page meanwhile", Array(pages.dropFirst(3)), residentBytes: Int(pages[2]),
    maximumResidentBytes: 60 << 20, Limit(maximumMicroseconds: 100_000))
}

/// Runs a phase; prints the processor's seconds, the most and the last resident bytes, and the seconds of each page.
func runShopsChild(_ directory: URL, phase: String, round: Int) async throws {
  let api = try ManyShops(round: round)
  let container = try await ModelContainer.open(at: directory.appendingPathComponent("shops.db"))
  let time = Date(timeIntervalSince1970: 1_790_000_000 + Double(round) * 3_600)
  let service = await StoreService.makeBackground(container: container, api: api, now: { time })
  let before = processorTime()
  var pages: [Double] = []
  if phase == "add" {
    for shop in 0..<ManyShops.count { _ = try await service.addStore(name: nil, domain: "shop-\(shop).example") }
  } else {
    let requests = Task { try await phase == "pages" ? requestPages(service, container) : [] }
    let notifications = await NotificationService()
    await notifications.attach(service, channels: [])
    await service.syncAllStoresWithErrorTracking(notifications: notifications, keepsNews: false)
    await service.releaseMemory()
    requests.cancel()
    pages = try await requests.value
    let news = try await service.unreadCount()
    precondition(news == ManyShops.count * 1_000 * round)
  }
  let used = processorTime() - before
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8).split(separator: "\n")
  let sizes = ["VmHWM:", "VmRSS:"].map { name in
    status.first { $0.hasPrefix(name) }.flatMap { Double($0.filter(\.isNumber)) } ?? .nan
  }
  let numbers: [Double] = [used] + sizes.map { $0 * 1_024 } + pages
  print(numbers.map { String($0) }.joined(separator: " "))
  try await container.close()
}

/// Requests pages, five a second, until the task is cancelled; returns the seconds of each.
private func requestPages(_ service: StoreService, _ container: ModelContainer) async throws -> [Double] {
  let site = WatchifySite(service: service, container: container)
  var times: [Double] = []
  while !Task.isCancelled {
    for path in ["/activity", "/products", "/shops"] {
      let start = now()
      let response = await site.respond(to: HTTPRequest("GET", path))
      if Task.isCancelled { break }  // It may have been answered with an error.
      times.append(now() - start)
      precondition(response.status == 200)
      try? await Task.sleep(for: .milliseconds(200))
    }
  }
  return times
}
