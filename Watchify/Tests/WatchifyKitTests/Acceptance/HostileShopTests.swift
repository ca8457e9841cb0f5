import CofferCore
import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import WatchifyKit

/// A response of a hostile server, each synced in a separate process whose memory is measured.
struct HostileShop: CustomTestStringConvertible, Sendable {
  let testDescription: String
  /// The expected beginning of the helper's output.
  let outcome: String
  /// Returns the fault by target; `nil` for the replayed shop's own response.
  let faults: @Sendable (_ target: String) -> ReplayFault?

  init(_ name: String, _ outcome: String, _ faults: @escaping @Sendable (_ target: String) -> ReplayFault?) {
    testDescription = name
    self.outcome = outcome
    self.faults = faults
  }

  /// Returns one page of hostile bytes, after which the list ends.
  static func page(_ name: String, _ outcome: String, _ body: @escaping @Sendable () -> String) -> HostileShop {
    HostileShop(name, outcome) { target in
      guard target.hasPrefix("/products.json") else { return nil }
      return target.contains("page=1") ? .body(Array(body().utf8)) : .empty
    }
  }

  static func only(_ path: String, _ name: String, _ outcome: String, _ fault: ReplayFault) -> HostileShop {
    HostileShop(name, outcome) { $0.hasPrefix(path) ? fault : nil }
  }

  private static let gigabytes = 2_200_000_000
  private static func nested(_ name: String) -> [UInt8] {
    Array("{\"\(name)\":\(String(repeating: "[", count: 100_000))".utf8)
      + Array((String(repeating: "]", count: 100_000) + "}").utf8)
  }

  private static func product(_ id: Int, _ members: String) -> String {
    "{\"id\":\(id),\"handle\":\"h\(id)\",\(members)}"
  }

  private static func variant(_ id: Int, _ members: String = "\"price\":\"1.00\"") -> String {
    "{\"id\":\(id),\"available\":true,\(members)}"
  }

  /// Returns an endless list, whose products differ in each read.
  private static func endless(
    _ name: String, perPage: Int, _ product: @escaping @Sendable (_ id: Int, _ round: Int) -> String
  ) -> HostileShop {
    let rounds = Locked(0)
    return HostileShop(name, "") { target in
      guard target.hasPrefix("/products.json") else { return nil }
      let page = target.split(separator: "page=").last.flatMap { Int($0.prefix { $0.isNumber }) } ?? 1
      let round = rounds.withLock { rounds in
        if page == 1 { rounds += 1 }
        return rounds
      }
      return .body(Array(list((1...perPage).lazy.map { product(page * perPage + $0, round) }).utf8))
    }
  }

  private static func list(_ products: some Sequence<String>) -> String {
    "{\"products\":[\(products.joined(separator: ","))]}"
  }

  static let all: [HostileShop] = bombs + shapes + numbers

  private static let bombs = [
    only("/products.json", "a packed list of 2.2 GB", "invalidResponse", .bomb(bytes: gigabytes)),
    only("/robots.txt", "a packed robots.txt of 2.2 GB", "40 products", .bomb(bytes: gigabytes)),
    only("/meta.json", "a packed meta.json of 2.2 GB", "40 products", .bomb(bytes: gigabytes)),
    only("/products.json", "a list of 2.2 GB", "invalidResponse", .oversized(bytes: gigabytes)),
    only("/robots.txt", "a robots.txt of 2.2 GB", "40 products", .oversized(bytes: gigabytes)),
    only("/meta.json", "a meta.json of 2.2 GB", "40 products", .oversized(bytes: gigabytes)),
    only("/products.json", "packed twice", "invalidResponse", .body([31, 139, 8], encoding: "gzip, gzip")),
    only("/products.json", "packed with a window of its own", "invalidResponse", .body([40, 181], encoding: "zstd")),
    only(
      "/robots.txt", "robots.txt of stars", "40 products",
      .body(
        Array(
          String(
            repeating: "Allow: /*a*a*a*a*a*b\nDisallow: /ü*a*x*a*y$\n", count: 10_000
          ).utf8))),
  ]

  private static let shapes = [
    only("/products.json", "100,000 levels in a list", "invalidResponse", .body(nested("products"))),
    only("/products.json", "100,000 levels beside the list", "invalidResponse", .body(nested("other"))),
    only("/meta.json", "100,000 levels in meta.json", "40 products", .body(nested("name"))),
    page("three texts of 5 MB", "1 products") {
      let text = String(repeating: "\\u00e9", count: 800_000)
      return list([
        product(1, "\"title\":\"\(text)\",\"vendor\":\"\(text)\",\"product_type\":\"\(text)\",\"variants\":[]")
      ])
    },
    page("a title of 10 MB", "1 products") {
      list([product(1, "\"title\":\"\(String(repeating: "M", count: 10_000_000))\",\"variants\":[\(variant(1))]")])
    },
    page("300,000 small products on a page", "incomplete") {
      list((1...300_000).lazy.map { "{\"id\":\($0),\"title\":\"\",\"handle\":\"\",\"variants\":[]}" })
    },
    page("250,000 sizes of a product", "0 products") {
      list([
        product(1, "\"title\":\"T\",\"variants\":[\((1...250_000).lazy.map { variant($0) }.joined(separator: ","))]")
      ])
    },
    page("a million pictures", "1 products") {
      let pictures = (1...700_000).lazy.map { "{\"src\":\"\($0)\"}" }.joined(separator: ",")
      return list([product(1, "\"title\":\"T\",\"variants\":[],\"images\":[\(pictures)]")])
    },
    endless("pages without end, of sizes whose prices always change", perPage: 4_000) { id, round in
      let variants = (0..<4).map { variant(id * 4 + $0, "\"price\":\"\(10 + round).00\"") }.joined(separator: ",")
      return product(id, "\"title\":\"Product \(id)\",\"variants\":[\(variants)]")
    },
    endless("pages without end, of pictures that always change", perPage: 500) { id, round in
      let pictures = (0..<100).map { "{\"src\":\"\(id)/\(round)/\($0)\"}" }.joined(separator: ",")
      return product(id, "\"title\":\"P\",\"images\":[\(pictures)],\"variants\":[\(variant(id))]")
    },
    endless("pages without end, of long texts that always change", perPage: 2_000) { id, round in
      let text = "\(round)" + String(repeating: "x", count: 1_000)
      return product(id, "\"title\":\"\(text)\",\"vendor\":\"\(text)\",\"variants\":[\(variant(id))]")
    },
  ]

  private static let numbers = [
    page("absurd numbers", "2 products") {
      let nines = String(repeating: "9", count: 100_000)
      let variants = [
        variant(1, "\"price\":\"922337203685477.5807\",\"position\":9223372036854775807"),
        variant(2, "\"price\":\"\(nines)\""), variant(3, "\"price\":1e999"), variant(4, "\"price\":-1"),
        variant(5, "\"price\":\"NaN\""), variant(6, "\"price\":\"0.00001\""), variant(7, "\"price\":[1]"),
        "{\"id\":\(nines),\"price\":\"1\",\"available\":true}", "{\"id\":-1,\"price\":\"1\",\"available\":true}",
        variant(8, "\"price\":\"0.01\",\"compare_at_price\":\"922337203685477\",\"position\":-9223372036854775808"),
      ]
      let dates = "\"published_at\":\"\(nines)-99-99T99:99:99Z\",\"created_at\":\"9999-12-31T23:59:59+99:99\""
      return list([
        product(
          9_223_372_036_854_775_807, "\"title\":\"A\",\(dates),\"variants\":[\(variants.joined(separator: ","))]"),
        product(7, "\"title\":\"B\",\"published_at\":\"0000-00-00T00:00:00Z\",\"variants\":[\(variant(9))]"),
      ])
    },
    only(
      "/meta.json", "absurd numbers in meta.json", "40 products",
      .body(
        Array(
          "{\"published_products_count\":1e999,\"name\":9,\"country\":[],\"currency\":{\"a\":1}}".utf8))),
    only("/products.json", "an absurd pause", "resting", .status(429, retryAfter: "99999999999999999999")),
    only("/products.json", "a pause of no number", "resting", .status(429, retryAfter: "nan")),
  ]
}

/// Bounds of memory with hostile servers.
@Suite(.serialized, .timeLimit(.minutes(15))) struct HostileShopTests {
  /// The maximum memory of a process, in kilobytes.
  static let limit = 150_000
  /// Memory is not checked under a sanitizer, which adds to it.
  static let isMeasured = ProcessInfo.processInfo.environment["COFFER_TSAN"] == nil

  @Test("Syncing a hostile shop takes less than 150 MB and a few seconds", arguments: HostileShop.all)
  func hostile(_ shop: HostileShop) throws {
    var configuration = ReplayConfiguration()
    configuration.faults = shop.faults
    let server = ReplayServer(feed: ShopGenerator(seed: 3, products: 40).feed, configuration: configuration)
    try server.start()
    defer { server.stop() }
    let directory = try TemporaryDirectory()
    let (outcome, memory, time) = try Self.measure(server, in: directory)
    #expect(outcome.hasPrefix(shop.outcome), "\(outcome)")
    #expect(memory < Self.limit || !Self.isMeasured, "\(memory) kB")
    #expect(time < 20_000 || !Self.isMeasured, "\(time) ms of processors")
    // Once more, so that a followed shop is compared with its stored data.
    let (_, again, _) = try Self.measure(server, in: directory)
    #expect(again < Self.limit || !Self.isMeasured, "\(again) kB the second time")
  }

  @Test("A shop of 25,000 products that all change at once takes less than 150 MB")
  func everything() throws {
    let server = ReplayServer(feed: ShopGenerator(seed: 1, products: 25_000, variants: 4).feed)
    try server.start()
    defer { server.stop() }
    let directory = try TemporaryDirectory()
    let (outcome, memory, _) = try Self.measure(server, in: directory)
    #expect(outcome == "25000 products" && (memory < Self.limit || !Self.isMeasured), "\(memory) kB")
    server.set(feed: ShopGenerator(seed: 2, products: 25_000, variants: 4).feed)
    let (news, second, _) = try Self.measure(server, in: directory)
    #expect(news.hasSuffix("pieces of news") && (second < Self.limit || !Self.isMeasured), "\(news), \(second) kB")
  }

  /// Syncs a shop in a separate process; returns the outcome, the memory in kilobytes and the time in milliseconds.
  private static func measure(
    _ server: ReplayServer, in directory: TemporaryDirectory
  ) throws -> (outcome: String, memory: Int, time: Int) {
    let address = try ReplayFixture.address(server)
    let helper = try HelperProcess(
      ["memory", directory.path("watchify.db"), address], executable: "WatchifyTestHelper")
    let lines = try helper.lines()
    helper.wait()
    try #require(lines.count == 3, "the process has ended early: \(lines)")
    return (lines[0], Int(lines[1]) ?? 0, Int(lines[2]) ?? 0)
  }
}
