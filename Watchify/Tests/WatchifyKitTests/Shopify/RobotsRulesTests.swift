import Testing

@testable import WatchifyKit

@Suite("robots.txt")
struct RobotsRulesTests {
  private func allows(_ path: String, _ robots: String) -> Bool {
    RobotsRules(robots, agent: "Watchify").allows(path)
  }

  @Test("The longest rule applies; of two of equal length, the one that allows")
  func longest() {
    #expect(allows("/products.json", ""))
    #expect(!allows("/products.json", "User-agent: *\nDisallow: /"))
    #expect(allows("/products.json", "User-agent: *\nDisallow: /\nAllow: /products"))
    #expect(!allows("/products.json", "User-agent: *\nAllow: /products\nDisallow: /products.json"))
    #expect(allows("/products.json", "User-agent: *\nDisallow: /products\nAllow: /products"))
    #expect(allows("/products.json", "User-agent: *\nDisallow:"))
    #expect(allows("/products.json", "User-agent: *\nDisallow: /admin\nDisallow: /cart # no carts"))
  }

  @Test("Stars and the end of the path")
  func wildcards() {
    #expect(!allows("/products.json", "User-agent: *\nDisallow: /*.json"))
    #expect(!allows("/products.json?page=1", "User-agent: *\nDisallow: /*.json"))
    #expect(!allows("/products.json", "User-agent: *\nDisallow: /*.json$"))
    #expect(allows("/products.json?page=1", "User-agent: *\nDisallow: /*.json$"))
    #expect(allows("/products.json", "User-agent: *\nDisallow: /*.js$"))
    #expect(allows("/products.json", "User-agent: *\nDisallow: /*?*sort_by*"))
    #expect(!allows("/a/x/b/x/c", "User-agent: *\nDisallow: /a*b*c$"))
    #expect(!allows("/any", "User-agent: *\nDisallow: *"))
    let stars = String(repeating: "*a", count: 200)
    #expect(allows("/" + String(repeating: "a", count: 190), "User-agent: *\nDisallow: \(stars)b"))
  }

  @Test("A group that names the user agent applies, in any case and in several parts")
  func groups() {
    let named = "User-agent: *\nDisallow: /\n\nUser-agent: watchify\nAllow: /"
    #expect(allows("/products.json", named))
    #expect(!allows("/products.json", "User-agent: WATCHIFY/1.0\nDisallow: /\nUser-agent: *\nAllow: /"))
    #expect(allows("/products.json", "User-agent: Googlebot\nDisallow: /"))
    #expect(allows("/products.json", "User-agent: Watchifyer\nDisallow: /"))
    #expect(!allows("/products.json", "User-agent: Googlebot\nUser-agent: Watchify\nCrawl-delay: 5\nDisallow: /"))
    #expect(
      !allows(
        "/b", "User-agent: Watchify\nDisallow: /a\n\nUser-agent: x\nAllow: /\n\nUser-agent: Watchify\nDisallow: /b"))
    #expect(allows("/products.json", "Disallow: /\nUser-agent: *\nAllow: /"))
  }

  @Test("Line ends, percent escapes and pages that are no robots.txt")
  func forms() {
    #expect(!allows("/products.json", "USER-AGENT : *\r\nDISALLOW : /products.json\r\n"))
    #expect(!allows("/a%2Fb", "User-agent: *\nDisallow: /a%2fb"))
    #expect(!allows("/%C3%A4", "User-agent: *\nDisallow: /ä"))
    #expect(allows("/products.json", "<!doctype html><a href=\"https://x\">User-agent</a>"))
  }
}
